"""The subset construction step by step, for small machines: what the sets are, and in which order.

`explorer.automata.construction.subset` computes the same machine fast and forgets the sets. Here
they are the result: a deterministic state *is* the set of states that the nondeterministic machine
could be in (Rabin and Scott 1959). So that each step can be shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from explorer.automata.machine import Nfa
from explorer.budget import Budget, Meter

LIMITS = Budget(states=2_000, seconds=5.0)
"""For a machine that is looked at; the number of sets can double with every state."""


@dataclass(frozen=True, slots=True)
class Subsets:
    """The sets of states that a nondeterministic machine can be in.

    Args:
        sets: Each once, in the order in which they are found; the first is that of the start.
        arcs: ``(source, low, high, target)``: from the set with the number ``source`` every symbol
            of ``low .. high`` leads to the set ``target``.
        accepting: The sets with an accepting state among them.
    """

    sets: tuple[frozenset[int], ...]
    arcs: tuple[tuple[int, int, int, int], ...]
    accepting: frozenset[int]


def subsets_of(nfa: Nfa, meter: Meter | None = None) -> Subsets:
    """Follow every symbol from every set of states, beginning with the start.

    Args:
        nfa: A small machine.
        meter: Watches the number of sets; default `LIMITS`.

    Raises:
        BudgetExceeded: There are more sets.

    Example:
        >>> from explorer.languages.regex import parse
        >>> from explorer.automata.tree.nfa.layout import lay_out
        >>> found = subsets_of(lay_out(parse("a+|ab").root, Meter()).nfa)
        >>> [sorted(one) for one in found.sets]
        [[0, 2], [1, 2, 3, 4], [1, 2, 3], [1]]
    """
    meter = meter or Meter(LIMITS)
    rows = [tuple(row) for row in nfa.arcs.tolist()]
    free = [tuple(row) for row in nfa.epsilons.tolist()]
    cuts = sorted({0, nfa.num_symbols} | {a for _, a, _, _ in rows} | {b + 1 for *_, b, _ in rows})
    sets = [closure(frozenset([nfa.start]), free)]
    number = {sets[0]: 0}
    arcs: list[tuple[int, int, int, int]] = []
    for source, here in enumerate(sets):
        for low, after in pairwise(cuts):
            reached = frozenset(t for s, a, b, t in rows if s in here and a <= low <= b)
            if not reached:
                continue
            there = closure(reached, free)
            if there not in number:
                number[there] = len(sets)
                sets.append(there)
                meter.check("Subsets of a machine", states=len(sets))
            arcs.append((source, low, after - 1, number[there]))
    ends = frozenset(nfa.accepting.tolist())
    return Subsets(
        tuple(sets), tuple(arcs), frozenset(k for k, one in enumerate(sets) if one & ends)
    )


def closure(states: frozenset[int], free: list[tuple[int, ...]]) -> frozenset[int]:
    """Some states, and those that arcs that read nothing lead to from them.

    Args:
        states: Some states.
        free: The arcs that read nothing, ``(source, target)``.

    Example:
        >>> sorted(closure(frozenset([0]), [(0, 2), (2, 3), (4, 5)]))
        [0, 2, 3]
    """
    found, waiting = set(states), list(states)
    while waiting:
        here = waiting.pop()
        for source, target in free:
            if source == here and target not in found:
                found.add(target)
                waiting.append(target)
    return frozenset(found)
