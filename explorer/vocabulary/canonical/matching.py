"""The cuts of a pattern, given the treatment of its matches, as a nondeterministic rule.

A state is what a backtracking matcher still has to consider, as positions in the program:

- *ways*: the threads of the current match, in order of preference. If a thread matches and the
  match continues, less preferred threads are dropped: only a preferred one may still win.
- *preferred*: threads of earlier matches that the splitter would have preferred to the chosen end.
  If one of them ever matches, the end was wrong.
- *kind*: whether this is a match, or a character outside all matches. It is known only at the end
  of a match but determines whether the text is cut at its beginning, so it is guessed.

Matches and the text between them are combined as in the library: each by itself (``Isolated``),
runs of one kind together (``Contiguous``), a match with the text before or after it
(``MergedWithPrevious``, ``MergedWithNext``), or matches dropped (``Removed``).

Source: leftmost-first matching by ordered sets of threads (Pike 1987; Cox 2010, "Regular Expression
Matching: the Virtual Machine Approach"); the marks, the guesses and the preferred ways are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.canonical.determinized import LOST, Int64, Rows
from explorer.vocabulary.canonical.patterns import (
    NUM_CHARACTERS,
    FirstOf,
    GoTo,
    Instruction,
    NotBefore,
    ReadOne,
    WordEnd,
)

UInt16 = NDArray[np.uint16]
Bool = NDArray[np.bool_]

BEHAVIORS: Final = ("Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext", "Removed")

_END: Final = -1
_START: Final = 0

State = tuple[tuple[int, ...], frozenset[int], bool]


class PatternCuts:
    """The rule that cuts a text at the matches of a pattern, given by `rows` and `may_end`.

    Args:
        pattern: The pattern, for messages.
        component: The part of the tokenizer that holds it, for messages.
        behavior: One of `BEHAVIORS`.
        invert: Whether matches and the text between them change roles.

    Attributes:
        class_of: uint16[0x110000], the class of each character.

    Raises:
        UnsupportedTokenizer: The pattern matches the empty text.
    """

    def __init__(
        self,
        code: Sequence[Instruction],
        pattern: str,
        component: str,
        behavior: str = "Isolated",
        invert: bool = False,
    ) -> None:
        self._behavior, self._invert = behavior, invert
        self.class_of, self._members = _classes(code)
        self.num_classes = int(self.class_of.max()) + 1
        self._code = code
        # The end of a character outside all matches, at an instruction of its own.
        self._gap = len(code)
        if self._leaves_out(pattern, component):
            shifted = [_shifted(step) for step in code]
            every = np.ones(NUM_CHARACTERS, np.bool_)
            self._code = [FirstOf(1, len(code) + 1), *shifted, ReadOne(every), WordEnd()]
            self._gap = len(self._code) - 1
            self._members = {place + 1: row for place, row in self._members.items()}
            self._members[self._gap - 1] = np.ones(self.num_classes, np.bool_)
        self._states: list[State] = [((), frozenset(), True)]
        self._numbers: dict[State, int] = {}

    def rows(self, state: int) -> Rows:
        """The targets of a state by class; see `Rows`."""
        both: list[list[list[int]]] = [[], []]
        for following in range(self.num_classes):
            ways = self._after(state, following)
            for begins in (0, 1):
                both[begins].append([number for number, begun in ways if begun == begins])
        return _columns(both[0]), _columns(both[1])

    def may_end(self, state: int) -> bool:
        """Whether the text may end in a state."""
        if state == _START:
            return True
        ways, preferred, kind = self._states[state]
        end = self._closure(ways, _END)[1]
        lost = self._closure(sorted(preferred), _END)[1]
        return end is not None and lost is None and self._is_match(end) == kind

    def _after(self, state: int, following: int) -> list[tuple[int, bool]]:
        """The states after one more character, each with whether the character begins a word."""
        if state == _START:
            return [(number, False) for _, number in self._begun(frozenset(), following)]
        ways, preferred, kind = self._states[state]
        reading, end = self._closure(ways, following)
        others, lost = self._closure(sorted(preferred), following)
        if lost is not None:
            return []
        reached: list[tuple[int, bool]] = []
        kept = tuple(self._read(reading, following))
        if kept and kind:
            after = frozenset(self._read(others, following))
            reached.append((self._number((kept, after, True)), False))
        if end is not None and self._is_match(end) == kind:
            after = frozenset(self._read([*others, *reading], following))
            reached += [(number, self._is_cut(kind, begun))
                      for begun, number in self._begun(after, following)]  # fmt: skip
        return reached

    def _begun(self, preferred: frozenset[int], following: int) -> list[tuple[bool, int]]:
        """The states at the beginning of a match or of a character outside matches, by kind."""
        reading, _ = self._closure((0,), following)
        kept = tuple(self._read(reading, following))
        kinds = (True, False) if self._gap < len(self._code) else (True,)
        return [(kind, self._number((kept, preferred, kind))) for kind in kinds
                if kept and not (self._behavior == "Removed" and kind != self._invert)]  # fmt: skip

    def _is_cut(self, before: bool, after: bool) -> bool:
        """Whether there is a cut between two neighbours, each a match or a character outside."""
        if not before and not after:
            return False
        before, after = before != self._invert, after != self._invert
        match self._behavior:
            case "Contiguous":
                return before != after
            case "MergedWithPrevious":
                return before or not after
            case "MergedWithNext":
                return after or not before
            case _:
                return True

    def _is_match(self, end: int) -> bool:
        return end != self._gap

    def _number(self, state: State) -> int:
        number = self._numbers.get(state)
        if number is None:
            number = self._numbers[state] = len(self._states)
            self._states.append(state)
        return number

    def _closure(self, places: Sequence[int], following: int) -> tuple[list[int], int | None]:
        """The instructions that read a character, most preferred first, up to the first match.

        Args:
            following: The class of the next character; `_END` at the end of the text.

        Returns:
            The instructions before the first match, and the one at which it ends, if there is one.
        """
        reading: list[int] = []
        seen: set[int] = set()
        stack = list(reversed(places))
        while stack:
            place = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            match self._code[place]:
                case ReadOne():
                    reading.append(place)
                case WordEnd():
                    return reading, place
                case FirstOf(first, second):
                    stack += (second, first)
                case GoTo(target):
                    stack.append(target)
                case NotBefore():
                    if following == _END or not self._members[place][following]:
                        stack.append(place + 1)
        return reading, None

    def _read(self, places: Sequence[int], following: int) -> list[int]:
        """The instructions after those that read the given character."""
        return list(dict.fromkeys(
            place + 1 for place in places if self._members[place][following]
        ))  # fmt: skip

    def _leaves_out(self, pattern: str, component: str) -> bool:
        """Whether some character may be outside all matches.

        Raises:
            UnsupportedTokenizer: The pattern matches the empty text.
        """
        leaves = False
        for first in range(self.num_classes):
            for following in (*range(self.num_classes), _END):
                reading, empty = self._closure((0,), first)
                after = self._read(reading, first)
                if empty is not None:
                    raise UnsupportedTokenizer(
                        component,
                        f"its pattern {pattern!r} matches the empty text, which is not followed "
                        f"here",
                        remedy="Leave out canonical(...) for this tokenizer.",
                    )
                leaves |= self._closure(after, following)[1] is None
        return leaves


def _columns(ways: Sequence[Sequence[int]]) -> Int64:
    """The targets by class as an array, int64[ways, classes], padded with `LOST`."""
    most = max(1, max(map(len, ways), default=1))
    columns = np.full((most, len(ways)), LOST, np.int64)
    for k, way in enumerate(ways):
        columns[: len(way), k] = way
    return columns


def _shifted(step: Instruction) -> Instruction:
    """An instruction with its targets moved on by one."""
    match step:
        case FirstOf(first, second):
            return FirstOf(first + 1, second + 1)
        case GoTo(target):
            return GoTo(target + 1)
        case _:
            return step


def _classes(code: Sequence[Instruction]) -> tuple[UInt16, dict[int, Bool]]:
    """The classes of characters, and the classes in the set of each instruction."""
    sets = {
        place: step.characters
        for place, step in enumerate(code)
        if isinstance(step, ReadOne | NotBefore)
    }
    class_of = np.zeros(NUM_CHARACTERS, np.int64)
    count = 1
    for characters in sets.values():
        split = 2 * class_of + characters
        present = np.bincount(split, minlength=2 * count) > 0
        class_of = (np.cumsum(present) - 1)[split]
        count = int(present.sum())
    first = np.zeros(count, np.int64)
    first[class_of[::-1]] = np.arange(NUM_CHARACTERS - 1, -1, -1)
    members = {place: characters[first] for place, characters in sets.items()}
    return class_of.astype(np.uint16), members
