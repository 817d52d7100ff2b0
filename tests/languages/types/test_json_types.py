"""Types of Python: as JSON, strictly, nearly right, and of calls."""

from __future__ import annotations

import dataclasses
import datetime
import json
import pickle
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest
import typing_extensions
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, StrictInt

import explorer
from explorer.errors import ConstraintError, MissingDependency, NotRegular
from explorer.languages.constraint import Constraint
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.evidence import examples
from tests.languages.sampling import sampled
from tests.languages.types import kinds
from tests.languages.types.kinds import KINDS, Hero, Tree, Weapon

# Types as JSON: what pydantic writes is accepted, and what is accepted pydantic reads.


MORE: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "set": (set[int], st.sets(st.integers(), max_size=3)),
    "uuid 4": (pydantic.UUID4, st.uuids(version=4)),
    "aware": (pydantic.AwareDatetime, st.datetimes(timezones=st.just(datetime.UTC))),
    "date keys": (
        dict[datetime.date, bool],
        st.dictionaries(st.dates(), st.booleans(), max_size=2),
    ),
}
ALL = KINDS | MORE


@cache
def made(name: str) -> tuple[Constraint, Any, st.SearchStrategy[Any]]:
    described, values = ALL[name]
    # Tables are sampled below, which a type that leads back has to a depth only.
    return explorer.from_type(described, max_depth=5), pydantic.TypeAdapter(described), values


@pytest.mark.parametrize("name", ALL)
def test_values_are_written_and_read_back(name: str) -> None:
    constraint, adapter, values = made(name)

    @settings(max_examples=examples(12))
    @given(values)
    def check(value: Any) -> None:
        text = adapter.dump_json(value, by_alias=True).decode()
        back = constraint.parse(text)
        assert back == value and type(back) is type(value)

    check()


def texts_of(constraint: Constraint, count: int, seed: int = 0) -> Iterable[str]:
    """Texts of a constraint; where items come once there is no table, and they are few."""
    try:
        return sampled(constraint.dfa, count, seed)
    except NotRegular:
        return constraint.examples(min(count, 10))


@pytest.mark.parametrize("name", ALL)
def test_texts_are_read_by_pydantic(name: str) -> None:
    constraint, adapter, _ = made(name)
    for text in texts_of(constraint, 60):
        value = constraint.parse(text)
        try:
            assert value == adapter.validate_json(text)
        except pydantic.ValidationError as error:
            # Of 2 ** 70 written "….0" or "…e9", which JSON Schema counts among the integers.
            assert "int_parsing_size" in {each["type"] for each in error.errors()}


def test_checks_in_python_are_an_error_that_says_so() -> None:
    class Even(pydantic.BaseModel):
        n: Annotated[int, pydantic.AfterValidator(lambda n: n // (n % 2 == 0) and n)]

    assert explorer.from_type(Even).accepts('{"n":3}')

    class Picky(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("odd")
            return n

    with pytest.raises(ConstraintError, match="its own checks refuse it"):
        explorer.from_type(Picky).parse('{"n":3}')


def test_without_pydantic_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(MissingDependency, match="constraint-explorer\\[types\\]"):
        explorer.from_type(int)


def test_it_is_saved_with_its_schema_and_without_its_type(tmp_path: Path) -> None:
    constraint = explorer.from_type(Hero)
    vocabulary = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    text = '{"name":"A","weapon":null,"colour":"red","born":"2020-02-29"}'
    run = explorer.Session.from_ids(vocabulary, constraint, list(text.encode()))
    assert run.rejection is None
    run.trace.save(tmp_path / "run.json")
    back = explorer.Trace.load(tmp_path / "run.json").constraint
    assert back is not None and back.source == constraint.source
    assert str(back) == "from_type(Hero)"
    assert back.parse(text)["born"] == "2020-02-29"  # No file makes this program import a type.
    assert constraint.parse(text).born == datetime.date(2020, 2, 29)
    again = pickle.loads(pickle.dumps(constraint.source))
    assert again == constraint.source and again.parse(text.encode())["name"] == "A"


def test_keys_that_are_no_texts_are_refused() -> None:
    with pytest.raises(ConstraintError, match="are texts in JSON"):
        explorer.from_type(dict[float, int])


# Strict whole numbers beside pydantic: their texts are plain digits.


STRICT = pydantic.ConfigDict(strict=True)


class Fields(typing_extensions.TypedDict):
    n: int


@dataclasses.dataclass
class Point:
    x: int


class Lax(BaseModel):
    a: int = 1
    b: list[int] = []
    fields: Fields = {"n": 1}
    named: Literal[1] = 1
    point: Point = Point(1)
    keys: dict[int, int | None] = {}


class Strict(Lax):
    model_config = STRICT


@pydantic.dataclasses.dataclass(config=STRICT)
class StrictPoint:
    x: int


class StrictFields(typing_extensions.TypedDict):
    __pydantic_config__ = STRICT  # type: ignore[misc]
    n: int


WHOLE = ("1", "1.0", "1e0", "10E-1", "-0", "-0.0", "36893488147419103232", "1.5")
MEMBERS = (
    '{"a":1}', '{"a":1.0}', '{"b":[1]}', '{"b":[1e0]}',
    '{"fields":{"n":1}}', '{"fields":{"n":1.0}}', '{"named":1.0}', '{"point":{"x":1.0}}',
    '{"keys":{"1":1}}', '{"keys":{"1":1.0}}', '{"keys":{"1":null}}',
)  # fmt: skip
STRICTNESS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "int": (StrictInt, WHOLE),
    "optional": (Annotated[int | None, Field(strict=True)], (*WHOLE, "null")),
    "beside float": (StrictInt | float, WHOLE),
    "bounded": (Annotated[StrictInt, Field(gt=3, lt=9)], ("3", "4", "4.0", "9", "3.5")),
    "divided": (Annotated[StrictInt, Field(multiple_of=3)], ("6", "6.0", "7", "6e0")),
    "list": (list[StrictInt], ("[1,2]", "[1.0]", "[1,2e0]")),
    "keys": (dict[StrictInt, bool], ('{"1":true}', '{"one":true}')),
    "dataclass": (StrictPoint, ('{"x":1}', '{"x":1.0}')),
    "TypedDict": (StrictFields, ('{"n":1}', '{"n":1.0}')),
    "model": (Strict, MEMBERS),
    "lax model": (Lax, MEMBERS),
}


@pytest.mark.parametrize("name", STRICTNESS)
def test_accepts_and_parse_agree_with_pydantic(name: str) -> None:
    described, texts = STRICTNESS[name]
    constraint, adapter = explorer.from_type(described), pydantic.TypeAdapter(described)
    for text in texts:
        try:
            value = adapter.validate_json(text)
        except pydantic.ValidationError:
            assert not constraint.accepts(text), text
            with pytest.raises(ConstraintError):
                constraint.parse(text)
        else:
            assert constraint.accepts(text), text
            assert constraint.parse(text) == value
    assert constraint.source.warnings() == ()


# Types as JSON beside pydantic itself, on values, near misses and everything between.


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


# Types as constructor calls: Python itself makes the same values of the same texts.


FOR_JSON = ("date", "time", "datetime", "uuid", "decimal", "typed dict", "bounded list", "model",
            "dataclasses")  # fmt: skip
"""Kinds with parts that only JSON has."""
ALL_OF_CALLS = {name: kind for name, kind in KINDS.items() if name not in FOR_JSON} | {
    "empty tuple": (tuple[()], st.just(())),
    "single": (tuple[int], st.tuples(st.integers())),
}


@dataclasses.dataclass(frozen=True)
class Knight:
    name: str
    weapon: Weapon | None
    colour: kinds.Colour = kinds.Colour.RED


NAMES: dict[str, Any] = {k: value for k, value in vars(kinds).items() if isinstance(value, type)}


def evaluated(text: str) -> Any:
    """Python's value of a text: the oracle, and the only place where a text is evaluated."""
    return eval(text, {"__builtins__": {}}, dict(NAMES))


def written(value: Any) -> str:
    """A value as one writes it by hand; ``repr`` where that can be read."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, pydantic.BaseModel):
        parts = [(name, getattr(value, name)) for name in type(value).model_fields]
    elif dataclasses.is_dataclass(value):
        parts = [(each.name, getattr(value, each.name)) for each in dataclasses.fields(value)]
    elif isinstance(value, tuple) and "_fields" in vars(type(value)):
        parts = list(zip(type(value)._fields, value, strict=True))  # type: ignore[attr-defined]
    elif isinstance(value, list | tuple):
        body = ", ".join(map(written, value))
        if isinstance(value, list):
            return f"[{body}]"
        return f"({body},)" if len(value) == 1 else f"({body})"
    elif isinstance(value, dict):
        return "{" + ", ".join(f"{written(k)}: {written(v)}" for k, v in value.items()) + "}"
    else:
        return repr(value)
    return f"{type(value).__name__}({', '.join(f'{k}={written(v)}' for k, v in parts)})"


@cache
def made_of_calls(name: str) -> tuple[Constraint, st.SearchStrategy[Any]]:
    described, values = ALL_OF_CALLS[name]
    return explorer.from_type(described, style="python"), values


@pytest.mark.parametrize("name", [name for name in ALL_OF_CALLS if name != "pattern"])
def test_values_are_written_and_read_back_in_calls(name: str) -> None:
    constraint, values = made_of_calls(name)

    @settings(max_examples=examples(12))
    @given(values)
    def check(value: Any) -> None:
        back = constraint.parse(written(value))
        assert back == value and type(back) is type(value)

    check()


@pytest.mark.parametrize("name", ALL_OF_CALLS)
def test_texts_are_what_python_makes_of_them(name: str) -> None:
    constraint, _ = made_of_calls(name)
    for text in sampled(constraint.dfa, 60):
        assert constraint.parse(text) == evaluated(text), text


def test_a_string_with_a_pattern_is_in_double_quotes() -> None:
    constraint, values = made_of_calls("pattern")

    @given(values)
    def check(value: str) -> None:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        assert constraint.parse(f'"{escaped}"') == value

    check()
    assert not constraint.accepts("'A'") and not constraint.accepts('"\\/"')


def test_arguments_with_defaults_may_be_missing() -> None:
    weapon = explorer.from_type(Weapon, style="python")
    assert weapon.parse("Weapon(name='x', tags=['a'])") == Weapon("x", 3, ["a"])
    assert not weapon.accepts("Weapon(damage=3)") and not weapon.accepts("Weapon(name='x', )")

    @dataclasses.dataclass
    class Options:
        a: int = 1
        b: int = 2
        c: int = dataclasses.field(default=3, init=False)

    options = explorer.from_type(Options, style="python")
    assert [options.accepts(f"Options({inside})") for inside in
            ("", "a=1", "b=2", "a=1, b=2", "b=2, a=1", "c=3", ", a=1")] == [
        True, True, True, True, False, False, False,
    ]  # fmt: skip


def test_nothing_is_called_but_the_constructors_of_the_type() -> None:
    knight = explorer.from_type(Knight, style="python")
    for text in (
        "Knight(name=print('x'), weapon=None)",
        "__import__('os').system('x')",
        "Knight(name='a', weapon=Weapon(name=Knight))",
        "Knight(name=f'{1}', weapon=None)",
        "Knight(**{'name': 'a'})",
    ):
        assert not knight.accepts(text)
        with pytest.raises(ConstraintError):
            knight.parse(text)
    # The reader alone refuses them too, whatever the constraint would let through.
    for text in (
        "Knight(name='a', weapon=open('x'))",
        "Tree(value=1)",
        "Knight(name='a', other=1)",
    ):
        with pytest.raises(ConstraintError, match="refuse it"):
            knight.source.parse(text.encode())


def test_a_recursive_type_is_followed_to_a_depth() -> None:
    shallow = explorer.from_type(Tree, style="python", max_depth=1)
    assert shallow.parse("Tree(value=1, left=Tree(value=2), right=None)").left.value == 2
    assert not shallow.accepts("Tree(value=1, left=Tree(value=2, left=Tree(value=3)))")

    @dataclasses.dataclass
    class Endless:
        more: Endless

    Endless.__annotations__["more"] = Endless
    with pytest.raises(ConstraintError, match="no finite value"):
        explorer.from_type(Endless, style="python")


def test_it_is_explained_by_its_fields_and_saved(tmp_path: Path) -> None:
    knight = explorer.from_type(Knight, style="python")
    why = explorer.explain_text(knight, "Knight(name='a', weapon=Weapon(name='b', damage=x")
    assert "Expected by part `damage`" in why.message
    vocabulary = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    text = "Knight(name='a', weapon=None)"
    run = explorer.Session.from_ids(vocabulary, knight, list(text.encode()))
    run.trace.save(tmp_path / "run.json")
    back = explorer.Trace.load(tmp_path / "run.json").constraint
    assert back is not None and back.source == knight.source and back.accepts(text)
    for again in (back, Constraint(pickle.loads(pickle.dumps(knight.source)))):
        with pytest.raises(ConstraintError, match="type Knight is not known here"):
            again.parse(text)
    with pytest.raises(explorer.errors.ExplorerError):
        source_from_dict(source_to_dict(knight.source) | {"name": 3})


def test_models_are_called_by_their_aliases() -> None:
    class Song(pydantic.BaseModel):
        title: str = pydantic.Field(alias="name", min_length=1)

    song = explorer.from_type(Song, style="python")
    assert song.parse("Song(name='x')").title == "x"
    assert not song.accepts("Song(name='')") and not song.accepts("Song(title='x')")


@pytest.mark.parametrize(
    "described", [complex, Any, set[int], Decimal, Hero, Annotated[list[int], Field(max_length=2)]]
)
def test_other_types_are_refused_by_name(described: Any) -> None:
    with pytest.raises(ConstraintError, match="cannot be written as Python calls"):
        explorer.from_type(described, style="python")


def test_two_classes_of_one_name_are_refused() -> None:
    def other() -> type:
        class Weapon(pydantic.BaseModel):
            pass

        return Weapon

    with pytest.raises(ConstraintError, match="called Weapon"):
        explorer.from_type(tuple[Weapon, other()], style="python")  # type: ignore[misc]
