"""The facts about servers that are data: `tables.json`, one row per line.

``formats`` are paths (`explorer.servers.formats`), ``places`` those of a constraint in a request,
``servers`` their settings and the signs that give one away; parsers are listed by their markup or
mark, ``markers`` are those around reasoning, ``end_names`` the names of ends, and ``sentences``
what a verdict says of servers, models and logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TypeVar, cast

import msgspec

Row = TypeVar("Row")


@cache
def _tables() -> dict[str, object]:
    data = files("explorer.servers").joinpath("tables.json").read_bytes()
    return cast("dict[str, object]", msgspec.json.decode(data))


def table(name: str, kind: type[Row]) -> Row:
    """A table as values of a type."""
    return msgspec.convert(_tables()[name], kind)


def sentence(name: str, **values: object) -> str:
    """A sentence of the table ``sentences``, with values in it."""
    return table("sentences", dict[str, str])[name].format(**values)


def by_name(name: str) -> Mapping[str, str]:
    """A table of words by what they mean, turned round."""
    listed = table(name, dict[str, str])
    return {word: what for what, words in listed.items() for word in words.split()}
