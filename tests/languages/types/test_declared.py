"""Types declared as text: the classes are those that Python would make, and nothing is run."""

from __future__ import annotations

import dataclasses
import datetime
import pickle
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.sources import registry
from explorer.languages.types.declared import declared

ORDER = '''"""An order."""
from __future__ import annotations
from dataclasses import dataclass, field
import typing

class Size(Enum):
    SMALL = "small"
    LARGE = 2

class Extra(TypedDict, total=False):
    note: Required[str]
    count: int

class Place(NamedTuple):
    x: int
    y: float = 0.5

@dataclass
class Item:
    """One."""
    name: str
    size: Size = Size.SMALL
    tags: list[str] = field(default_factory=list)
    where: Optional[Place] = None

class Order(BaseModel):
    items: Annotated[list[Item], Field(min_length=1, max_length=3)]
    day: datetime.date
    extra: Extra | None = None
    code: str = Field("A1", pattern="^[A-Z][0-9]$")
    kind: typing.Literal["new", "old"] = "new"
'''
NAMESPACE = (
    "import datetime, dataclasses\nfrom enum import Enum\nfrom typing import *\n"
    "from typing_extensions import TypedDict\nfrom pydantic import BaseModel, Field\n"
)
JSON = '{"items":[{"name":"tea","size":2,"where":[1,2.0]}],"day":"2024-02-29","code":"B2"}'
CALL = (
    "Order(items=[Item(name='tea', size=Size.LARGE, where=Place(x=1, y=2.0))], "
    "day=date(2024, 2, 29), code=\"B2\")"
)  # fmt: skip


def test_the_types_have_the_language_that_python_gives_them() -> None:
    namespace: dict[str, Any] = {}
    text = ORDER.replace("from __future__ import annotations\n", "")
    # Not with the future of this file.
    code = compile(NAMESPACE + text, "declared", "exec", dont_inherit=True)
    exec(code, namespace)  # Python's own reading of the same text.
    real = namespace["Order"]
    for style, kind in (("json", "Python type"), ("python", "Python calls")):
        ours = Constraint(registry.read(kind, ORDER))
        assert ours.equivalent(explorer.from_type(real, style=style))  # type: ignore[arg-type]


def test_values_are_instances_of_the_declared_classes() -> None:
    for kind, text in (("Python type", JSON), ("Python calls", CALL)):
        order = Constraint(registry.read(kind, ORDER)).parse(text)
        assert type(order).__name__ == "Order" and order.code == "B2" and order.kind == "new"
        item: Any
        (item,) = order.items
        assert item.size.value == 2 and item.tags == []
        assert dataclasses.is_dataclass(item)
        assert order.items[0].where.y == 2.0 and order.day == datetime.date(2024, 2, 29)


def test_it_travels_with_its_declaration(tmp_path: Path) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    for kind, text in (("Python type", JSON), ("Python calls", CALL)):
        constraint = Constraint(registry.read(kind, ORDER))
        run = explorer.Session.from_ids(vocabulary, constraint, list(text.encode()))
        assert run.rejection is None
        run.trace.save(tmp_path / "run.json")
        back = explorer.Trace.load(tmp_path / "run.json").constraint
        assert back is not None and back.source == constraint.source
        assert back.source.text == ORDER and back.parse(text).code == "B2"
        assert pickle.loads(pickle.dumps(constraint.source)) == constraint.source


def test_the_last_line_may_be_a_type() -> None:
    pair = "class Pair(NamedTuple):\n    a: int\n    b: int = 2\n\ntuple[Pair, ...]"
    assert Constraint(registry.read("Python calls", pair)).parse("(Pair(a=1),)") == ((1, 2),)
    assert declared("dict[str, int | None]") == dict[str, int | None]
    level = declared("class Level(IntEnum):\n    LOW = 1\n    HIGH = 2\n")
    assert explorer.from_type(level).parse("2") == 2


@pytest.mark.parametrize(
    ("text", "under", "says"),
    [
        ("", None, "No type is declared"),
        ("class A(", None, "This is not Python"),
        ("x = 3", "x = 3", "Only classes"),
        ("import os\nos.system('x')", "os.system", "not a type"),
        ("class A:\n    x: int", "class A", "what kind of class"),
        ("class A(Base):\n    x: int", "class A", "what kind of class"),
        ("@other\nclass A(BaseModel):\n    x: int", "class A", "what kind of class"),
        ("class A(BaseModel):\n    x: Foo", "Foo", "Foo is not a type"),
        ("class A(BaseModel):\n    x: A\n", "A\n", "A is not a type"),
        ("class A(BaseModel):\n    x: list[Foo] = []", "Foo", "Foo is not a type"),
        ("class A(BaseModel):\n    def f(self): ...", "def f", "code is not run"),
        ("class A(BaseModel):\n    x: int = open('f')", "open(", "literal or Field"),
        ("class A(BaseModel):\n    é: int = print", "print", "not a literal"),
        ("class A(BaseModel):\n    x: int = Field(gee=3)", "3)", "gee is not followed"),
        ("class A(BaseModel):\n    x: list[int] = Field(default_factory=f)", "f)", "list, dict"),
        ("class A(TypedDict):\n    x: int = 3", "x: int = 3", "no defaults"),
        ("class A(Enum):\n    X: int = 3", "X: int", "a name and a value"),
        ("class A(Enum):\n    X = f()", "f()", "not a literal"),
        ("class A(BaseModel):\n    x: 3", "3", "not a type"),
        ("class A(Enum):\n    X = 1\nclass A(Enum):\n    Y = 1", "class A(Enum):\n    Y", "twice"),
        ("@dataclass\nclass A:\n    x: int = 1\n    y: int", "class A", "non-default"),
        ("class A(BaseModel):\n    x: Annotated[int, f(3)]", "f(3)", "Field(ge=0"),
        ("class A(BaseModel):\n    x: int[str]", "int[", "not subscriptable"),
    ],
)  # fmt: skip
def test_the_caret_stands_under_what_is_wrong(text: str, under: str | None, says: str) -> None:
    with pytest.raises(ExplorerError) as refused:
        registry.read("Python type", text)
    assert says in str(refused.value), refused.value
    if under is not None:
        assert refused.value.evidence["offset"] == text.rindex(under)
