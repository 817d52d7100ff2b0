"""Texts with the cuts between words marked, as an automaton: it accepts exactly the right cuts.

A splitter reads ahead before it cuts, so while a text is being written it is not known yet where it
will be cut. The automaton here guesses nothing: whoever reads a text says of each character
whether a word begins with it, and learns, sooner or later, that the cuts were not the splitter's.
So all ways to cut can be followed at once, and only the right one reaches the end.

A state is what a backtracking matcher still has in mind, as the program's instructions:

- *ways*: for the present word, in order of preference. Where a way matches and the word goes on,
  the ways behind it are given up: only a preferred one may still win.
- *preferred*: ways of earlier words that the splitter would have taken rather than the cut that
  was made. If one of them ever matches, the cut was wrong.

Both are sets of places in a small program, so the states are few (GPT-2's pattern has dozens), and
characters that no set of the pattern tells apart are one class.

Source: leftmost-first matching by ordered sets of threads (Pike 1987; Cox 2010, "Regular Expression
Matching: the Virtual Machine Approach"); the marks and the preferred ways are ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.canonical.patterns import (
    NUM_CHARACTERS,
    FirstOf,
    GoTo,
    Instruction,
    NotBefore,
    ReadOne,
    WordEnd,
    program,
)

Int32 = NDArray[np.int32]
UInt16 = NDArray[np.uint16]
Bool = NDArray[np.bool_]

LOST: Final = -1
"""No state: the cuts are not the splitter's, or never will be."""

_END: Final = -1
_MOST_STATES: Final = 4096

State = tuple[tuple[int, ...], frozenset[int]]


@dataclass(frozen=True, eq=False)
class Marked:
    """The automaton of rightly cut texts. Made by `uncut` or `of_pattern`.

    State s, for s below `num_states`, reads a character that goes on with the present word; state
    ``s + num_states`` is the same one where the next character begins a word.

    Attributes:
        class_of: uint16[0x110000], the class of each character.
        table: int32[2 * num_states, classes], the next state; `LOST`.
        ends: bool[num_states], whether the text may end. State 0 is the start.
    """

    class_of: UInt16
    table: Int32
    ends: Bool

    @property
    def num_states(self) -> int:
        """How many states there are, begun words not counted apart."""
        return len(self.ends)

    @property
    def cuts(self) -> bool:
        """Whether a text is ever cut."""
        return bool((self.table[self.num_states :] != LOST).any())

    @classmethod
    def uncut(cls) -> Marked:
        """The rule that all text is one word."""
        table = np.array([[0], [LOST]], np.int32)
        return cls(np.zeros(NUM_CHARACTERS, np.uint16), table, np.ones(1, np.bool_))

    @classmethod
    def of_pattern(cls, pattern: str, component: str) -> Marked:
        """Words are the matches of a pattern, one after the other.

        Args:
            pattern: In the syntax that `explorer.vocabulary.canonical.patterns` reads.
            component: Where it stands in the tokenizer, for messages.

        Raises:
            UnsupportedTokenizer: The pattern is not followed here, or leaves text out of all words.

        Example:
            >>> marked = Marked.of_pattern(" ?[a-z]+|.".replace(".", "[^a-z]"), "a splitter")
            >>> marked.accepts(["hi", " you", "!"]), marked.accepts(["hi ", "you", "!"])
            (True, False)
        """
        code = program(pattern, component)
        class_of, members = _classes(code)
        matcher = _Matcher(code, members)
        matcher.check(pattern, component)
        return cls(class_of, *_table(matcher, component))

    def accepts(self, words: Sequence[str]) -> bool:
        """Whether these are the words of the text that they make together."""
        state = 0
        for number, word in enumerate(words):
            state += self.num_states * (number > 0)
            for character in word:
                state = int(self.table[state, self.class_of[ord(character)]])
                if state == LOST:
                    return False
        return state < self.num_states and bool(self.ends[state])


class _Matcher:
    """The program over classes of characters."""

    def __init__(self, code: Sequence[Instruction], members: dict[int, Bool]) -> None:
        self._code = code
        self._members = members
        self.num_classes = len(next(iter(members.values()), np.zeros(1, np.bool_)))

    def closure(self, places: Sequence[int], following: int) -> tuple[list[int], bool]:
        """The places that read a character, most preferred first, up to the first match.

        Args:
            places: Where to begin, most preferred first.
            following: The class of the next character; `_END` for none.

        Returns:
            The places before the first match, and whether there is a match.
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
                    return reading, True
                case FirstOf(first, second):
                    stack += (second, first)
                case GoTo(target):
                    stack.append(target)
                case NotBefore():
                    if following == _END or not self._members[place][following]:
                        stack.append(place + 1)
        return reading, False

    def read(self, places: Sequence[int], following: int) -> list[int]:
        """Where the places that read a character stand after it."""
        return [place + 1 for place in places if self._members[place][following]]

    def after(self, state: State, begins: bool, following: int) -> State | None:
        """The state after one more character."""
        ways, preferred = state
        reading, matched = self.closure(ways, following)
        others, lost = self.closure(sorted(preferred), following)
        if lost:
            return None
        if begins:
            if not matched:
                return None
            others = [*others, *reading]
            reading, _ = self.closure((0,), following)
        kept = tuple(dict.fromkeys(self.read(reading, following)))
        return (kept, frozenset(self.read(others, following))) if kept else None

    def may_end(self, state: State) -> bool:
        """Whether the text may end in a state."""
        ways, preferred = state
        return self.closure(ways, _END)[1] and not self.closure(sorted(preferred), _END)[1]

    def check(self, pattern: str, component: str) -> None:
        """Refuse a pattern that matches the empty text, or leaves a character out of all words."""
        for first in range(self.num_classes):
            for following in (*range(self.num_classes), _END):
                reading, empty = self.closure((0,), first)
                after = self.read(reading, first)
                if empty or not self.closure(after, following)[1]:
                    what = "matches the empty text" if empty else "leaves text out of all words"
                    raise UnsupportedTokenizer(
                        component,
                        f"its pattern {pattern!r} {what}, which is not followed here",
                        remedy="Leave out canonical(...) for this tokenizer.",
                    )


def _classes(code: Sequence[Instruction]) -> tuple[UInt16, dict[int, Bool]]:
    """The classes of characters, and for each instruction with a set those that are in it."""
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


def _table(matcher: _Matcher, component: str) -> tuple[Int32, Bool]:
    """All states, those from which no text ends rightly left out."""
    start: State = ((0,), frozenset())
    numbers: dict[State, int] = {start: 0}
    states: list[State] = [start]
    rows: list[list[list[int]]] = [[], []]
    queue: deque[State] = deque([start])
    while queue:
        state = queue.popleft()
        for begins in (False, True):
            row = [LOST] * matcher.num_classes
            for following in range(matcher.num_classes):
                # No word is empty, so none begins where the text does.
                if begins and state is start:
                    continue
                target = matcher.after(state, begins, following)
                if target is None:
                    continue
                if target not in numbers:
                    numbers[target] = len(states)
                    states.append(target)
                    queue.append(target)
                    if len(states) > _MOST_STATES:
                        raise UnsupportedTokenizer(
                            component,
                            f"its pattern needs more than {_MOST_STATES:,} states",
                            remedy="Leave out canonical(...) for this tokenizer.",
                        )
                row[following] = numbers[target]
            rows[begins].append(row)
    table = np.array(rows, np.int32)
    ends = np.array([state is start or matcher.may_end(state) for state in states])
    hopeful = ends.copy()
    while True:
        wider = hopeful | (hopeful[table] & (table >= 0)).any(axis=(0, 2))
        if (wider == hopeful).all():
            break
        hopeful = wider
    table[~hopeful[table] | (table < 0)] = LOST
    return table.reshape(-1, matcher.num_classes), ends
