"""Independent judges of whole texts: Python's ``re``, ``jsonschema``, Lark's own parser, and a
recognizer of GBNF that shares no code with the engine.

A judge says whether a text is in a language; it knows nothing of tokens. To judge a difference in a
mask it is given a complete text that begins with the prefix and the token.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any, Final, cast

from explorer.languages.schema.reading.text import EXACT, MOST_DIGITS, read_schema
from explorer.witnesses.messages import Statement

_NONE: Final[frozenset[int]] = frozenset()

Ends = Callable[[str, int], frozenset[int]]
"""From a text and the offset where a part begins to the offsets where it may end."""

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
    def letter(escape: re.Match[str]) -> str:
        body = escape[1]
        return chr(int(body[1:], 16)) if len(body) > 1 else _SIGNS.get(body, body)

    return _ESCAPE.sub(letter, text)


class GbnfRecognizer:
    """A recognizer of the words of a grammar in GBNF, independent of the engine.

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
        """Whether the grammar derives a text."""
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
        ends = self._memo.get(key, frozenset()) | self._rules[name](text, at)
        self._open.discard(key)
        self._done.add(key)
        self._memo[key] = ends
        return ends

    # --- the notation -------------------------------------------------------------------------

    def _next(self, peek: bool = False) -> tuple[str, str]:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise ValueError(f"The grammar cannot be read at {self._at}.")
        if not peek:
            self._at = match.end()
        kind = match.lastgroup or "end"
        if kind in ("low", "comma", "high"):
            return "count", f"{match['low']},{match['high'] if match['comma'] else match['low']}"
        return kind, match[kind]

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
        reached: frozenset[int] = frozenset()
        places = frozenset({at})
        seen: set[frozenset[int]] = set()
        count = 0
        while places and (high is None or count <= high):
            if count >= low:
                if places <= reached and places in seen:
                    break
                reached |= places
                seen.add(places)
            places = _NONE.union(*(part(text, place) for place in places))
            count += 1
        return reached

    return ends


def _one(has: Callable[[str], bool]) -> Ends:
    return lambda text, at: frozenset({at + 1}) if at < len(text) and has(text[at]) else frozenset()


def _set(body: str) -> Callable[[str], bool]:
    negated = body.startswith("^")
    ranges: list[tuple[str, str]] = []
    for item in _ITEM.finditer(body[negated:]):
        low = _unescaped(item[1])
        ranges.append((low, _unescaped(item[3]) if item[3] else low))
    return lambda letter: any(low <= letter <= high for low, high in ranges) != negated


LONGEST: Final = 200
"""The most characters of a text for a judge; Python's ``re`` may take exponential time."""

FORMATS_CHECKED: Final = frozenset({"date", "ipv4", "ipv6", "uuid", "regex", "date-time"})
"""The formats that ``jsonschema`` checks fully, if the libraries it needs for them are installed.

An email, for example, is not among them: it only looks for an ``@``.
"""


_LEAP_SECOND: Final = re.compile(r"(?i):60(\.[0-9]+)?(Z|[+-])")


@dataclass(frozen=True)
class Judge:
    """An independent parser that decides whether a text is in the language of a constraint.

    Args:
        says: Whether a text is in the language; ``None`` if it cannot know.
    """

    name: str
    says: Callable[[str], bool | None]

    def verdict(self, text: bytes) -> bool | None:
        """Whether a text is in the language; ``None`` if the judge cannot say."""
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            return False
        if len(decoded) > LONGEST:
            return None
        try:
            return self.says(decoded)
        except Exception:  # A failure of the judge's library is not a verdict.
            return None


def _of_regex(statement: Statement) -> Judge:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # For `[[`, which may change its meaning.
        pattern = re.compile(statement.text)
    return Judge("re.fullmatch", lambda text: pattern.fullmatch(text) is not None)


def _of_schema(statement: Statement) -> Judge:
    from jsonschema import Draft202012Validator, FormatChecker

    schema: Any = read_schema(statement.text)
    known: Any = Draft202012Validator.FORMAT_CHECKER
    checked = FORMATS_CHECKED & set(known.checkers)
    # It checks some other formats only partly, so it is not asked about those.
    validator: Any = Draft202012Validator(schema, format_checker=FormatChecker(sorted(checked)))
    formats = {part["format"] for part in _parts_of(schema) if isinstance(part.get("format"), str)}
    unread = sorted(formats - checked)

    def says(text: str) -> bool | None:
        try:
            value: object = json.loads(text, parse_constant=_no_constant, parse_float=_number)
        except ValueError:
            return False
        with localcontext(EXACT):
            if not validator.is_valid(value):
                # It refuses every leap second, which RFC 3339 allows.
                return None if "date-time" in formats and _LEAP_SECOND.search(text) else False
        return None if unread else True  # An unchecked format might refuse it.

    if not unread:
        return Judge("jsonschema", says)
    return Judge(f"jsonschema (which does not check the format {', '.join(unread)})", says)


def _number(text: str) -> int | Decimal:
    """The exact value of a number with a fraction or an exponent, an int if it is whole."""
    value = Decimal(text)
    is_whole = value.adjusted() < MOST_DIGITS and value == value.to_integral_value(context=EXACT)
    return int(value) if is_whole else value


def _parts_of(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield cast("dict[str, Any]", value)
        value = list(cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _parts_of(each)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _of_lark(statement: Statement) -> Judge:
    from lark import Lark
    from lark.exceptions import LarkError

    parser: Any = Lark(statement.text, parser="earley", lexer="basic")

    def says(text: str) -> bool:
        try:
            parser.parse(text)
        except LarkError:
            return False
        return True

    return Judge("Lark (Earley, basic lexer)", says)


def _of_gbnf(statement: Statement) -> Judge:
    return Judge("a recognizer of GBNF", GbnfRecognizer(statement.text).accepts)


JUDGES: Final[dict[str, Callable[[Statement], Judge]]] = {
    "regex": _of_regex,
    "json_schema": _of_schema,
    "lark": _of_lark,
    "gbnf": _of_gbnf,
}
"""The judge of each kind of constraint."""


def judge_of(statement: Statement) -> Judge | None:
    """The judge of a constraint; ``None`` if it cannot read it or is not installed."""
    try:
        return JUDGES[statement.kind](statement)
    except Exception:  # A library may raise anything for a constraint that it cannot read.
        return None
