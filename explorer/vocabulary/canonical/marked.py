"""An automaton over texts with marked cuts between words: it accepts exactly the correct cuts.

A splitter looks ahead before it cuts, so while a text is being generated its cuts are not yet
known. The automaton needs no lookahead: its input says of each character whether a word begins
there, and it rejects, sooner or later, cuts that are not the splitter's. So all ways to cut can be
followed at once, and only the correct one reaches the end.

It is made from one pattern (`explorer.vocabulary.canonical.matching`); from two rules, the second
of which cuts the words left by the first (`Marked.then`); and from a rule over characters as one
over their bytes (`Marked.over_bytes`), so that a token may end within a character. The bytes of a
character then lead through intermediate states. Beginnings of characters with the same
continuations share a state, which often covers nearly a whole script.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.vocabulary.canonical.determinized import (
    LOST,
    Bool,
    Int32,
    Int64,
    Rows,
    without_guesses,
)
from explorer.vocabulary.canonical.matching import PatternCuts
from explorer.vocabulary.canonical.patterns import NUM_CHARACTERS, Instruction, program

__all__ = ["LOST", "Bool", "Int32", "Marked", "UInt16"]

UInt16 = NDArray[np.uint16]
UInt64 = NDArray[np.uint64]

_CONTINUED: Final = 64
"""The number of continuation bytes of UTF-8."""

_FACTORS: Final = (
    np.random.default_rng(1).integers(1 << 62, size=_CONTINUED, dtype=np.uint64) * np.uint64(2)
    + np.uint64(1)
)  # fmt: skip


def byte_rows(spelled: Sequence[UInt16], table: Int32) -> tuple[Int32, int]:
    """Turn a table over classes of characters into one over bytes.

    Args:
        spelled: uint16[0x110000] each, the classes of characters: of those spelled by whole pieces,
            and possibly of those spelled by single-byte pieces. A class without a column is `LOST`.
        table: int32[2 * states, classes]; in the upper half a word begins.

    Returns:
        int32[2 * all states, 256 for each of ``spelled``], and the number of all states; the states
        of the given table come first.
    """
    rows, _ = table.shape
    # Two more classes: characters without a column, and invalid code points.
    led = np.concatenate([table, np.full((rows, 2), LOST, np.int32)], axis=1).astype(np.int64)
    states = _States(rows // 2)
    roots = [_one_spelling(class_of, led, states, k) for k, class_of in enumerate(spelled)]
    root = np.concatenate(roots, axis=1).astype(np.int32)
    n, count, width = rows // 2, states.count, NUM_BYTES * len(spelled)
    targets = np.full((2, count, width), LOST, np.int32)
    targets[0, :n], targets[1, :n] = root[:n], root[n:]
    for first, row, base in states.made:
        low = base * NUM_BYTES + 0x80
        targets[0, first : first + len(row), low : low + _CONTINUED] = row
    return targets.reshape(2 * count, width), count


class _States:
    """The states within characters, numbered after the states between characters."""

    def __init__(self, first: int) -> None:
        self.count = first
        self.made: list[tuple[int, Int64, int]] = []

    def of(self, rows: Int64, base: int) -> Int64:
        """The states with the given rows of 64 targets each; `LOST` for a row that is all lost."""
        shape = rows.shape[:-1]
        flat = rows.reshape(-1, _CONTINUED)
        value = ((flat + 2).astype(np.uint64) * _FACTORS).sum(axis=1)
        _, firsts, which = np.unique(value, return_index=True, return_inverse=True)
        distinct = flat[firsts]
        some = (distinct != LOST).any(axis=1)
        number = np.full(len(firsts), LOST, np.int64)
        number[some] = self.count + np.arange(int(some.sum()))
        self.made.append((self.count, distinct[some], base))
        self.count += int(some.sum())
        return number[which.reshape(-1)].reshape(shape)


def _one_spelling(class_of: UInt16, led: Int64, states: _States, base: int) -> Int64:
    """The targets of the first bytes of characters: int64[rows, 256]."""
    nothing = led.shape[1] - 1
    classes = class_of.astype(np.int64)
    classes[0xD800:0xE000] = nothing
    blocks = np.concatenate([classes.reshape(-1, _CONTINUED), np.full((1, _CONTINUED), nothing)])
    blocks, block_of = np.unique(blocks, axis=0, return_inverse=True)
    block_of = block_of.reshape(-1)
    none = int(block_of[-1])
    second = block_of[:-1].reshape(-1, _CONTINUED)
    # After E0 and F0, bytes that would make an overlong encoding are invalid.
    second = np.concatenate([second, np.full((1, _CONTINUED), none)])
    second[0, :32] = none
    second, second_of = np.unique(second, axis=0, return_inverse=True)
    second_of = second_of.reshape(-1)
    third = np.full(5 * _CONTINUED, second_of[-1])
    third[16 : len(second_of) - 1] = second_of[16:-1]
    third = third.reshape(5, _CONTINUED)
    root = np.full((len(led), NUM_BYTES), LOST, np.int64)
    root[:, :0x80] = led[:, classes[:0x80]]
    inner = states.of(led[:, blocks], base)
    root[:, 0xC2:0xE0] = inner[:, block_of[2:32]]
    inner = states.of(inner[:, second], base)
    root[:, 0xE0:0xF0] = inner[:, second_of[:16]]
    root[:, 0xF0:0xF5] = states.of(inner[:, third], base)
    return root


@dataclass(frozen=True, eq=False)
class Marked:
    """The automaton of correctly cut texts, made by `uncut` or `of_pattern`.

    Row s of the table, for s below `num_states`, is for a symbol that continues the current word;
    row ``s + num_states`` is for a symbol that begins a word in the same state. Symbols are
    characters or, after `over_bytes`, bytes; from 256 on they are bytes of single-byte pieces.

    Attributes:
        class_of: uint16[symbols], the class of each symbol.
        table: int32[2 * num_states, classes], the next state, or `LOST`.
        ends: bool[num_states], whether the text may end. State 0 is the start.
    """

    class_of: UInt16
    table: Int32
    ends: Bool

    @property
    def num_states(self) -> int:
        """The number of states, half the number of rows."""
        return len(self.ends)

    @cached_property
    def cuts(self) -> bool:
        """Whether a text is ever cut."""
        return bool((self.table[self.num_states :] != LOST).any())

    @cached_property
    def goes_on(self) -> Bool:
        """bool[num_states], whether the current word must continue, mostly within a character."""
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
        """The rule that cuts a text at the matches of a pattern.

        Args:
            pattern: In the syntax that `explorer.vocabulary.canonical.patterns` reads.
            component: The part of the tokenizer that holds it, for messages.
            behavior: The treatment of a match; one of
                `explorer.vocabulary.canonical.matching.BEHAVIORS`.
            invert: Whether matches and the text between them change roles.

        Raises:
            UnsupportedTokenizer: The pattern is not supported.

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
        """The rule of a parsed pattern; see `of_pattern`."""
        rule = PatternCuts(code, pattern, component, behavior, invert)
        return cls(rule.class_of, *without_guesses(rule.rows, rule.may_end, component))

    def then(self, inner: Marked, component: str) -> Marked:
        """This rule followed by another one, which cuts each of its words further.

        Args:
            inner: The other rule, over the same symbols.
            component: The part of the tokenizer that the other rule belongs to, for messages.

        Raises:
            UnsupportedTokenizer: The composition has too many states.

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
            covered: bool[0x110000], the characters that have a piece; the bytes of all others are
                spelled by single-byte pieces, which are symbols from 256 on. ``None`` if there are
                no such pieces.
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
        """Whether the rule cuts the concatenation of these words into exactly these words."""
        state = 0
        for number, word in enumerate(words):
            state += self.num_states * (number > 0)
            for symbol in word.encode() if len(self.class_of) <= 2 * NUM_BYTES else map(ord, word):
                state = int(self.table[state, self.class_of[symbol]])
                if state == LOST:
                    return False
        return state < self.num_states and bool(self.ends[state])


def _pairs(left: NDArray[np.int64], right: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Pairs of states as one number each, `LOST` if either is lost."""
    return np.where((left == LOST) | (right == LOST), LOST, left * width + right)
