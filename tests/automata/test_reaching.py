"""Searches over arcs against sets that grow by one step at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from explorer.automata.construction.minimize import by_head, by_target, steps_from


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[int]], list[bool], list[bool], list[bool]]:
    """A table, and which of its states and classes count and where to begin."""
    states, classes = draw(st.integers(0, 7)), draw(st.integers(1, 4))
    rows = st.lists(st.integers(-1, states - 1), min_size=classes, max_size=classes)
    chosen = st.lists(st.booleans(), min_size=states, max_size=states)
    table = draw(st.lists(rows, min_size=states, max_size=states))
    usable = draw(st.lists(st.booleans(), min_size=classes, max_size=classes))
    return table, draw(chosen), usable, draw(chosen)


def steps_by_sets(arcs: list[tuple[int, int]], begin: list[bool]) -> list[int]:
    """The same by growing a set: against the arcs, one more step in each round."""
    found = [int(one) for one in begin]
    for step in range(1, len(begin) + 1):
        at_hand = {s for s, steps in enumerate(found) if steps == step}
        for tail in {tail for tail, head in arcs if head in at_hand}:
            found[tail] = found[tail] or step + 1
    return found


@given(tables())
def test_ways_back_through_a_table(
    drawn: tuple[list[list[int]], list[bool], list[bool], list[bool]],
) -> None:
    table, rows, columns, begin = drawn
    array = np.array(table, np.int32).reshape(len(table), len(columns))
    arcs = [
        (s, target)
        for s, row in enumerate(table)
        for c, target in enumerate(row)
        if rows[s] and columns[c] and target >= 0
    ]
    tails, heads = (np.array([arc[k] for arc in arcs], np.int32) for k in (0, 1))
    expected = steps_by_sets(arcs, begin)
    for offset, source in (
        by_target(array, np.array(rows, np.bool_), np.array(columns, np.bool_)),
        by_head(tails, heads, len(table)),
    ):
        assert steps_from(offset, source, np.array(begin, np.bool_)).tolist() == expected
        into = [sorted(source[offset[s] : offset[s + 1]].tolist()) for s in range(len(table))]
        assert into == [sorted(t for t, h in arcs if h == s) for s in range(len(table))]
