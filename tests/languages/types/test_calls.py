"""Types as constructor calls: Python itself makes the same values of the same texts."""

from __future__ import annotations

import dataclasses
import pickle
from decimal import Decimal
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

import explorer
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.languages.sampling import sampled
from tests.languages.types import kinds
from tests.languages.types.kinds import KINDS, Hero, Tree, Weapon

FOR_JSON = ("date", "time", "datetime", "uuid", "decimal", "typed dict", "bounded list", "model",
            "dataclasses")  # fmt: skip
"""Kinds with parts that only JSON has."""
ALL = {name: kind for name, kind in KINDS.items() if name not in FOR_JSON} | {
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
def made(name: str) -> tuple[Constraint, st.SearchStrategy[Any]]:
    described, values = ALL[name]
    return explorer.from_type(described, style="python"), values


@pytest.mark.parametrize("name", [name for name in ALL if name != "pattern"])
def test_values_are_written_and_read_back(name: str) -> None:
    constraint, values = made(name)

    @given(values)
    def check(value: Any) -> None:
        back = constraint.parse(written(value))
        assert back == value and type(back) is type(value)

    check()


@pytest.mark.parametrize("name", ALL)
def test_texts_are_what_python_makes_of_them(name: str) -> None:
    constraint, _ = made(name)
    for text in sampled(constraint.dfa, 60):
        assert constraint.parse(text) == evaluated(text), text


def test_a_string_with_a_pattern_is_in_double_quotes() -> None:
    constraint, values = made("pattern")

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


def test_its_own_checks_are_an_error_that_says_so() -> None:
    @dataclasses.dataclass
    class Picky:
        n: int

        def __post_init__(self) -> None:
            if self.n % 2:
                raise ValueError("odd")

    picky = explorer.from_type(Picky, style="python")
    assert picky.parse("Picky(n=2)").n == 2
    with pytest.raises(ConstraintError, match="refuse it: odd"):
        picky.parse("Picky(n=3)")


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
    "described",
    [complex, Any, set[int], Decimal, Hero, Annotated[list[int], Field(max_length=2)]],
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
