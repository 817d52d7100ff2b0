"""Minimization step by step, for small machines: states that no text tells apart become one.

`explorer.automata.construction.minimize` computes the same quotient fast. Here the rounds are the
result (Moore 1956): at first only "may end here" and "may not" are told apart; then two states stay
together only if every symbol leads them to the same block.
"""

from __future__ import annotations

from collections.abc import Sequence

from explorer.automata.textbook.subsets import Subsets

Blocks = tuple[int, ...]
"""The number of each state's block."""


def rounds_of(machine: Subsets) -> tuple[Blocks, ...]:
    """The blocks after each round, until a round changes nothing.

    Args:
        machine: A deterministic machine from `subsets_of`; from each of its states a text can end.

    Returns:
        The blocks at the beginning, and after each round that split one.

    Example:
        >>> from explorer.languages.regex import parse
        >>> from explorer.automata.textbook.subsets import subsets_of
        >>> from explorer.automata.tree.nfa.layout import lay_out
        >>> from explorer.budget import Meter
        >>> rounds_of(subsets_of(lay_out(parse("(a|b)a*").root, Meter()).nfa))
        ((0, 1, 1),)
    """
    states = range(len(machine.sets))
    cuts = sorted({low for _, low, _, _ in machine.arcs} | {h + 1 for *_, h, _ in machine.arcs})
    target = {
        (source, cut): there
        for source, low, high, there in machine.arcs
        for cut in cuts
        if low <= cut <= high
    }
    blocks = _numbered([k in machine.accepting for k in states])
    found = [blocks]
    while True:
        after = _numbered(
            [
                (
                    blocks[k],
                    *(blocks[target[k, cut]] if (k, cut) in target else -1 for cut in cuts),
                )
                for k in states
            ]
        )
        if after == blocks:
            return tuple(found)
        blocks = after
        found.append(blocks)


def _numbered(kinds: Sequence[object]) -> Blocks:
    """Numbers for kinds, in the order in which they come."""
    number: dict[object, int] = {}
    return tuple(number.setdefault(kind, len(number)) for kind in kinds)
