"""Conditions on one array or object, tracked side by side while its letters are read.

A *leaf* is a conjunction of plain keyword mappings; what it remembers of the letters so far is a
small tuple, `DEAD` once it cannot hold any more. A formula says which leaves must hold at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

State = tuple[object, ...]
DEAD: Final[State] = ("dead",)
OFF: Final[State] = ("off",)
"""Of a leaf that no longer matters."""


class Leaf(Protocol):
    """A conjunction of plain keyword mappings, as a condition on a container."""

    def ends(self, state: State) -> bool:
        """Whether it holds if the container ends here."""
        ...

    def is_settled(self, state: State) -> bool:
        """Whether it holds whatever comes."""
        ...


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """A part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class No:
    """The part does not hold."""

    part: Formula


Formula = int | bool | All | Some | No
"""An int is the number of a leaf."""


def all_of(parts: Sequence[Formula]) -> Formula:
    """Every part, as simple as can be."""
    rest = [part for part in parts if part is not True]
    if any(part is False for part in rest):
        return False
    return All(tuple(rest)) if len(rest) > 1 else rest[0] if rest else True


def some_of(parts: Sequence[Formula]) -> Formula:
    """Some part, as simple as can be."""
    rest = [part for part in parts if part is not False]
    if any(part is True for part in rest):
        return True
    return Some(tuple(rest)) if len(rest) > 1 else rest[0] if rest else False


def none_of(part: Formula) -> Formula:
    """Not the part."""
    return (not part) if isinstance(part, bool) else No(part)


def left(formula: Formula, leaves: Sequence[Leaf], states: Sequence[State]) -> Formula:
    """The rest of a formula: leaves that are decided are constants."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, int):
        state = states[formula]
        if state == DEAD:
            return False
        return True if leaves[formula].is_settled(state) else formula
    if isinstance(formula, No):
        return none_of(left(formula.part, leaves, states))
    parts = [left(part, leaves, states) for part in formula.parts]
    return all_of(parts) if isinstance(formula, All) else some_of(parts)


def ends(formula: Formula, leaves: Sequence[Leaf], states: Sequence[State]) -> bool:
    """Whether a formula holds if the container ends here."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, int):
        return states[formula] != DEAD and leaves[formula].ends(states[formula])
    if isinstance(formula, No):
        return not ends(formula.part, leaves, states)
    parts = (ends(part, leaves, states) for part in formula.parts)
    return all(parts) if isinstance(formula, All) else any(parts)


def named(formula: Formula) -> set[int]:
    """The leaves of a formula."""
    if isinstance(formula, bool):
        return set()
    if isinstance(formula, int):
        return {formula}
    if isinstance(formula, No):
        return named(formula.part)
    return {leaf for part in formula.parts for leaf in named(part)}
