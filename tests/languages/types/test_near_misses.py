"""Types as JSON beside pydantic itself, on values, near misses and everything between."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

import explorer
from explorer.errors import ConstraintError

BYTES = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])


class Silent(BaseModel):
    a: int


class Forbids(Silent):
    model_config = ConfigDict(extra="forbid")


class Ignores(Silent):
    model_config = ConfigDict(extra="ignore")


class Allows(Silent):
    model_config = ConfigDict(extra="allow")


@pytest.mark.parametrize(
    ("described", "is_open"), [(Silent, False), (Forbids, False), (Ignores, False), (Allows, True)]
)
def test_an_object_is_open_where_its_model_says_so(described: Any, is_open: bool) -> None:
    constraint = explorer.from_type(described)
    text = '{"a":1,"b":[2]}'
    assert constraint.accepts('{"a":1}') and constraint.accepts(text) is is_open
    if is_open:
        assert constraint.parse(text) == pydantic.TypeAdapter(described).validate_json(text)
    pydantics = described.model_json_schema()
    if described in (Forbids, Allows):  # Pydantic's schema says nothing of the others.
        assert explorer.json_schema(pydantics).accepts(text) is is_open


@pytest.mark.parametrize(
    "described",
    [set[bool], frozenset[Literal["a", "b", "c"]], set[Annotated[int, Field(ge=1, le=4)]],
     list[set[bool | None]], set[bool] | int],
    ids=str,
)  # fmt: skip
def test_the_members_of_a_small_set_are_written_once(described: Any) -> None:
    from tests.languages.sampling import sampled

    constraint = explorer.from_type(described)
    for text in sampled(constraint.dfa, 50):
        value = json.loads(text)
        rows = (
            value
            if value and isinstance(value[0] if isinstance(value, list) else 0, list)
            else [value]
        )
        for row in rows:
            assert not isinstance(row, list) or len(set(map(str, row))) == len(row), text
    assert constraint.source.warnings() == ()


def test_the_members_of_a_large_set_are_remembered() -> None:
    constraint = explorer.from_type(set[int])
    assert constraint.parse("[1,2]") == {1, 2}
    assert not constraint.accepts("[1,1]") and not constraint.accepts("[1,1.0]")
    assert "remembered" in constraint.source.warnings()[0]
    small = explorer.from_type(Annotated[set[int], Field(min_length=2)])
    assert small.parse("[1,2]") == {1, 2} and not small.accepts("[1]")
    assert not explorer.from_type(dict[str, frozenset[str]]).accepts('{"a":["b","b"]}')


class Cat(BaseModel):
    n: int


class Dog(BaseModel):
    n: int
    kind: Literal["dog"] = "dog"


def tag(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return "dog" if kind else "cat"


def test_equal_parts_of_a_tagged_union_are_told_apart_by_their_tag() -> None:
    pet = Annotated[
        Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")] | Annotated[Cat, Tag("other")],
        Discriminator(tag),
    ]
    constraint = explorer.from_type(pet)
    assert constraint.parse('{"n":1}') == Cat(n=1)
    assert constraint.parse('{"n":1,"kind":"dog"}') == Dog(n=1)


NESTS: dict[str, Callable[[Any], Any]] = {
    "list": lambda inner: list[inner],
    "optional": lambda inner: list[inner | None],
    "dict": lambda inner: dict[str, inner],
}


@pytest.mark.parametrize(
    ("name", "style"),
    [(name, style) for name in NESTS for style in ("json", "python")],
)  # fmt: skip
def test_a_type_nested_twenty_five_times_has_few_states(name: str, style: Any) -> None:
    described: Any = bool
    value: Any = True
    for _ in range(25):
        described = NESTS[name](described)
        value = {"a": value} if name == "dict" else [value]
    constraint = explorer.from_type(described, style=style)
    text = repr(value) if style == "python" else json.dumps(value, separators=(",", ":"))
    assert constraint.accepts(text) and not constraint.accepts(text[:-1])
    assert constraint.parse(text) == value
    assert constraint.dfa.num_states < 5000


def test_tuples_that_are_nested_too_deep_are_refused_at_once() -> None:
    described: Any = int
    for _ in range(25):
        described = tuple[described, ...]
    with pytest.raises(ConstraintError, match="nested too deep"):
        explorer.from_type(described, style="python")


@dataclass
class User:
    name: str
    age: Annotated[int, Field(ge=0)] = 0


@pytest.mark.parametrize("described", [User, Silent, list[User], int | None], ids=str)
def test_a_type_is_taken_where_a_schema_or_a_constraint_is(described: Any) -> None:
    constraint = explorer.json_schema(described)
    assert constraint.source == explorer.from_type(described).source
    compiled = explorer.compile(described, BYTES)
    assert compiled.constraint.source == constraint.source
    spaced = explorer.json_schema(described, whitespace="flexible")
    assert spaced.source == explorer.from_type(described, whitespace="flexible").source


class Small(BaseModel):
    n: Literal["a", "b"]


SMALL: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {"name": "small", "schema": explorer.from_type(Small).source.children[0].text},
}
SMALL["json_schema"]["schema"] = json.loads(SMALL["json_schema"]["schema"])


@pytest.mark.parametrize("form", [Small, SMALL], ids=["type", "response_format"])
def test_every_function_takes_a_type_or_a_response_format_as_a_constraint(form: Any) -> None:
    lm = explorer.load_model("tiny")
    wanted = explorer.json_schema(form)
    texts = sorted(wanted.examples(5))
    assert texts == ['{"n":"a"}', '{"n":"b"}']
    session = explorer.Session(lm, form, prompt="a", restrict={"scripts": ["Latin"]}, heal=True)
    session.run(max_tokens=20)
    assert session.text.removeprefix(session.healed) in texts
    assert session.constraint is not None
    assert "restrict" in str(session.constraint.source)
    session.edit(constraint=form)
    free = explorer.Session(lm, form, prompt="a")
    free.run(max_tokens=20)
    ids = free.ids
    assert explorer.Session.from_ids(lm.vocabulary, form, ids).text in texts
    (row,) = explorer.generate(lm, ["a"], form, max_tokens=20)
    assert row.text in texts
    mass = explorer.probability_mass(lm, "a", form)
    assert mass.value == explorer.probability_mass(lm, "a", wanted).value
    assert explorer.explain_text(form, '{"n":3}').message
    assert explorer.gen(json_schema=form).source == wanted.source
    assert explorer.gen(constraint=form).source == wanted.source
    assert explorer.template("<{a}>", a=form).accepts(f"<{texts[0]}>")
    assert explorer.many(form).accepts(texts[0] * 2)
    assert explorer.phase("answer", form).accepts(texts[0])
    assert explorer.compile(form, BYTES).constraint.source == wanted.source


def test_a_type_has_no_folder_and_an_instance_is_not_a_type(tmp_path: Any) -> None:
    with pytest.raises(ConstraintError, match="does not go with the type User"):
        explorer.json_schema(User, folder=tmp_path)
    with pytest.raises(ConstraintError, match="not an instance"):
        explorer.json_schema(User("a"))  # type: ignore[arg-type]


ASKED: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {"name": "user", "schema": Silent.model_json_schema(), "strict": True},
}


@pytest.mark.parametrize(
    "asked", [ASKED, json.dumps(ASKED), {"type": "json_schema", **ASKED["json_schema"]}],
    ids=["data", "text", "flat"],
)  # fmt: skip
def test_a_response_format_is_its_schema(asked: Any) -> None:
    constraint = explorer.json_schema(asked)
    assert constraint.source == explorer.json_schema(Silent.model_json_schema()).source


def test_a_json_object_is_any_object_and_text_is_no_json() -> None:
    anything = explorer.json_schema({"type": "json_object"})
    assert anything.accepts('{"a":[1]}') and not anything.accepts("[1]")
    with pytest.raises(ConstraintError, match="asks for any text") as caught:
        explorer.json_schema({"type": "text"})
    assert caught.value.remedy.startswith("Leave the constraint out")
