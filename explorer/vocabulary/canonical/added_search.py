"""Added tokens that are text, as an automaton: where a tokenizer would have found one.

Before anything else a tokenizer cuts a text at its added tokens: of those that begin first, the
longest. Those that are not normalized are searched for in the text as it is written, the others in
what is left between them. So a text was rightly cut if no added token stands where it was passed
by: each place that was not cut is a search that must fail, and so is each longer token that begins
as one that was taken.

A state is the searches that are still going on, as places in two prefix trees, one for each pass.
An ordinary piece of text begins a search at each of its bytes. An added token begins none inside
itself; one that is not normalized ends those of the second pass, which never look past it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.canonical.marked import LOST, Int32

_MOST_STATES: Final = 16_384

_Searches = tuple[frozenset[bytes], frozenset[bytes]]
"""What each search of the two passes has read so far."""


@dataclass(frozen=True)
class AddedText:
    """An added token that is text.

    Args:
        early: Whether it is searched for in the text as it is written.
    """

    token: int
    content: bytes
    early: bool


@dataclass(frozen=True, eq=False)
class AddedSearch:
    """The automaton. Made by `of`; state 0 is the start of a text.

    Attributes:
        entries: The tokens.
        class_of: uint8[256], the class of each byte.
        table: int32[states, classes], after a byte of ordinary text; `LOST` where a token ends that
            should have been taken.
        anew: int32[entries], after a token that is taken where no search goes on; `LOST` where
            another one should have been.
        instead: For each state, where it leads after the tokens with which a search goes on.
    """

    entries: tuple[AddedText, ...]
    class_of: NDArray[np.uint8]
    table: Int32
    anew: Int32
    instead: Sequence[Mapping[int, int]]

    def took(self, state: int) -> Int32:
        """int32[entries], after each token that is taken in a state; `LOST`."""
        row = self.anew.copy()
        row[list(self.instead[state])] = list(self.instead[state].values())
        return row

    @classmethod
    def of(cls, entries: Sequence[AddedText]) -> AddedSearch:
        """The automaton of some tokens.

        Args:
            entries: The tokens; none is empty, and no two of one pass are the same.

        Raises:
            UnsupportedTokenizer: It would have too many states.

        Example:
            >>> search = AddedSearch.of([AddedText(7, b"  ", False), AddedText(8, b"   ", False)])
            >>> [search.read([b"a ", 7]), search.read([7, b" "]), search.read([8, b" a", 7])]
            [False, False, True]
        """
        used = sorted({byte for entry in entries for byte in entry.content})
        class_of = np.zeros(NUM_BYTES, np.uint8)
        class_of[used] = 1 + np.arange(len(used))
        trees = [
            _SearchTree([e.content for e in entries if e.early is early]) for early in (True, False)
        ]
        start: _Searches = frozenset(), frozenset()
        numbers = {start: 0}
        waiting = [start]
        table: list[list[int]] = []
        instead: list[dict[int, int]] = []
        anew: list[int] = []
        by_first: dict[int, list[int]] = {}
        for k, entry in enumerate(entries):
            by_first.setdefault(entry.content[0], []).append(k)

        def number(state: _Searches | None) -> int:
            if state is None:
                return LOST
            if state not in numbers:
                numbers[state] = len(waiting)
                waiting.append(state)
                if len(waiting) > _MOST_STATES:
                    raise UnsupportedTokenizer(
                        "added_tokens",
                        f"searching for them needs more than {_MOST_STATES:,} states",
                        remedy="Leave out canonical(...) for this tokenizer.",
                    )
            return numbers[state]

        for state in waiting:
            row = [number(_passed(trees, state, bytes((byte,)))) for byte in used]
            # No content has a byte of the class 0: every search ends there.
            table.append([0, *row])
            if not instead:
                anew = [number(_took(trees, state, entry)) for entry in entries]
            # Where no search goes on with its first byte, a token is taken as at the start.
            going_on = trees[0].going_on(state[0]) | trees[1].going_on(state[1])
            instead.append({
                k: number(_took(trees, state, entries[k]))
                for byte in going_on for k in by_first.get(byte, ())
            })  # fmt: skip
        return cls(
            tuple(entries), class_of, np.array(table, np.int32), np.array(anew, np.int32), instead
        )

    def read(self, parts: Sequence[bytes | int]) -> bool:
        """Whether a text is rightly cut into ordinary text and added tokens.

        Args:
            parts: Bytes for ordinary text, ids for added tokens.
        """
        state = 0
        place = {entry.token: k for k, entry in enumerate(self.entries)}
        for part in parts:
            if isinstance(part, int):
                state = int(self.took(state)[place[part]])
            for byte in part if isinstance(part, bytes) else b"":
                state = int(self.table[state, self.class_of[byte]]) if state != LOST else LOST
            if state == LOST:
                return False
        return True


class _SearchTree:
    """The contents of one pass, as a prefix tree."""

    def __init__(self, contents: Sequence[bytes]) -> None:
        self.contents = frozenset(contents)
        self.inner = frozenset(one[:k] for one in contents for k in range(len(one)))
        self.next: dict[bytes, set[int]] = {}
        for one in contents:
            for k, byte in enumerate(one):
                self.next.setdefault(one[:k], set()).add(byte)

    def read(
        self, searches: frozenset[bytes], text: bytes, *, begins: bool
    ) -> frozenset[bytes] | None:
        """The searches after some bytes, with one more at each of them if any begin there.

        Returns:
            ``None`` if one of them found a token.
        """
        for byte in text:
            following = {one + bytes((byte,)) for one in searches}
            if begins:
                following.add(bytes((byte,)))
            if following & self.contents:
                return None
            searches = frozenset(following & self.inner)
        return searches

    def going_on(self, searches: frozenset[bytes]) -> set[int]:
        """The bytes with which some search goes on."""
        return {byte for one in searches for byte in self.next.get(one, ())}

    def longer(self, content: bytes) -> frozenset[bytes]:
        """The search for a longer token after one that was taken."""
        return frozenset([content]) & self.inner


def _passed(trees: Sequence[_SearchTree], state: _Searches, text: bytes) -> _Searches | None:
    """After bytes of ordinary text."""
    early = trees[0].read(state[0], text, begins=True)
    late = trees[1].read(state[1], text, begins=True)
    return None if early is None or late is None else (early, late)


def _took(trees: Sequence[_SearchTree], state: _Searches, entry: AddedText) -> _Searches | None:
    """After an added token."""
    early = trees[0].read(state[0], entry.content, begins=not entry.early)
    if early is None:
        return None
    if entry.early:
        return early | trees[0].longer(entry.content), frozenset()
    late = trees[1].read(state[1], entry.content, begins=False)
    return None if late is None else (early, late | trees[1].longer(entry.content))
