"""Types as JSON: what pydantic writes is accepted, and what is accepted pydantic reads."""

from __future__ import annotations

import datetime
import pickle
import sys
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypedDict

import annotated_types
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.errors import ConstraintError, MissingDependency, NotRegular
from explorer.languages.constraint import Constraint
from tests.languages.sampling import sampled
from tests.languages.types.kinds import KINDS, Hero, Weapon

MORE: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "set": (set[int], st.sets(st.integers(), max_size=3)),
    "duration": (
        datetime.timedelta,
        st.timedeltas(datetime.timedelta(-(10**8)), datetime.timedelta(10**8)),
    ),
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


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_two_thousand_texts_are_read_by_pydantic(name: str) -> None:
    constraint, _, _ = made(name)
    for text in texts_of(constraint, 2000, seed=1):
        constraint.parse(text)


def test_bounded_decimals_are_numbers() -> None:
    price = explorer.from_type(
        Annotated[Decimal, annotated_types.Ge(0), pydantic.Field(max_digits=4, decimal_places=2)]
    )
    assert price.parse("12.5") == Decimal("12.5")
    assert [price.accepts(text) for text in ("99.99", "100", "-1", "1.005", '"1"')] == [
        True, False, False, False, True,
    ]  # fmt: skip
    assert price.parse('"12.50"') == Decimal("12.50")


def test_typed_dicts_of_the_standard_library() -> None:
    class Song(TypedDict):
        title: str
        year: int | None

    assert explorer.from_type(list[Song]).parse('[{"title":"x","year":null}]') == [
        {"title": "x", "year": None}
    ]
    assert explorer.from_type(Song | int).parse("3") == 3


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


def doubled(n: int) -> int:
    return 2 * n


@pytest.mark.parametrize(
    ("described", "says"),
    [
        (complex, "complex"),
        (3, "described is 3"),
        (Annotated[datetime.date, annotated_types.Ge(datetime.date(2000, 1, 1))], "bound ge"),
        (Annotated[datetime.datetime, annotated_types.Lt(datetime.datetime(2, 1, 1))], "bound lt"),
        (dict[float, int], "keys of a dict"),
        (len, "not a type"),
        (list[doubled], "doubled is a function, not a type"),  # type: ignore[valid-type]
        (object(), "cannot be written as JSON"),
    ],
)
def test_what_cannot_be_exact_is_refused_by_name(described: Any, says: str) -> None:
    with pytest.raises(ConstraintError, match=says):
        explorer.from_type(described)


@pytest.mark.parametrize(
    ("described", "right", "wrong"),
    [
        (pydantic.HttpUrl, ["https://a.b/c?d#e", "HTTP://a", "http://[::1]:80/"], ["ftp://a", "a"]),
        (pydantic.FileUrl, ["file:" + "///a/b", "File://h/x"], ["http://a", "file"]),
        (pydantic.RedisDsn, ["redis://h:1/0", "rediss://h", "redis:///0"], ["http://h"]),
        (pydantic.MongoDsn, ["mongodb://a:1,b:2/db", "mongodb+srv://h/"], ["mongodb", "http://h"]),
        (pydantic.AnyUrl, ["x:y", "http://a"], ["a b"]),
    ],
)
def test_a_url_has_a_scheme_that_its_type_reads(
    described: Any, right: list[str], wrong: list[str]
) -> None:
    constraint = explorer.from_type(described)
    for text in right:
        assert constraint.accepts(f'"{text}"') and constraint.parse(f'"{text}"'), text
    for text in wrong:
        assert not constraint.accepts(f'"{text}"'), text
        with pytest.raises(pydantic.ValidationError):
            pydantic.TypeAdapter(described).validate_python(text)
    assert any("URL" in each for each in constraint.source.warnings())


def test_a_unit_of_bytes_may_be_refused() -> None:
    constraint = explorer.from_type(pydantic.ByteSize)
    assert constraint.parse('"3 MiB"') == 3 * 2**20
    assert any("ByteSize" in each for each in constraint.source.warnings())
    assert explorer.from_type(datetime.timedelta).source.warnings() == ()


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


@pytest.mark.parametrize("lazy", [False, True])
def test_a_session_writes_an_instance(lazy: bool) -> None:
    lm = explorer.load_model("tiny")
    constraint = explorer.from_type(Weapon)
    machine = explorer.compile(constraint, lm.vocabulary, lazy=lazy)
    session = explorer.Session(lm, machine, "JSON: ", max_tokens=60, masking_budget=not lazy)
    text = session.run().text
    if session.finished:
        assert isinstance(constraint.parse(text), Weapon)
    assert session.finished or lazy
