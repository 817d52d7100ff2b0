"""A recognizer of GBNF by sets of ends: small, slow, and independent of the engine's grammars.

It reads the notation by itself (llama.cpp's ``grammars/README.md``) and follows rules by recursion:
each part of a rule maps the places where it may begin to those where it may end. A rule that calls
itself at the place where it began adds nothing and is cut off there, and the sets are worked out
again until they grow no more, so left recursion ends too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_NONE: Final[frozenset[int]] = frozenset()

Ends = Callable[[str, int], frozenset[int]]
"""From a text and the place where a part begins to the places where it may end."""

_TOKEN: Final = re.compile(
    r"""\s*(?:\#[^\n]*\s*)*(?:
        (?P<define>[A-Za-z_][\w-]*)\s*::=
      | (?P<name>[A-Za-z_][\w-]*)
      | "(?P<text>(?:[^"\\]|\\.)*)"
      | \[(?P<set>\^?(?:[^\]\\]|\\.)*)\]
      | \{(?P<low>\d*)(?P<comma>,?)(?P<high>\d*)\}
      | (?P<sign>[|()*+?.])
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_SIGNS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_ITEM: Final = re.compile(rf"({_ESCAPE.pattern}|[^\\])(?:-({_ESCAPE.pattern}|[^\\]))?", re.DOTALL)


def _unescaped(text: str) -> str:
    def letter(found: re.Match[str]) -> str:
        body = found[1]
        return chr(int(body[1:], 16)) if len(body) > 1 else _SIGNS.get(body, body)

    return _ESCAPE.sub(letter, text)


class GbnfRecognizer:
    """A grammar, and whether texts are words of it.

    Args:
        grammar: The text.

    Raises:
        ValueError: The grammar cannot be read.

    Example:
        >>> GbnfRecognizer('root ::= "a" root "b" | [x-z]').accepts("aaybb")
        True
    """

    def __init__(self, grammar: str) -> None:
        self._text = grammar
        self._at = 0
        self._rules: dict[str, Ends] = {}
        self._memo: dict[tuple[str, int], frozenset[int]] = {}
        self._open: set[tuple[str, int]] = set()
        kind, value = self._next()
        while kind == "define":
            self._rules[value] = self._alternatives()
            kind, value = self._next()
        if kind != "end" or "root" not in self._rules:
            raise ValueError("The grammar cannot be read.")

    def accepts(self, text: str) -> bool:
        """Whether a text is a word.

        Args:
            text: The whole text.
        """
        self._memo.clear()
        while True:
            before = dict(self._memo)
            self._done: set[tuple[str, int]] = set()
            ends = self._call("root", text, 0)
            if self._memo == before:
                return len(text) in ends

    def _call(self, name: str, text: str, at: int) -> frozenset[int]:
        key = (name, at)
        if key in self._open or key in self._done:
            return self._memo.get(key, frozenset())
        self._open.add(key)
        found = self._memo.get(key, frozenset()) | self._rules[name](text, at)
        self._open.discard(key)
        self._done.add(key)
        self._memo[key] = found
        return found

    # --- the notation -------------------------------------------------------------------------

    def _next(self, peek: bool = False) -> tuple[str, str]:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise ValueError(f"The grammar cannot be read at {self._at}.")
        if not peek:
            self._at = found.end()
        kind = found.lastgroup or "end"
        if kind in ("low", "comma", "high"):
            return "count", f"{found['low']},{found['high'] if found['comma'] else found['low']}"
        return kind, found[kind]

    def _alternatives(self) -> Ends:
        options = [self._sequence()]
        while self._next(peek=True) == ("sign", "|"):
            self._next()
            options.append(self._sequence())
        return lambda text, at: _NONE.union(*(option(text, at) for option in options))

    def _sequence(self) -> Ends:
        parts: list[Ends] = []
        while True:
            kind, value = self._next(peek=True)
            if kind in ("end", "define") or (kind == "sign" and value in "|)"):
                break
            parts.append(self._repeated(self._part()))

        def ends(text: str, at: int) -> frozenset[int]:
            places = frozenset({at})
            for part in parts:
                places = _NONE.union(*(part(text, place) for place in places))
            return places

        return ends

    def _part(self) -> Ends:
        kind, value = self._next()
        if kind == "name":
            return lambda text, at: self._call(value, text, at)
        if kind == "text":
            word = _unescaped(value)
            return lambda text, at: (
                frozenset({at + len(word)}) if text.startswith(word, at) else frozenset()
            )
        if kind == "set":
            return _one(_set(value))
        if (kind, value) == ("sign", "."):
            return _one(lambda _: True)
        if (kind, value) == ("sign", "("):
            inner = self._alternatives()
            if self._next() != ("sign", ")"):
                raise ValueError("A parenthesis is not closed.")
            return inner
        raise ValueError(f"{value!r} cannot stand here.")

    def _repeated(self, part: Ends) -> Ends:
        while True:
            kind, value = self._next(peek=True)
            bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(value)
            if kind == "count":
                low, _, high = value.partition(",")
                bounds = (int(low or 0), int(high) if high else None)
            elif kind != "sign":
                bounds = None
            if bounds is None:
                return part
            self._next()
            part = _times(part, *bounds)


def _times(part: Ends, low: int, high: int | None) -> Ends:
    def ends(text: str, at: int) -> frozenset[int]:
        found: frozenset[int] = frozenset()
        places = frozenset({at})
        seen: set[frozenset[int]] = set()
        count = 0
        while places and (high is None or count <= high):
            if count >= low:
                if places <= found and places in seen:
                    break
                found |= places
                seen.add(places)
            places = _NONE.union(*(part(text, place) for place in places))
            count += 1
        return found

    return ends


def _one(has: Callable[[str], bool]) -> Ends:
    return lambda text, at: frozenset({at + 1}) if at < len(text) and has(text[at]) else frozenset()


def _set(body: str) -> Callable[[str], bool]:
    negated = body.startswith("^")
    ranges: list[tuple[str, str]] = []
    for found in _ITEM.finditer(body[negated:]):
        low = _unescaped(found[1])
        ranges.append((low, _unescaped(found[3]) if found[3] else low))
    return lambda letter: any(low <= letter <= high for low, high in ranges) != negated
