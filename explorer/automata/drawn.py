"""A small transducer for drawings, independent of the library that made it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DrawnTransducer:
    """A small transducer for drawings; state 0 is the start.

    Args:
        arcs: Rows ``(source, read, written, target)``; an empty text is ε.
    """

    num_states: int
    arcs: tuple[tuple[int, str, str, int], ...]
    accepting: frozenset[int]
