"""An oracle for constraints that speak about tokens: a matcher over sequences of tokens.

It knows no automaton, no byte machine and no mark. An expression is matched against a list of ids,
place by place; a place is a token and how many of its bytes are read. What a set of sequences
implies for masks and distances is then a matter of counting.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from explorer import Constraint, Vocabulary, gen, literal, terminals

Place = tuple[int, int]
"""The number of a token in the sequence, and how many of its bytes have been read."""


class Expression:
    """A piece of a constraint: where it can end, and the constraint itself."""

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        """The places at which the piece can end that begins at a place.

        Args:
            tokens: The bytes of each token; the id of one that is not text.
            place: Where the piece begins.
        """
        raise NotImplementedError

    def constraint(self) -> Constraint:
        """The piece as the engine has it."""
        raise NotImplementedError


def _bytes_on(tokens: Sequence[bytes | int], place: Place) -> Iterator[tuple[bytes, Place]]:
    """The text from a place on, a byte at a time: what has been read, and where that is."""
    at, offset = place
    read = b""
    yield read, (at, offset)
    while at < len(tokens):
        data = tokens[at]
        if isinstance(data, int):
            return
        read += data[offset : offset + 1]
        offset += 1
        if offset == len(data):
            at, offset = at + 1, 0
        yield read, (at, offset)


@dataclass(frozen=True)
class Text(Expression):
    """Exactly this text, cut into tokens in any way."""

    text: str

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        wanted = self.text.encode()
        return {there for read, there in _bytes_on(tokens, place) if read == wanted}

    def constraint(self) -> Constraint:
        return literal(self.text)


@dataclass(frozen=True)
class Token(Expression):
    """One text token, perhaps without a newline."""

    newline: bool

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        at, offset = place
        if offset or at == len(tokens):
            return set()
        data = tokens[at]
        fits = isinstance(data, bytes) and (self.newline or b"\n" not in data)
        return {(at + 1, 0)} if fits else set()

    def constraint(self) -> Constraint:
        return terminals.text_token() if self.newline else terminals.paragraph_token()


@dataclass(frozen=True)
class Until(Expression):
    """Text tokens up to a stop phrase."""

    stop: str

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        at, offset = place
        if offset:
            return set()
        stop, read = self.stop.encode(), b""
        for end in range(at, len(tokens)):
            data = tokens[end]
            if isinstance(data, int):
                return set()
            read += data
            if stop in read:
                return {(end + 1, 0)} if read.find(stop) == len(read) - len(stop) else set()
        return set()

    def constraint(self) -> Constraint:
        return terminals.text_until(self.stop)


@dataclass(frozen=True)
class Image(Expression):
    """A token that is not text."""

    ids: tuple[int, ...]

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        at, offset = place
        if offset or at == len(tokens):
            return set()
        token = tokens[at]
        fits = isinstance(token, int) and (not self.ids or token in self.ids)
        return {(at + 1, 0)} if fits else set()

    def constraint(self) -> Constraint:
        return terminals.image(*self.ids)


@dataclass(frozen=True)
class Then(Expression):
    """One piece after the other."""

    first: Expression
    second: Expression

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        middle = self.first.ends(tokens, place)
        return {there for here in middle for there in self.second.ends(tokens, here)}

    def constraint(self) -> Constraint:
        return self.first.constraint() + self.second.constraint()


@dataclass(frozen=True)
class Either(Expression):
    """Any of two pieces."""

    left: Expression
    right: Expression

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        return self.left.ends(tokens, place) | self.right.ends(tokens, place)

    def constraint(self) -> Constraint:
        return self.left.constraint() | self.right.constraint()


@dataclass(frozen=True)
class Both(Expression):
    """Both of two pieces."""

    left: Expression
    right: Expression

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        return self.left.ends(tokens, place) & self.right.ends(tokens, place)

    def constraint(self) -> Constraint:
        return self.left.constraint() & self.right.constraint()


@dataclass(frozen=True)
class But(Expression):
    """The left piece where it is not the right one."""

    left: Expression
    right: Expression

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        return self.left.ends(tokens, place) - self.right.ends(tokens, place)

    def constraint(self) -> Constraint:
        return self.left.constraint() - self.right.constraint()


@dataclass(frozen=True)
class Other(Expression):
    """Any text that is not the piece."""

    body: Expression

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        texts = {there for read, there in _bytes_on(tokens, place) if is_text(read)}
        return texts - self.body.ends(tokens, place)

    def constraint(self) -> Constraint:
        return ~self.body.constraint()


@dataclass(frozen=True)
class Many(Expression):
    """Any number of a piece."""

    body: Expression

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        found = {place}
        waiting = [place]
        while waiting:
            new = self.body.ends(tokens, waiting.pop()) - found
            found |= new
            waiting += new
        return found

    def constraint(self) -> Constraint:
        return self.body.constraint().star()


@dataclass(frozen=True)
class InFewTokens(Expression):
    """A piece of which at most so many tokens write a byte, or stand in it without text."""

    body: Expression
    most: int

    def ends(self, tokens: Sequence[bytes | int], place: Place) -> set[Place]:
        return {
            there
            for there in self.body.ends(tokens, place)
            if there == place or there[0] - place[0] + (there[1] > 0) <= self.most
        }

    def constraint(self) -> Constraint:
        return gen(constraint=self.body.constraint(), max_tokens=self.most)


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def matches(expression: Expression, vocabulary: Vocabulary, ids: Sequence[int]) -> bool:
    """Whether a sequence of ids is a word."""
    tokens = [token if (d := vocabulary.tokens[token]) is None else d for token in ids]
    # Bytes must be text between any two tokens that are not.
    runs = itertools.groupby(tokens, key=lambda token: isinstance(token, int))
    texts = [b"".join(t for t in run if isinstance(t, bytes)) for other, run in runs if not other]
    return all(map(is_text, texts)) and (len(tokens), 0) in expression.ends(tokens, (0, 0))


LEAVES: st.SearchStrategy[Expression] = st.one_of(
    st.sampled_from(["a", "b", "ab", "\n", "ä", "aab"]).map(Text),
    st.booleans().map(Token),
    st.sampled_from(["a", "ab", "aa", "\n", "ä"]).map(Until),
    st.sampled_from([(), (6,), (6, 7)]).map(Image),
)


def _combined(children: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Then, children, children),
        st.builds(Then, children, children),
        st.builds(Either, children, children),
        st.builds(Both, children, children),
        st.builds(But, children, children),
        st.builds(Other, children),
        st.builds(Many, children),
        st.builds(InFewTokens, children, st.integers(1, 2)),
    )


expressions = st.recursive(LEAVES, _combined, max_leaves=5)

__all__ = [
    "Both", "Expression", "InFewTokens", "Many", "Text", "Then", "Token", "expressions", "matches",
]  # fmt: skip
