"""A packet and its change give the next packet, whatever the two are."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.widgets.patched import changed
from widgets.figures.packets import change

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "=", "<"])
)
KEYS = st.sampled_from(["a", "b", "~", "@", "="])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


def text(value: object) -> str:
    """JSON, in which 1 and true differ and the order of keys does not matter."""
    return json.dumps(value, sort_keys=True)


@given(VALUES, VALUES)
def test_a_change_leads_to_what_it_was_made_for(before: object, after: object) -> None:
    kept = text(before)
    step = json.loads(json.dumps(change(before, after)))  # As it travels.
    assert text(changed(before, step)) == text(after)
    assert text(before) == kept
    assert (step == {}) == (text(before) == text(after))


@given(st.lists(VALUES, max_size=30), VALUES)
def test_what_is_added_to_a_long_list_is_all_that_is_sent(
    items: list[object], more: object
) -> None:
    assert change({"x": items}, {"x": [*items, more]}) == {
        "~": {"x": {"<": len(items), ">": [more]}}
    }


def test_rows_of_a_list_change_in_themselves() -> None:
    before = {"forks": [{"name": "a", "tokens": [1, 2]}, {"name": "b", "tokens": [3]}]}
    after = {"forks": [{"name": "a", "tokens": [1, 2]}, {"name": "b", "tokens": [3, 4]}]}
    step = change(before, after)
    assert step == {"~": {"forks": {"@": {"1": {"~": {"tokens": {"<": 1, ">": [4]}}}}}}}
