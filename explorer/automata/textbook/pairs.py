"""The product construction pair by pair: a transducer composed with an acceptor.

The definition of composition, for machines that are looked at. A state of the result is a pair: a
state of the transducer, and a state of the acceptor. What the transducer writes, the acceptor
reads. `explorer.automata.textbook.stages` has pynini's result, which is the same machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.automata.drawn import DrawnTransducer
from explorer.budget import Budget, Meter

LIMITS = Budget(states=2_000, seconds=5.0)
"""For a machine that is looked at."""


@dataclass(frozen=True, slots=True)
class FoundArc:
    """One arc of a product.

    Args:
        source, target: Pairs of states, by their numbers in `PairMachine.pairs`.
        read: What the transducer reads; empty for ε.
        byte: What it writes and the acceptor reads; empty if it writes nothing.
        new: Whether the target was not known before.
    """

    source: int
    read: str
    byte: str
    target: int
    new: bool


@dataclass(frozen=True, slots=True)
class PairMachine:
    """The product of a transducer and an acceptor, as far as the start leads.

    Args:
        pairs: ``(state of the transducer, state of the acceptor)``, in the order they are found.
        arcs: In the order they are found.
        machine: The same as an acceptor of what the transducer reads.
    """

    pairs: tuple[tuple[int, int], ...]
    arcs: tuple[FoundArc, ...]
    machine: DrawnTransducer


def pairs_of(transducer: DrawnTransducer, acceptor: DrawnTransducer) -> PairMachine:
    """Follow both machines from the pair of their starts.

    Args:
        transducer: Its arcs write one letter, or nothing.
        acceptor: Its arcs read one letter; none reads nothing.

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
