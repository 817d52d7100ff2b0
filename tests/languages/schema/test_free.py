"""JSON without a schema: exactly the values that nest no deeper than they may."""

from __future__ import annotations

import json
from functools import cache
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.automata.machine import Dfa
from explorer.automata.words import words

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from([0.5, -2.25, 1.5e-7, 1e15]),
              st.text(st.characters(exclude_categories=("Cs",)))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text("ab", max_size=2), inner, max_size=2)
    ),
    max_leaves=8,
)  # fmt: skip


def nesting(value: Any) -> tuple[int, int]:
    """The deepest nesting of objects, and that of arrays."""
    if not isinstance(value, dict | list):
        return 0, 0
    inside = [nesting(each) for each in (value.values() if isinstance(value, dict) else value)]
    objects = max((each[0] for each in inside), default=0)
    arrays = max((each[1] for each in inside), default=0)
    return (objects + 1, arrays) if isinstance(value, dict) else (objects, arrays + 1)


@cache
def machine(objects: int, arrays: int, whitespace: Any = "flexible") -> Dfa:
    return explorer.json(objects, arrays, whitespace=whitespace).dfa


@given(VALUES, st.integers(0, 2), st.integers(0, 2), st.sampled_from([None, 1]))
def test_what_is_accepted_is_what_nests_so_deep(
    value: Any, objects: int, arrays: int, indent: int | None
) -> None:
    deepest = nesting(value)
    text = json.dumps(value, indent=indent).encode()
    fits = deepest[0] <= objects and deepest[1] <= arrays
    assert machine(objects, arrays).accepts(text) == fits


@pytest.mark.parametrize("whitespace", ["compact", "pretty", "flexible"])
def test_what_is_written_is_json(whitespace: Any) -> None:
    for word in islice(words(machine(1, 1, whitespace)), 300):
        assert nesting(json.loads(word))[0] <= 1


def test_a_limit_that_is_wrong_is_found() -> None:
    value = {"a": {"b": 1}}
    assert nesting(value) == (2, 0)
    assert machine(2, 0).accepts(json.dumps(value).encode())
    assert not machine(1, 2).accepts(json.dumps(value).encode())


def test_json_is_parsed_as_data() -> None:
    assert explorer.json(1, 1).parse('{"a":[1.5,null]}') == {"a": [1.5, None]}
