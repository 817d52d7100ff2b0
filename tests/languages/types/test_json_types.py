"""Types as JSON: what pydantic writes is accepted, and what is accepted pydantic reads."""

from __future__ import annotations

import datetime
import pickle
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.errors import ConstraintError, MissingDependency, NotRegular
from explorer.languages.constraint import Constraint
from tests.languages.sampling import sampled
from tests.languages.types.kinds import KINDS, Hero

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


@pytest.mark.parametrize(
    ("described", "right", "wrong"),
    [
        (datetime.time, ["01:02:03z", "01:02:03", "01:02:03.5+01:00"], ["24:00:00", "1:02"]),
        (pydantic.AwareDatetime, ["2020-02-29T01:02:03Z"], ["2020-02-29T01:02:03"]),
        (pydantic.NaiveDatetime, ["2020-02-29t01:02:03"], ["2020-02-29T01:02:03Z"]),
        (datetime.date, ["2020-02-29", "0001-01-01"], ["2019-02-29", "0000-01-01"]),
    ],
    ids=["time", "aware", "naive", "date"],
)
def test_times_are_those_that_pydantic_reads(
    described: Any, right: list[str], wrong: list[str]
) -> None:
    constraint, adapter = explorer.from_type(described), pydantic.TypeAdapter(described)
    for text in right:
        assert constraint.parse(f'"{text}"') == adapter.validate_json(f'"{text}"')
    for text in wrong:
        assert not constraint.accepts(f'"{text}"')
