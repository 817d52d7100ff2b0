"""Texts with the cuts between words marked, as an automaton: it accepts exactly the right cuts.

A splitter reads ahead before it cuts, so while a text is being written it is not known yet where it
will be cut. The automaton here guesses nothing: whoever reads a text says of each character
whether a word begins with it, and learns, sooner or later, that the cuts were not the splitter's.
So all ways to cut can be followed at once, and only the right one reaches the end.

It is made of one pattern (`explorer.vocabulary.canonical.matching`); of two rules, the second of
which cuts what the first one left (`Marked.then`); and of a rule for characters as one for their
bytes (`Marked.over_bytes`), so that a token may end within a character.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.vocabulary.canonical.determinized import LOST, Bool, Int32, Rows, without_guesses
from explorer.vocabulary.canonical.in_bytes import byte_rows
from explorer.vocabulary.canonical.matching import PatternCuts
from explorer.vocabulary.canonical.patterns import NUM_CHARACTERS, Instruction, program

UInt16 = NDArray[np.uint16]

__all__ = ["LOST", "Bool", "Int32", "Marked", "UInt16"]


@dataclass(frozen=True, eq=False)
class Marked:
    """The automaton of rightly cut texts. Made by `uncut` or `of_pattern`.

    State s, for s below `num_states`, reads a symbol that goes on with the present word; state
    ``s + num_states`` is the same one where the next symbol begins a word. Symbols are characters;
    or, after `over_bytes`, bytes, and from 256 on bytes of pieces that are one byte each.

    Attributes:
        class_of: uint16[symbols], the class of each symbol.
        table: int32[2 * num_states, classes], the next state; `LOST`.
        ends: bool[num_states], whether the text may end. State 0 is the start.
    """

    class_of: UInt16
    table: Int32
    ends: Bool

    @property
    def num_states(self) -> int:
        """The number of states, begun words not counted apart."""
        return len(self.ends)

    @cached_property
    def cuts(self) -> bool:
        """Whether a text is ever cut."""
        return bool((self.table[self.num_states :] != LOST).any())

    @cached_property
    def goes_on(self) -> Bool:
        """bool[num_states], where the present word has to go on: within a character, mostly."""
        return ~self.ends & (self.table[self.num_states :] == LOST).all(axis=1)

    @classmethod
    def uncut(cls) -> Marked:
        """The rule that all text is one word."""
        table = np.array([[0], [LOST]], np.int32)
        return cls(np.zeros(NUM_CHARACTERS, np.uint16), table, np.ones(1, np.bool_))

    @classmethod
    def of_pattern(
        cls, pattern: str, component: str, behavior: str = "Isolated", *, invert: bool = False
    ) -> Marked:
        """A text is cut at the matches of a pattern.

        Args:
            pattern: In the syntax that `explorer.vocabulary.canonical.patterns` reads.
            component: Where it stands in the tokenizer, for messages.
            behavior: What becomes of a match; one of
                `explorer.vocabulary.canonical.matching.BEHAVIORS`.
            invert: Whether matches and what is between them change places.

        Raises:
            UnsupportedTokenizer: The pattern is not followed here.

        Example:
            >>> marked = Marked.of_pattern(" ?[a-z]+|.".replace(".", "[^a-z]"), "a splitter")
            >>> marked.accepts(["hi", " you", "!"]), marked.accepts(["hi ", "you", "!"])
            (True, False)
            >>> Marked.of_pattern("[0-9]", "digits", "MergedWithNext").accepts(["ab", "1c", "2"])
            True
        """
        code = program(pattern, component)
        return cls.of_program(code, pattern, component, behavior, invert=invert)

    @classmethod
    def of_program(
        cls,
        code: Sequence[Instruction],
        pattern: str,
        component: str,
        behavior: str = "Isolated",
        *,
        invert: bool = False,
    ) -> Marked:
        """`of_pattern` of a pattern that was read."""
        rule = PatternCuts(code, pattern, component, behavior, invert)
        return cls(rule.class_of, *without_guesses(rule.rows, rule.may_end, component))

    def then(self, inner: Marked, component: str) -> Marked:
        """This rule, and another one that cuts each word that this one leaves.

        Args:
            inner: The other rule, over the same symbols.
            component: What the second rule belongs to, for messages.

        Raises:
            UnsupportedTokenizer: The two together have too many states.

        Example:
            >>> marked = Marked.of_pattern("[0-9]", "digits")
            >>> marked = marked.then(Marked.of_pattern(" ?[^ ]+|[ ]", "words"), "words")
            >>> marked.accepts(["a", " b", "1", "2", "c"]), marked.accepts(["a", " b", "12", "c"])
            (True, False)
        """
        if not inner.cuts and (inner.table[: inner.num_states] != LOST).all() and inner.ends.all():
            return self
        joined = self.class_of.astype(np.int64) * inner.table.shape[1] + inner.class_of
        values, class_of = np.unique(joined, return_inverse=True)
        outer_of, inner_of = values // inner.table.shape[1], values % inner.table.shape[1]
        outer_rows = self.table[:, outer_of].astype(np.int64)
        inner_rows = inner.table[:, inner_of].astype(np.int64)
        n, m = self.num_states, inner.num_states

        def rows(pair: int) -> Rows:
            left, right = divmod(pair, m)
            goes_on = _pairs(outer_rows[left], inner_rows[right], m)
            begun_inside = _pairs(outer_rows[left], inner_rows[right + m], m)
            begun = [begun_inside]
            if inner.ends[right]:
                begun.append(_pairs(outer_rows[left + n], inner_rows[0], m))
            return goes_on[None], np.stack(begun)

        def may_end(pair: int) -> bool:
            return bool(self.ends[pair // m] and inner.ends[pair % m])

        return Marked(class_of.astype(np.uint16), *without_guesses(rows, may_end, component))

    def over_bytes(self, covered: Bool | None = None) -> Marked:
        """The rule over the bytes of UTF-8.

        Args:
            covered: bool[0x110000], the characters that have a piece, where others are written
                byte by byte with pieces of one byte each: those are symbols from 256 on. ``None``
                where there are no such pieces.
        """
        spelled = [self.class_of]
        if covered is not None:
            class_of = self.class_of.copy()
            class_of[covered] = self.table.shape[1]
            spelled.append(class_of)
        table, num_states = byte_rows(spelled, self.table)
        ends = np.zeros(num_states, np.bool_)
        ends[: self.num_states] = self.ends
        columns, class_of = np.unique(table, axis=1, return_inverse=True)
        return Marked(class_of.reshape(-1).astype(np.uint16), np.ascontiguousarray(columns), ends)

    def accepts(self, words: Sequence[str]) -> bool:
        """Whether these are the words of the text that they make together."""
        state = 0
        for number, word in enumerate(words):
            state += self.num_states * (number > 0)
            for symbol in word.encode() if len(self.class_of) <= 2 * NUM_BYTES else map(ord, word):
                state = int(self.table[state, self.class_of[symbol]])
                if state == LOST:
                    return False
        return state < self.num_states and bool(self.ends[state])


def _pairs(left: NDArray[np.int64], right: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Pairs of states as one number, `LOST` where one of them is none."""
    return np.where((left == LOST) | (right == LOST), LOST, left * width + right)
