"""Types of every kind that can be followed, and values of them."""

from __future__ import annotations

import dataclasses
import datetime
import string
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple

import annotated_types
import pydantic
import typing_extensions
from hypothesis import strategies as st


class Colour(Enum):
    RED = "red"
    GREEN = "forest green"
    NONE = None


class Level(IntEnum):
    LOW = 1
    HIGH = 30


class Point(NamedTuple):
    x: int
    y: float = 0.0


class Movie(typing_extensions.TypedDict, total=False):
    title: typing_extensions.Required[str]
    year: int


@dataclass
class Weapon:
    name: str
    damage: int = 3
    tags: list[str] = field(default_factory=lambda: list[str]())


@dataclass(frozen=True)
class Hero:
    name: str
    weapon: Weapon | None
    colour: Colour = Colour.RED
    born: datetime.date = datetime.date(2000, 1, 1)


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: Annotated[int, pydantic.Field(ge=0, le=9)]


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    name: Annotated[str, pydantic.Field(min_length=1, max_length=5)]


class Home(pydantic.BaseModel):
    pets: list[Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]] = []
    point: Point
    movie: Movie
    size: Annotated[float, pydantic.Field(gt=0, lt=100)] = 1.5


class Tree(pydantic.BaseModel):
    value: int
    left: Tree | None = None
    right: Tree | None = None


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, max_value=1e15, min_value=-1e15)
DATES = st.dates()
WEAPONS = st.builds(Weapon, TEXTS, st.integers(-(10**20), 10**20), st.lists(TEXTS, max_size=2))
POINTS = st.builds(Point, st.integers(), NUMBERS)
# Members in the order of the type; property_order="any" would take them in every order.
MOVIES = st.builds(
    lambda title, year: {"title": title} | ({} if year is None else {"year": year}),
    TEXTS,
    st.none() | st.integers(),
)
CATS = st.builds(Cat, kind=st.just("cat"), lives=st.integers(0, 9))
DOGS = st.builds(
    Dog, kind=st.just("dog"),
    name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5),
)  # fmt: skip
ZONES = st.none() | st.integers(-1439, 1439).map(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
)

KINDS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "bool": (bool, st.booleans()),
    "int": (int, st.integers()),
    "float": (float, NUMBERS),
    "str": (str, TEXTS),
    "none": (None, st.none()),
    "literal": (Literal["a", "b\n", 7, None, True], st.sampled_from(["a", "b\n", 7, None, True])),
    "enum": (Colour, st.sampled_from(Colour)),
    "int enum": (Level, st.sampled_from(Level)),
    "optional": (int | None, st.none() | st.integers()),
    "union": (int | str | list[bool], st.integers() | TEXTS | st.lists(st.booleans(), max_size=2)),
    "list": (list[int], st.lists(st.integers(), max_size=3)),
    "tuple": (tuple[int, str], st.tuples(st.integers(), TEXTS)),
    "tuples": (tuple[bool, ...], st.lists(st.booleans(), max_size=3).map(tuple)),
    "dict": (dict[str, int], st.dictionaries(TEXTS, st.integers(), max_size=2)),
    "int keys": (dict[int, bool], st.dictionaries(st.integers(), st.booleans(), max_size=2)),
    "bounded int": (Annotated[int, annotated_types.Interval(ge=-3, lt=250)], st.integers(-3, 249)),
    "bounded str": (
        Annotated[str, annotated_types.Len(2, 4)],
        st.text(string.printable + "é🙂", min_size=2, max_size=4),
    ),
    "pattern": (
        Annotated[str, pydantic.Field(pattern="^[a-z'\"]+$")],
        st.text("az'\"", min_size=1, max_size=4),
    ),
    "bounded list": (
        Annotated[list[int], annotated_types.Len(1, 2)],
        st.lists(st.integers(), min_size=1, max_size=2),
    ),
    "date": (datetime.date, DATES),
    "time": (datetime.time, st.times()),
    "datetime": (datetime.datetime, st.datetimes(timezones=ZONES)),
    "uuid": (uuid.UUID, st.uuids()),
    "decimal": (
        Decimal,
        st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9),
    ),
    "named tuple": (Point, POINTS),
    "typed dict": (Movie, MOVIES),
    "dataclass": (Weapon, WEAPONS),
    "dataclasses": (
        Hero, st.builds(Hero, TEXTS, st.none() | WEAPONS, st.sampled_from(Colour), DATES)
    ),
    "model": (
        Home,
        st.builds(
            Home, pets=st.lists(CATS | DOGS, max_size=2), point=POINTS, movie=MOVIES,
            size=st.floats(0.001, 99),
        ),
    ),
    "recursive": (
        Tree,
        st.recursive(
            st.builds(Tree, value=st.integers(), left=st.none(), right=st.none()),
            lambda below: st.builds(Tree, value=st.integers(), left=below, right=st.none()),
            max_leaves=2,
        ),
    ),
}  # fmt: skip
"""By name a type and values of it."""

__all__ = ["KINDS", "Hero", "Home", "Movie", "Weapon", "dataclasses"]
