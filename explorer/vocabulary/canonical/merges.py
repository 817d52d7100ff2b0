"""Byte-pair encoding as a relation between neighbours.

A sequence of tokens within one word is canonical exactly if every token by itself and every two
neighbours are. So nothing longer than two tokens is ever examined.

Two neighbours t·u are canonical unless some merge crosses their boundary while the symbols at the
boundary exist. Those symbols are known: to the left the *right spine* of t (t, its right part, the
right part of that …), to the right the *left spine* of u. A symbol x exists from the merge that
makes it to the merge that consumes it. With r the rank of the merge (x, y), this merge happens at
``max(r, made(x), made(y))``, and it crosses exactly if x is consumed later than that and y not
earlier: of equal ranks the leftmost merge comes first.

All tokens with y on their left spine, consumed no earlier than r, form an interval if the tokens
are ordered by a depth-first walk of the forest "left part of" with the latest children first. So
the tokens that may not follow t are a union of intervals, one for each merge whose left part is on
t's right spine: some tenths of a millisecond for all 131,072 tokens.

The intervals require that a token's own merges come in the order of their ranks. Some tables have
tokens whose merges do not (a later merge enables an earlier one, as in Yi's). The relation between
neighbours still holds: until a merge crosses, the merges of two parts of a word interleave, each
part in its own order, whatever else the word holds. So a pair with such a token is checked by
itself: if any merge joins their spines, the two are encoded together.

Source: Cognetta et al. 2025 on canonical tokenization as a filter; the pair criterion is known from
incremental BPE encoders. The proof is by the order of merges; the tests compare it with encoders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.jit import jit

Int32 = NDArray[np.int32]
Bool = NDArray[np.bool_]

BASE: Final = -1
"""In place of the left part of a token that no merge makes: a byte or a character."""

NEVER: Final = -2
"""In place of the left part of a token that is not the encoding of its own text."""


@jit
def entry_of(start: Int32, right: Int32 | NDArray[np.uint8], a: int, b: int) -> int:
    """The place of ``b`` among the entries of ``a``, which ascend; −1 if it is not there."""
    low, high = start[a], start[a + 1]
    while low < high:
        middle = (low + high) >> 1
        if right[middle] < b:
            low = middle + 1
        else:
            high = middle
    return low if low < start[a + 1] and right[low] == b else -1


@jit
def _encode(
    word: Int32, start: Int32, right: Int32, rank: Int32, result: Int32, last: Int32
) -> int:
    """Merge the symbols of a word in place, the lowest rank first and of equal ranks the leftmost.

    ``last`` receives the parts and the rank of the last merge, and 1 if the ranks did not ascend.
    Returns the number of remaining symbols.
    """
    count = word.shape[0]
    last[3] = 0
    before = -1
    while count > 1:
        best = -1
        at = 0
        for k in range(count - 1):
            place = entry_of(start, right, word[k], word[k + 1])
            if place >= 0 and (best < 0 or rank[place] < rank[best]):
                best, at = place, k
        if best < 0:
            break
        if rank[best] < before:
            last[3] = 1
        before = rank[best]
        last[0], last[1], last[2] = word[at], word[at + 1], rank[best]
        word[at] = result[best]
        for k in range(at + 1, count - 1):
            word[k] = word[k + 1]
        count -= 1
    return count


@jit
def _derive(
    symbols: Int32, offset: Int32, start: Int32, right: Int32, rank: Int32, result: Int32,
    left_part: Int32, right_part: Int32, made: Int32, disordered: Bool,
) -> None:  # fmt: skip
    """Compute the last merge of each token, and whether its merges are out of order."""
    last = np.zeros(4, np.int32)
    for token in range(offset.shape[0] - 1):
        left_part[token] = -2
        right_part[token] = -2
        made[token] = -1
        word = symbols[offset[token] : offset[token + 1]].copy()
        if word.shape[0] == 0:
            continue
        single = word.shape[0] == 1
        if _encode(word, start, right, rank, result, last) != 1 or word[0] != token:
            continue
        if single:
            left_part[token] = -1
            right_part[token] = -1
            continue
        left_part[token], right_part[token], made[token] = last[0], last[1], last[2]
        disordered[token] = last[3] == 1


@jit
def _ordered(
    left_part: Int32, child_start: Int32, child: Int32, enter: Int32, leave: Int32
) -> None:
    """Number the tokens by a depth-first walk of the forest, each before its children."""
    n = left_part.shape[0]
    stack = np.empty(n + 1, np.int32)
    given = child_start[:-1].copy()
    count = 0
    for root in range(n):
        enter[root] = -1
        leave[root] = -1
    for root in range(n):
        if left_part[root] != -1:
            continue
        top = 0
        stack[0] = root
        enter[root] = count
        count += 1
        while top >= 0:
            here = stack[top]
            if given[here] < child_start[here + 1]:
                following = child[given[here]]
                given[here] += 1
                top += 1
                stack[top] = following
                enter[following] = count
                count += 1
            else:
                leave[here] = count
                top -= 1


@jit
def _refused_after(
    token: int, start: Int32, right: Int32, rank: Int32, left_part: Int32, right_part: Int32,
    made: Int32, child_start: Int32, child: Int32, enter: Int32, leave: Int32,
) -> Bool:  # fmt: skip
    """The tokens that may not follow a token within a word."""
    n = left_part.shape[0]
    change = np.zeros(n + 1, np.int32)
    x, consumed = token, 2**31 - 1
    while True:
        for place in range(start[x], start[x + 1]):
            y = right[place]
            if enter[y] < 0:
                continue
            at = max(rank[place], made[x], made[y])
            if at >= consumed:
                continue
            # The children of y that consume it at `at` or later come first.
            low, high = child_start[y], child_start[y + 1]
            while low < high:
                middle = (low + high) >> 1
                if made[child[middle]] >= at:
                    low = middle + 1
                else:
                    high = middle
            end = enter[y] + 1 if low == child_start[y] else leave[child[low - 1]]
            change[enter[y]] += 1
            change[end] -= 1
        if left_part[x] < 0:
            break
        consumed = made[x]
        x = right_part[x]
    depth = np.cumsum(change)
    refused = np.zeros(n, np.bool_)
    for u in range(n):
        refused[u] = enter[u] >= 0 and depth[enter[u]] > 0
    return refused


@jit
def _crosses(
    before: int, after: int, start: Int32, right: Int32, rank: Int32, left_part: Int32,
    right_part: Int32, made: Int32, ordered: bool,
) -> bool:  # fmt: skip
    """Whether some merge joins two tokens, or might if their merges are out of order."""
    x, x_end = before, 2**31 - 1
    while True:
        y, y_end = after, 2**31 - 1
        while True:
            place = entry_of(start, right, x, y)
            if place >= 0:
                at = max(rank[place], made[x], made[y])
                if not ordered or (at < x_end and at <= y_end):
                    return True
            if left_part[y] < 0:
                break
            y_end = made[y]
            y = left_part[y]
        if left_part[x] < 0:
            return False
        x_end = made[x]
        x = right_part[x]


@jit
def _fit(
    before: Int32, after: Int32, start: Int32, right: Int32, rank: Int32, result: Int32,
    left_part: Int32, right_part: Int32, made: Int32, disordered: Bool, symbols: Int32,
    offset: Int32,
) -> Bool:  # fmt: skip
    """Whether each pair of tokens may be neighbours; one side may be a single token for all."""
    n = max(before.shape[0], after.shape[0]) if min(before.shape[0], after.shape[0]) > 0 else 0
    fit = np.ones(n, np.bool_)
    last = np.zeros(4, np.int32)
    for k in range(n):
        t = before[k] if before.shape[0] > 1 else before[0]
        u = after[k] if after.shape[0] > 1 else after[0]
        ordered = not (disordered[t] or disordered[u])
        if not _crosses(t, u, start, right, rank, left_part, right_part, made, ordered):
            continue
        fit[k] = False
        if not ordered:
            one, other = symbols[offset[t] : offset[t + 1]], symbols[offset[u] : offset[u + 1]]
            word = np.concatenate((one, other))
            count = _encode(word, start, right, rank, result, last)
            fit[k] = count == 2 and word[0] == t and word[1] == u
    return fit


@jit
def _fit_any(
    before: Int32, after: Int32, start: Int32, right: Int32, rank: Int32, result: Int32,
    left_part: Int32, right_part: Int32, made: Int32, disordered: Bool, symbols: Int32,
    offset: Int32,
) -> Bool:  # fmt: skip
    """The tokens of ``before`` that may precede at least one token of ``after`` within a word."""
    fits = np.zeros(before.shape[0], np.bool_)
    one, other = np.empty(1, np.int32), np.empty(1, np.int32)
    for k in range(before.shape[0]):
        one[0] = before[k]
        for n in range(after.shape[0]):
            other[0] = after[n]
            if _fit(
                one, other, start, right, rank, result, left_part, right_part, made, disordered,
                symbols, offset,
            )[0]:  # fmt: skip
                fits[k] = True
                break
    return fits


_Parts = tuple[Int32, Int32, Int32, Int32, Int32, Int32, Int32, Bool, Int32, Int32]


@dataclass(frozen=True, eq=False)
class Merges:
    """A merge table and the last merge of each token, made by `of`.

    Attributes:
        start, right, rank, result: The table by left part: the merges with left part a are entries
            ``start[a]`` to ``start[a + 1]``, ascending by right part.
        left_part, right_part: int32[ids], the two parts of a token's last merge; `BASE` for a byte
            or a character, `NEVER` for a token that the tokenizer does not produce.
        made: int32[ids], the rank of that merge; -1 without one.
        child_start, child: The tokens that have a given left part, the latest merge first.
        enter, leave: The interval of a token's subtree in a walk of that forest, without tokens
            whose merges are out of order.
        disordered: bool[ids], whether a token's merges are out of order.
        symbols, offset: The bytes or characters of each token, one after the other.
    """

    start: Int32
    right: Int32
    rank: Int32
    result: Int32
    left_part: Int32
    right_part: Int32
    made: Int32
    child_start: Int32
    child: Int32
    enter: Int32
    leave: Int32
    disordered: Bool
    symbols: Int32
    offset: Int32

    @classmethod
    def of(
        cls, merges: Mapping[tuple[int, int], tuple[int, int]], symbols: Sequence[Sequence[int]]
    ) -> Merges:
        """The table of some merges, with the derived arrays.

        Args:
            merges: For each pair of ids its rank, lower first, and the resulting id.
            symbols: For each id the ids of its bytes or characters; empty for one that the model
                never produces.

        Example:
            >>> table = Merges.of({(0, 1): (0, 2)}, [[0], [1], [0, 1]])
            >>> table.fits(0, 1), table.fits(1, 0)
            (False, True)
        """
        n = len(symbols)
        pairs = np.array(list(merges.keys()), np.int32).reshape(-1, 2)
        values = np.array(list(merges.values()), np.int32).reshape(-1, 2)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        pairs, values = pairs[order], values[order]
        start = np.searchsorted(pairs[:, 0], np.arange(n + 1)).astype(np.int32)
        right, rank, result = (
            np.ascontiguousarray(column) for column in (pairs[:, 1], values[:, 0], values[:, 1])
        )
        lengths = np.fromiter(map(len, symbols), np.int32, n)
        offset = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        flat = np.fromiter((s for word in symbols for s in word), np.int32, int(offset[-1]))
        left_part, right_part, made = (np.empty(n, np.int32) for _ in range(3))
        disordered = np.zeros(n, np.bool_)
        _derive(
            flat, offset, start, right, rank, result, left_part, right_part, made, disordered
        )  # fmt: skip
        # A token with a disordered part is disordered too, so the rest is still a forest.
        in_order = np.where(disordered, NEVER, left_part)
        children = np.flatnonzero(in_order >= 0).astype(np.int32)
        children = children[np.lexsort((-made[children], in_order[children]))]
        child_start = np.searchsorted(in_order[children], np.arange(n + 1)).astype(np.int32)
        enter, leave = np.empty(n, np.int32), np.empty(n, np.int32)
        _ordered(in_order, child_start, children, enter, leave)
        return cls(
            start, right, rank, result, left_part, right_part, made, child_start, children, enter,
            leave, disordered, flat, offset,
        )  # fmt: skip

    @property
    def written(self) -> Bool:
        """bool[ids], whether a token is the encoding of its own text."""
        return self.left_part != NEVER

    def refused_after(self, token: int) -> Bool:
        """bool[ids], the `written` tokens that may not follow a token within a word."""
        if self.disordered[token]:
            others = np.flatnonzero(self.written).astype(np.int32)
            refused = np.zeros(len(self.made), np.bool_)
        else:
            others = self._out_of_order
            refused = _refused_after(
                token, self.start, self.right, self.rank, self.left_part, self.right_part,
                self.made, self.child_start, self.child, self.enter, self.leave,
            )  # fmt: skip
        if len(others):
            refused[others] = ~self.fitting_after(token, others)
        return refused

    @cached_property
    def _out_of_order(self) -> Int32:
        return np.flatnonzero(self.disordered).astype(np.int32)

    def fitting(self, before: Int32, after: int) -> Bool:
        """bool[len(before)], whether each token may precede ``after`` within a word."""
        return _fit(before, np.array([after], np.int32), *self._parts)

    def fitting_after(self, before: int, after: Int32) -> Bool:
        """bool[len(after)], whether each token may follow ``before`` within a word."""
        return _fit(np.array([before], np.int32), after, *self._parts)

    def fitting_any(self, before: Int32, after: Int32) -> Bool:
        """bool[len(before)], whether each token may precede at least one token of ``after``."""
        return _fit_any(before, after, *self._parts)

    @property
    def _parts(self) -> _Parts:
        return (
            self.start, self.right, self.rank, self.result, self.left_part, self.right_part,
            self.made, self.disordered, self.symbols, self.offset,
        )  # fmt: skip

    def fits(self, before: int, after: int) -> bool:
        """Whether one token may follow another one within a word."""
        return bool(self.fitting(np.array([before], np.int32), after)[0])

    def encode(self, symbols: Sequence[int]) -> tuple[int, ...]:
        """Encode the symbols of one word by byte-pair encoding, as it is defined."""
        word = np.array(symbols, np.int32)
        last = np.zeros(4, np.int32)
        count = _encode(word, self.start, self.right, self.rank, self.result, last)
        return tuple(word[:count].tolist())
