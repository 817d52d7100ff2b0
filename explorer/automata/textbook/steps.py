"""Subsets, blocks and pairs: three constructions step by step, for small machines in drawings.

The fast constructions (`explorer.automata.construction`) compute the same machines and forget the
way. Here the sets, the blocks and the pairs are the result, in the order in which they are found.

*Subsets*: a deterministic state is the set of states that the nondeterministic machine could be in
(Rabin and Scott 1959). *Blocks*: at first only "may end here" and "may not" are told apart; then
two states stay together only if every symbol leads them to the same block (Moore 1956). *Pairs*: a
transducer composed with an acceptor, what the one writes the other reads; `composition` has
pynini's result, which is the same machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from explorer.automata.drawn import DrawnTransducer
from explorer.automata.machine import Nfa
from explorer.budget import Budget, Meter

LIMITS = Budget(states=2_000, seconds=5.0)
"""The limits of a construction; the number of sets can double with every state."""


@dataclass(frozen=True, slots=True)
class Subsets:
    """The sets of states that a nondeterministic machine can be in.

    Args:
        sets: Each set once, in the order of discovery; the first is that of the start.
        arcs: ``(source, low, high, target)``: after the set with the number ``source``, every
            symbol of ``low .. high`` gives the set ``target``.
    """

    sets: tuple[frozenset[int], ...]
    arcs: tuple[tuple[int, int, int, int], ...]
    accepting: frozenset[int]


def subsets_of(nfa: Nfa, meter: Meter | None = None) -> Subsets:
    """The subset construction: follow every symbol from every set of states, from the start on.

    Raises:
        BudgetExceeded: There are more sets than the budget allows.

    Example:
        >>> from explorer.languages.regex import parse
        >>> from explorer.automata.tree.layout import lay_out
        >>> subsets = subsets_of(lay_out(parse("a+|ab").root, Meter()))
        >>> [sorted(one) for one in subsets.sets]
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
    """The ε-closure of some states.

    Args:
        free: The ε-arcs, ``(source, target)``.

    Example:
        >>> sorted(closure(frozenset([0]), [(0, 2), (2, 3), (4, 5)]))
        [0, 2, 3]
    """
    reached, waiting = set(states), list(states)
    while waiting:
        here = waiting.pop()
        for source, target in free:
            if source == here and target not in reached:
                reached.add(target)
                waiting.append(target)
    return frozenset(reached)


Blocks = tuple[int, ...]
"""The number of each state's block."""


def rounds_of(machine: Subsets) -> tuple[Blocks, ...]:
    """The blocks of Moore's algorithm after each round, until a round changes nothing.

    Args:
        machine: A deterministic machine from `subsets_of`; from each of its states a text can end.

    Returns:
        The blocks at the beginning, and after each round that split one.

    Example:
        >>> from explorer.languages.regex import parse
        >>> from explorer.automata.textbook.steps import subsets_of
        >>> from explorer.automata.tree.layout import lay_out
        >>> from explorer.budget import Meter
        >>> rounds_of(subsets_of(lay_out(parse("(a|b)a*").root, Meter())))
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
    rounds = [blocks]
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
            return tuple(rounds)
        blocks = after
        rounds.append(blocks)


def _numbered(kinds: Sequence[object]) -> Blocks:
    """Number kinds in the order of their first occurrence."""
    number: dict[object, int] = {}
    return tuple(number.setdefault(kind, len(number)) for kind in kinds)


@dataclass(frozen=True, slots=True)
class FoundArc:
    """One arc of a product.

    Args:
        source, target: Pairs of states, by their numbers in `PairMachine.pairs`.
        byte: The byte that the transducer writes and the acceptor reads; empty for none.
        new: Whether the arc discovers its target.
    """

    source: int
    read: str
    byte: str
    target: int
    new: bool


@dataclass(frozen=True, slots=True)
class PairMachine:
    """The reachable product of a transducer and an acceptor.

    Args:
        pairs: ``(state of the transducer, state of the acceptor)``, in the order they are found.
        machine: The product as an acceptor of the transducer's input.
    """

    pairs: tuple[tuple[int, int], ...]
    arcs: tuple[FoundArc, ...]
    machine: DrawnTransducer


def pairs_of(transducer: DrawnTransducer, acceptor: DrawnTransducer) -> PairMachine:
    """The product of two machines, explored from the pair of their starts.

    Raises:
        BudgetExceeded: There are too many pairs.

    Example:
        >>> writes = DrawnTransducer(2, ((0, "ab", "a", 1), (1, "", "b", 0)), frozenset([0]))
        >>> reads = DrawnTransducer(3, ((0, "a", "a", 1), (1, "b", "b", 2)), frozenset([2]))
        >>> pairs_of(writes, reads).pairs
        ((0, 0), (1, 1), (0, 2))
    """
    meter = Meter(LIMITS)
    pairs = [(0, 0)]
    number = {(0, 0): 0}
    arcs: list[FoundArc] = []
    for source, (state, other) in enumerate(pairs):
        for _, read, written, after in (arc for arc in transducer.arcs if arc[0] == state):
            reached = [t for s, a, _, t in acceptor.arcs if s == other and a == written]
            for there in reached if written else [other]:
                pair = (after, there)
                new = pair not in number
                if new:
                    number[pair] = len(pairs)
                    pairs.append(pair)
                    meter.check("Pairs of two machines", states=len(pairs))
                arcs.append(FoundArc(source, read, written, number[pair], new))
    ends = frozenset(
        k for k, (a, b) in enumerate(pairs) if a in transducer.accepting and b in acceptor.accepting
    )
    rows = tuple((arc.source, arc.read, arc.read, arc.target) for arc in arcs)
    return PairMachine(tuple(pairs), tuple(arcs), DrawnTransducer(len(pairs), rows, ends))
