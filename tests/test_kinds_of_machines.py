"""The kinds of machines: few, listed with their names, and asked for only where they are made.

Sessions, masks, explanations and views ask a machine its protocol. A second class for a protocol
brings a second walk, cache and file form, and a question of its kind in every reader.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pytest

from tests.test_house import Function, grown, parsed, room, sources


@dataclass(frozen=True)
class Shape:
    """A class as its text shows it: its folder, what it inherits, what it has."""

    folder: str
    bases: tuple[str, ...]
    members: frozenset[str]
    is_protocol: bool
    is_abstract: bool


def shape(folder: str, node: ast.ClassDef) -> Shape:
    """The shape of one class: methods, fields, and what its methods set on ``self``."""
    members: set[str] = set()
    marks: set[str] = set()
    for child in node.body:
        if isinstance(child, Function):
            members.add(child.name)
            marks |= {ast.unparse(mark) for mark in child.decorator_list}
        elif isinstance(child, ast.AnnAssign | ast.Assign):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            members |= {ast.unparse(target) for target in targets}
    members |= {
        inner.attr
        for inner in ast.walk(node)
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
        if ast.unparse(inner.value) == "self"
    }
    bases = tuple(ast.unparse(base).partition("[")[0] for base in node.bases)
    return Shape(folder, bases, frozenset(members), "Protocol" in bases, "abstractmethod" in marks)


def shapes(texts: Mapping[str, str]) -> dict[str, Shape]:
    """The classes of all files by their names, each of which stands for one class."""
    return {
        node.name: shape(path.rpartition("/")[0], node)
        for path, text in texts.items()
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.ClassDef)
    }


def with_bases(name: str, known: Mapping[str, Shape]) -> set[str]:
    """A class and all that it inherits from, as far as they are ours."""
    if name not in known:
        return set()
    return {name}.union(*(with_bases(base, known) for base in known[name].bases))


def has(name: str, known: Mapping[str, Shape]) -> frozenset[str]:
    """All members of a class, those that it inherits included."""
    return frozenset().union(*(known[base].members for base in with_bases(name, known)))


def implementations(protocol: str, known: Mapping[str, Shape]) -> set[str]:
    """The classes with everything that a protocol asks for, the abstract ones left out."""
    asked = has(protocol, known)
    return {
        name
        for name, shape in known.items()
        if not shape.is_protocol and not shape.is_abstract and asked <= has(name, known)
    }


MACHINES: Final[Mapping[str, frozenset[str]]] = {
    "ByteMachine": frozenset({"Dfa", "Discovered"}),
    "TokenMachine": frozenset({"FilteredMachine", "Free", "LazyMachine", "TokenDFA"}),
}
"""The kinds of machines. One more is one more walk, cache and file form for everyone who reads
them: what it can do that a program, a configuration or a filter cannot has to be said first."""


@pytest.mark.parametrize("protocol", MACHINES)
def test_there_is_no_other_kind_of_machine(protocol: str) -> None:
    assert implementations(protocol, shapes(sources(".py"))) <= MACHINES[protocol]


def kinds(known: Mapping[str, Shape]) -> set[str]:
    """The names by which one can ask for a kind of machine.

    They are the classes that implement one of the two protocols, what these inherit, and the
    protocols that some machines have beside it. Whether something is a machine at all may be asked.
    """
    machines = set[str]().union(*(implementations(protocol, known) for protocol in MACHINES))
    beside = {
        name
        for name, shape in known.items()
        if shape.is_protocol and implementations(name, known) & machines
    }
    return beside.union(*(with_bases(name, known) for name in machines)) - MACHINES.keys()


def asked_kinds(tree: ast.AST) -> Iterator[str]:
    """The names of classes that `isinstance`, `type(x) is` and ``case`` ask for."""
    for node in ast.walk(tree):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            asked = list(node.args[1:])
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).startswith("type("):
            asked = list(node.comparators)
        for part in asked:
            yield from (inner.id for inner in ast.walk(part) if isinstance(inner, ast.Name))


def questions_of_kind(texts: Mapping[str, str]) -> Counter[str]:
    """How many tests for machines of other folders each folder has: ``folder: kind``."""
    known = shapes(texts)
    wanted = kinds(known)
    return Counter(
        f"{room(path)}: {name}"
        for path, text in texts.items()
        for name in asked_kinds(parsed(text))
        if name in wanted and not path.startswith(f"{known[name].folder}/")
    )


QUESTIONS_LEFT: Final[Mapping[str, int]] = {"explorer/languages: Dfa": 2, "explorer/tokens: Dfa": 2}
"""Questions that the protocol or a capability should answer, by room and kind."""


def test_nobody_asks_for_the_kind_of_a_machine_made_elsewhere() -> None:
    assert grown(questions_of_kind(sources(".py")), QUESTIONS_LEFT) == {}


ROOMS: Final[Mapping[str, str]] = {
    "explorer/automata/machine.py": """
class ByteMachine(Protocol):
    def step(self, state, byte): ...
    @property
    def start(self): ...
class Base(ABC):
    @abstractmethod
    def step(self, state, byte): ...
class Closed(Base):
    start: int
    def step(self, state, byte): ...
class Started:
    start: int
""",
    "explorer/tokens/machine.py": """
class TokenMachine(Protocol):
    def mask(self, state): ...
class Known(Protocol):
    table: int
class Whole:
    def __init__(self): self.table = 0
    def mask(self, state): ...
class Healed(Whole): ...
""",
}


def test_a_further_kind_of_machine_is_noticed() -> None:
    known = shapes(ROOMS)
    assert implementations("ByteMachine", known) == {"Closed"}
    assert implementations("TokenMachine", known) == {"Whole", "Healed"}
    assert kinds(known) == {"Base", "Closed", "Known", "Whole", "Healed"}


@pytest.mark.parametrize(
    "question",
    [
        "isinstance(m, Whole)",
        "isinstance(m, int | Known)",
        "def f(m):\n  match m:\n    case Base(start=1): ...",
        "type(m) is Closed",
    ],
)
def test_a_question_of_kind_is_noticed(question: str) -> None:
    far = ROOMS | {"explorer/analysis/why.py": question}
    assert list(questions_of_kind(far).values()) == [1]
    near = ROOMS | {"explorer/tokens/deep/a.py": question, "explorer/automata/b.py": question}
    assert set(questions_of_kind(near)) <= {
        "explorer/tokens: Base", "explorer/tokens: Closed",
        "explorer/automata: Whole", "explorer/automata: Known",
    }  # fmt: skip
    for other in ("Started", "TokenMachine"):
        plain = {"explorer/analysis/why.py": f"isinstance(m, {other})"}
        assert questions_of_kind(ROOMS | plain) == {}
