"""Conditions on one array or object, tracked side by side while its letters are read.

A *leaf* is a conjunction of plain keyword mappings. Its state after the letters so far is a small
tuple, `DEAD` once it can no longer hold. A formula combines the leaves into a condition at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

State = tuple[object, ...]
DEAD: Final[State] = ("dead",)
OFF: Final[State] = ("off",)
"""The state of a leaf that no longer matters."""


class Leaf(Protocol):
    """A conjunction of plain keyword mappings, as a condition on a container."""

    def ends(self, state: State) -> bool:
        """Whether the condition holds if the container ends in a state."""
        ...

    def is_settled(self, state: State) -> bool:
        """Whether the condition holds whatever letters follow."""
        ...


@dataclass(frozen=True, slots=True)
class All:
    """The conjunction: every part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """The disjunction: some part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class No:
    """The negation: the part does not hold."""

    part: Formula


Formula = int | bool | All | Some | No
"""An int is the number of a leaf."""


def all_of(parts: Sequence[Formula]) -> Formula:
    """The simplified conjunction of some parts."""
    rest = [part for part in parts if part is not True]
    if any(part is False for part in rest):
        return False
    return All(tuple(rest)) if len(rest) > 1 else rest[0] if rest else True


def some_of(parts: Sequence[Formula]) -> Formula:
    """The simplified disjunction of some parts."""
    rest = [part for part in parts if part is not False]
    if any(part is True for part in rest):
        return True
    return Some(tuple(rest)) if len(rest) > 1 else rest[0] if rest else False


def none_of(part: Formula) -> Formula:
    """The simplified negation of a part."""
    return (not part) if isinstance(part, bool) else No(part)


def left(formula: Formula, leaves: Sequence[Leaf], states: Sequence[State]) -> Formula:
    """The formula with every decided leaf replaced by its value."""
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
    """Whether a formula holds if the container ends in these states."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, int):
        return states[formula] != DEAD and leaves[formula].ends(states[formula])
    if isinstance(formula, No):
        return not ends(formula.part, leaves, states)
    parts = (ends(part, leaves, states) for part in formula.parts)
    return all(parts) if isinstance(formula, All) else any(parts)


def named(formula: Formula) -> set[int]:
    """The numbers of the leaves in a formula."""
    if isinstance(formula, bool):
        return set()
    if isinstance(formula, int):
        return {formula}
    if isinstance(formula, No):
        return named(formula.part)
    return {leaf for part in formula.parts for leaf in named(part)}
