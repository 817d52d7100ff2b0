"""The expected token masks, computed without any of our automata.

Two oracles, neither of which knows a DFA:

`FiniteOracle` enumerates a language with ``re.fullmatch`` over a small alphabet up to a length,
so that every question about it is a question about a finite set of byte strings. It covers
everything that ``re`` covers, lookarounds included, in both directions: an allowed token must
have a completion, a masked one must have none.

`DerivativeOracle` covers infinite languages without assertions: Brzozowski derivatives (Journal
of the ACM 11, 1964) over the parse tree that CPython's own parser makes. Its characters are
judged by ``re`` itself.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from re import _constants as codes  # pyright: ignore
from re import _parser as cpython_parser  # pyright: ignore

Tokens = Sequence[bytes | None]


def language(pattern: str, alphabet: str, longest: int) -> frozenset[bytes]:
    """All texts over an alphabet, up to a length, that ``re`` matches in full."""
    compiled = re.compile(pattern)
    return frozenset(
        text.encode()
        for length in range(longest + 1)
        for text in map("".join, itertools.product(alphabet, repeat=length))
        if compiled.fullmatch(text)
    )


class FiniteOracle:
    """Masks over a finite set of words.

    Args:
        words: The language as bytes.
        tokens: Token bytes by id; ``None`` is not text.
        eos_ids: Ids that end the text.
    """

    def __init__(self, words: Iterable[bytes], tokens: Tokens, eos_ids: Sequence[int]) -> None:
        self.words = frozenset(words)
        self.tokens = tokens
        self.eos_ids = frozenset(eos_ids)
        pieces = {token for token in tokens if token}

        @cache
        def writable(rest: bytes) -> int | None:
            """The fewest tokens that spell these bytes."""
            if not rest:
                return 0
            counts = (writable(rest[len(piece) :]) for piece in pieces if rest.startswith(piece))
            return min((count + 1 for count in counts if count is not None), default=None)

        # The fewest tokens (EOS included) that complete each prefix of a word.
        self.completion: dict[bytes, int] = {}
        for word in self.words:
            for cut in range(len(word) + 1):
                count = writable(word[cut:])
                if count is not None:
                    known = self.completion.get(word[:cut])
                    self.completion[word[:cut]] = min(count + 1, known or count + 1)

    def allowed(self, prefix: bytes, token: int) -> bool:
        """Whether a token may follow a prefix."""
        if token in self.eos_ids:
            return prefix in self.words
        data = self.tokens[token]
        return bool(data) and prefix + data in self.completion

    def distance(self, prefix: bytes) -> int | None:
        """The fewest tokens to the end, EOS included; ``None`` where there is no way."""
        return self.completion.get(prefix)


# --- Derivatives ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Empty:
    """No text."""


@dataclass(frozen=True)
class Epsilon:
    """The empty text."""


@dataclass(frozen=True)
class Char:
    """One character that a one-character pattern matches."""

    pattern: str


@dataclass(frozen=True)
class Seq:
    """One after the other."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Alt:
    """Any of these."""

    options: frozenset[Expression]


@dataclass(frozen=True)
class Star:
    """Any number."""

    body: Expression


Expression = Empty | Epsilon | Char | Seq | Alt | Star


def seq(left: Expression, right: Expression) -> Expression:
    if isinstance(left, Empty) or isinstance(right, Empty):
        return Empty()
    if isinstance(left, Epsilon):
        return right
    if isinstance(right, Epsilon):
        return left
    if isinstance(left, Seq):
        return Seq(left.left, seq(left.right, right))
    return Seq(left, right)


def alt(options: Iterable[Expression]) -> Expression:
    flat: set[Expression] = set()
    for option in options:
        flat |= option.options if isinstance(option, Alt) else {option}
    flat.discard(Empty())
    if not flat:
        return Empty()
    return next(iter(flat)) if len(flat) == 1 else Alt(frozenset(flat))


@cache
def nullable(e: Expression) -> bool:
    match e:
        case Epsilon() | Star():
            return True
        case Seq(left, right):
            return nullable(left) and nullable(right)
        case Alt(options):
            return any(map(nullable, options))
        case _:
            return False


@cache
def derivative(e: Expression, character: str) -> Expression:
    match e:
        case Char(pattern):
            return Epsilon() if re.fullmatch(pattern, character, re.DOTALL) else Empty()
        case Seq(left, right):
            first = seq(derivative(left, character), right)
            return alt([first, derivative(right, character)]) if nullable(left) else first
        case Alt(options):
            return alt(derivative(option, character) for option in options)
        case Star(body):
            return seq(derivative(body, character), e)
        case _:
            return Empty()


def expression(pattern: str) -> Expression:
    """The expression of a pattern without flags and assertions, from CPython's parse tree."""
    return _convert(list(cpython_parser.parse(pattern)))


def _convert(items: list[object]) -> Expression:
    result: Expression = Epsilon()
    for op, argument in reversed(items):  # type: ignore[misc]
        result = seq(_one(op, argument), result)
    return result


def _one(op: object, argument: object) -> Expression:
    a: object = argument
    if op is codes.LITERAL:
        return Char(re.escape(chr(a)))  # type: ignore[arg-type]
    if op is codes.NOT_LITERAL:
        return Char(f"[^{re.escape(chr(a))}]")  # type: ignore[arg-type]
    if op is codes.ANY:
        return Char(r"[^\n]")
    if op is codes.IN:
        return Char(_class(a))
    if op is codes.BRANCH:
        return alt(_convert(list(option)) for option in a[1])  # type: ignore[index]
    if op is codes.SUBPATTERN:
        return _convert(list(a[3]))  # type: ignore[index]
    if op in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        low, high, body = a  # type: ignore[misc]
        inner = _convert(list(body))
        result: Expression = Epsilon()
        if high is codes.MAXREPEAT:
            result = Star(inner)
        else:
            for _ in range(high - low):
                result = alt([Epsilon(), seq(inner, result)])
        for _ in range(low):
            result = seq(inner, result)
        return result
    raise AssertionError(f"the oracle does not know {op}")


_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


def _class(items: object) -> str:
    parts: list[str] = []
    for op, argument in items:  # type: ignore[attr-defined]
        if op is codes.NEGATE:
            parts.append("^")
        elif op is codes.LITERAL:
            parts.append(re.escape(chr(argument)))
        elif op is codes.RANGE:
            parts.append(f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}")
        else:
            parts.append(_CATEGORIES[argument])
    return f"[{''.join(parts)}]"


class DerivativeOracle:
    """Masks of an infinite language, over tokens that are whole characters of a small alphabet.

    A state is an expression; what tokens can finish is found by following every token from
    it. The expressions that can be reached are finitely many up to `alt`'s simplifications, but
    may be numerous: ``limit`` bounds the search, and `allowed` answers ``None`` beyond it.
    """

    def __init__(self, pattern: str, tokens: Tokens, eos_ids: Sequence[int], limit: int) -> None:
        self.start = expression(pattern)
        self.tokens = [None if token is None else token.decode() for token in tokens]
        self.eos_ids = frozenset(eos_ids)
        self.limit = limit
        self._finishes: dict[Expression, bool | None] = {}

    def after(self, e: Expression, text: str) -> Expression:
        for character in text:
            e = derivative(e, character)
        return e

    def finishes(self, e: Expression) -> bool | None:
        """Whether some token sequence leads from here to an expression with the empty text."""
        if e not in self._finishes:
            seen = {e}
            queue = deque([e])
            answer: bool | None = False
            while queue:
                here = queue.popleft()
                if nullable(here):
                    answer = True
                    break
                for token in self.tokens:
                    if not token:
                        continue
                    there = self.after(here, token)
                    if there not in seen and not isinstance(there, Empty):
                        seen.add(there)
                        queue.append(there)
                if len(seen) > self.limit:
                    answer = None
                    break
            self._finishes[e] = answer
        return self._finishes[e]

    def allowed(self, e: Expression, token: int) -> bool | None:
        if token in self.eos_ids:
            return nullable(e)
        text = self.tokens[token]
        if not text:
            return False
        there = self.after(e, text)
        return False if isinstance(there, Empty) else self.finishes(there)
