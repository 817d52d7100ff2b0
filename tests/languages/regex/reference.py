"""A matcher that shares nothing with the automata: sets of end positions over CPython's own tree.

For a node of `re._parser`'s tree and a start position it computes every position where a match of
the node can end. Nothing is tried in an order and nothing is given up, so it says what a pattern
*means*: the reading that `re`'s backtracking approximates, and departs from in the corner cases
that `KNOWN_DEVIATIONS` in `test_against_re` lists. Slow and small on purpose.
"""

from __future__ import annotations

import re
from functools import cache
from re import _compiler, _parser  # pyright: ignore[reportAttributeAccessIssue]
from typing import Any

_CATEGORY_CODES = {"IN", "LITERAL", "NOT_LITERAL", "ANY"}
_KINDS = re.ASCII | re.UNICODE | re.LOCALE


def fullmatch(pattern: str, text: str) -> bool:
    """Whether a pattern matches a whole text, by its meaning."""
    tree = _parser.parse(pattern)
    return len(text) in _Matcher(text).sequence(tuple(tree), 0, tree.state.flags)


class _Matcher:
    def __init__(self, text: str) -> None:
        self.text = text
        self.width = len(text)

    def sequence(self, items: tuple[Any, ...], at: int, flags: int) -> frozenset[int]:
        ends = frozenset([at])
        for item in items:
            ends = frozenset(end for start in ends for end in self.item(item, start, flags))
        return ends

    def item(self, item: Any, at: int, flags: int) -> frozenset[int]:
        code, value = item
        name = str(code)
        if name in _CATEGORY_CODES:
            hit = at < self.width and self.character(item, self.text[at], flags)
            return frozenset([at + 1]) if hit else frozenset()
        if name == "BRANCH":
            ends = (self.sequence(tuple(option), at, flags) for option in value[1])
            return frozenset[int]().union(*ends)
        if name == "SUBPATTERN":
            _, added, removed, body = value
            if added & _KINDS:
                flags &= ~_KINDS
            return self.sequence(tuple(body), at, (flags | added) & ~removed)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, body = value
            return self.repeat(low, high, body, at, flags)
        if name == "AT":
            return frozenset([at]) if self.anchor(str(value), at, flags) else frozenset()
        if name in ("ASSERT", "ASSERT_NOT"):
            direction, body = value
            if direction > 0:
                found = bool(self.sequence(tuple(body), at, flags))
            else:
                starts = range(at + 1)
                found = any(at in self.sequence(tuple(body), start, flags) for start in starts)
            return frozenset([at]) if found == (name == "ASSERT") else frozenset()
        raise NotImplementedError(name)

    def repeat(self, low: int, high: Any, body: Any, at: int, flags: int) -> frozenset[int]:
        items = tuple(body)
        most = None if high is _parser.MAXREPEAT else int(high)
        now = frozenset([at])
        for _ in range(min(low, self.width + 1)):
            # More repetitions than characters: the rest read nothing, which changes nothing.
            now = frozenset(e for s in now for e in self.sequence(items, s, flags))
        reached = now
        for _ in range(self.width + 1 if most is None else min(most - low, self.width + 1)):
            now = frozenset(e for s in now for e in self.sequence(items, s, flags)) - reached
            reached |= now
        return reached

    def anchor(self, name: str, at: int, flags: int) -> bool:
        text, end = self.text, self.width
        if name == "AT_BEGINNING":
            return at == 0 or (bool(flags & re.MULTILINE) and text[at - 1] == "\n")
        if name == "AT_BEGINNING_STRING":
            return at == 0
        if name == "AT_END_STRING":
            return at == end
        if name == "AT_END":
            if flags & re.MULTILINE:
                return at == end or text[at] == "\n"
            return at == end or (at == end - 1 and text[at] == "\n")
        word = re.compile(r"\w", re.ASCII if flags & re.ASCII else 0)
        before = at > 0 and word.match(text[at - 1]) is not None
        after = at < end and word.match(text[at]) is not None
        if name == "AT_BOUNDARY":
            return before != after
        # Before Python 3.14, \B fails in the empty text.
        return before == after and (end > 0 or re.match(r"\B", "") is not None)

    def character(self, item: Any, char: str, flags: int) -> bool:
        return _one_character(repr(item), _Hashed(item), flags).matches(char)


class _Hashed:
    """A wrapper that lets a tree item pass a cache keyed by its text."""

    def __init__(self, item: Any) -> None:
        self.item = item

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashed) and self.item == other.item


class _One:
    def __init__(self, compiled: re.Pattern[str]) -> None:
        self.compiled = compiled

    @cache  # noqa: B019  # As many as the alphabets of the tests have characters.
    def matches(self, char: str) -> bool:
        return self.compiled.fullmatch(char) is not None


@cache
def _one_character(written: str, item: _Hashed, flags: int) -> _One:
    fresh = _parser.State()
    fresh.flags = flags
    fresh.str = ""
    return _One(_compiler.compile(_parser.SubPattern(fresh, [item.item]), 0))
