"""A set of words as a tree of arcs: words that begin alike share their beginning."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from explorer.automata.tree.nfa.foreseen import STAGE
from explorer.automata.tree.utf8 import Arc
from explorer.budget import Meter


def prefix_tree(
    words: Sequence[bytes], source: int, target: int, fresh: Callable[[], int], meter: Meter
) -> tuple[list[Arc], list[tuple[int, int]], list[int]]:
    """A prefix tree between two states.

    Args:
        words: Distinct, in byte order, so that a word which others go on from comes before them.
        source, target: The states.
        fresh: Makes a new state.
        meter: Watches the time.

    Returns:
        The arcs; for each of them the number of a word and how many of its bytes stand before the
        arc; and the states besides the target in which a word ends, ascending.
    """
    arcs: list[Arc] = []
    befores: list[tuple[int, int]] = []
    ends: set[int] = set()
    states: dict[tuple[int, int], int] = {}
    for k, word in enumerate(words):
        if k % 4096 == 0:
            meter.check_time(STAGE)
        goes_on = k + 1 < len(words) and words[k + 1].startswith(word)
        here = source
        for at, byte in enumerate(word):
            there = states.get((here, byte))
            if there is None:
                last = at + 1 == len(word) and not goes_on
                there = target if last else fresh()
                if not last:
                    states[here, byte] = there
                arcs.append((here, byte, byte, there))
                befores.append((k, at))
            here = there
        if goes_on or not word:
            ends.add(here)
    return arcs, befores, sorted(ends)
