"""A source that holds one part many times is refused before anything walks it."""

from __future__ import annotations

from typing import Any

import pytest

from explorer import choice, json_schema, literal, regex
from explorer.errors import ConstraintError
from explorer.languages.sources.algebra import MOST_PARTS


@pytest.mark.parametrize(
    "step",
    [
        lambda c: c + c,
        lambda c: c | c,
        lambda c: (c & c) | c,
        lambda c: c - c,
        lambda c: ~(c & c),
        lambda c: (c + c).star(),
    ],
)  # fmt: skip
def test_a_constraint_combined_with_itself_is_refused(step: Any) -> None:
    """Each step doubles what would be walked; forty of them would never end."""
    made = literal("a")
    with pytest.raises(ConstraintError, match="parts written out") as raised:
        for _ in range(40):
            made = step(made)
    assert raised.value.evidence["limit"] == MOST_PARTS


def test_a_part_that_stands_a_few_times_is_followed() -> None:
    """The limit is on what is written out, and says nothing about sharing itself."""
    made = literal("a")
    for _ in range(10):
        made = made + made
    assert made.accepts("a" * 1024)
    assert made.source.parts_written_out == 1025


def test_a_long_chain_is_no_deep_one() -> None:
    """A union of many is one level, and is counted once."""
    made = choice(["0"])
    for k in range(300):
        made = made | literal(str(k))
    assert made.accepts("299")


def test_data_that_is_shared_is_counted_before_it_is_written() -> None:
    """Twenty-five levels of one object in two places are 33 million values."""
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(25):
        schema = {"properties": {"a": schema, "b": schema}}
    with pytest.raises(ConstraintError, match=r"\$defs"):
        json_schema(schema)


def test_a_pattern_combined_with_itself_stays_what_it_is() -> None:
    """Sharing changes no language."""
    made = regex("a+")
    assert ((made & made) | (made & made)).equivalent(made)
