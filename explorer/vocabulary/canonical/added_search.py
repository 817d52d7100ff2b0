"""An automaton that checks that a tokenizer would find exactly the given added tokens in a text.

Before anything else a tokenizer cuts a text at its added tokens: the earliest first, and of those
that begin together the longest. Tokens that are not normalized are searched for in the text as
written, the others in the parts between them. So a text is cut correctly if no added token was
overlooked: a search from each byte of ordinary text must fail, and so must the search for a longer
token that starts with a token found.

A state is the set of pending searches, as nodes of two prefix trees, one for each pass. Ordinary
text begins a search at each of its bytes. An added token begins none inside itself; one that is not
normalized ends the searches of the second pass, which never look past it.
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
"""The bytes read so far by each pending search of the first and the second pass."""


@dataclass(frozen=True)
class AddedText:
    """An added token that is text.

    Args:
        early: Whether it is searched for in the text as written, in the first pass.
    """

    token: int
    content: bytes
    early: bool


@dataclass(frozen=True, eq=False)
class AddedSearch:
    """The automaton, made by `of`; state 0 is the start of a text.

    Attributes:
        class_of: uint8[256], the class of each byte.
        table: int32[states, classes], the state after a byte of ordinary text; `LOST` if an
            overlooked token ends there.
        anew: int32[entries], the state after a token if no search continues into it; `LOST` if
            another token should have been found.
        instead: For each state, the states after the tokens into which a search continues.
    """

    entries: tuple[AddedText, ...]
    class_of: NDArray[np.uint8]
    table: Int32
    anew: Int32
    instead: Sequence[Mapping[int, int]]

    def took(self, state: int) -> Int32:
        """int32[entries], the state after each token is found at a state; `LOST` if none."""
        row = self.anew.copy()
        row[list(self.instead[state])] = list(self.instead[state].values())
        return row

    @classmethod
    def of(cls, entries: Sequence[AddedText]) -> AddedSearch:
        """The automaton of some tokens.

        Args:
            entries: The tokens; none is empty, and those of one pass are distinct.

        Raises:
            UnsupportedTokenizer: The automaton would have too many states.

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
            # No token holds a byte of class 0: it ends every search.
            table.append([0, *row])
            if not instead:
                anew = [number(_took(trees, state, entry)) for entry in entries]
            # If no search continues with a token's first byte, the token leads where it does from
            # the start.
            going_on = trees[0].going_on(state[0]) | trees[1].going_on(state[1])
            instead.append({
                k: number(_took(trees, state, entries[k]))
                for byte in going_on for k in by_first.get(byte, ())
            })  # fmt: skip
        return cls(
            tuple(entries), class_of, np.array(table, np.int32), np.array(anew, np.int32), instead
        )

    def read(self, parts: Sequence[bytes | int]) -> bool:
        """Whether a text is correctly cut into ordinary text and added tokens.

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
    """The prefix tree of the tokens of one pass."""

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
        """The pending searches after some bytes.

        Args:
            begins: Whether a new search begins at each byte.

        Returns:
            ``None`` if a search found a token.
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
        """The bytes with which some search continues."""
        return {byte for one in searches for byte in self.next.get(one, ())}

    def longer(self, content: bytes) -> frozenset[bytes]:
        """The pending search for a longer token that starts with the one found."""
        return frozenset([content]) & self.inner


def _passed(trees: Sequence[_SearchTree], state: _Searches, text: bytes) -> _Searches | None:
    """The pending searches after bytes of ordinary text; ``None`` if a token was overlooked."""
    early = trees[0].read(state[0], text, begins=True)
    late = trees[1].read(state[1], text, begins=True)
    return None if early is None or late is None else (early, late)


def _took(trees: Sequence[_SearchTree], state: _Searches, entry: AddedText) -> _Searches | None:
    """The pending searches after an added token; ``None`` if another was overlooked."""
    early = trees[0].read(state[0], entry.content, begins=not entry.early)
    if early is None:
        return None
    if entry.early:
        return early | trees[0].longer(entry.content), frozenset()
    late = trees[1].read(state[1], entry.content, begins=False)
    return None if late is None else (early, late | trees[1].longer(entry.content))
