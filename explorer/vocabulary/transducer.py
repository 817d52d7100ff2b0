"""The detokenizing transducer as an editable value: token ids in, bytes out.

The default, `Vocabulary.transducer`, has one state and a loop for each token, which writes the
token's bytes. `explorer.compile(c, transducer=...)` accepts any other: a token that writes other
bytes, a token that is missing, or a detokenizer that rewrites what tokens spell and so needs states
between tokens. The bytes of a token are data here and nowhere assumed.

Every change makes a new value. `invert` swaps input and output: from bytes to token ids, the
lexicon of Cognetta et al. (2025, Figure 3), which maps a text to all of its tokenizations.

Cost: that of a list with one row per token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Protocol, cast

from explorer.arguments import (
    check_whole_characters,
    counted,
    instance,
    listed,
    plain,
    shown,
    whole_number,
    wrong,
)
from explorer.errors import VocabularyError

Arc = tuple[int, int | None, bytes, int]
"""An arc: source state, token read or ``None``, bytes written, target state."""

START: Final = 0
"""The start state of every transducer here."""

_MOST_WAYS: Final = 1_000
"""The number of paths per arc after which the search for a list of words is given up."""


class TokenIds(Protocol):
    """The parts of a `Vocabulary` that a transducer needs."""

    @property
    def tokens(self) -> tuple[bytes | None, ...]:
        """The bytes of each id."""
        ...

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """The ids that end a text; a transducer does not read them."""
        ...

    def writing(self, tokens: Sequence[bytes | None]) -> TokenIds:
        """A vocabulary of the same ids with other bytes."""
        ...


@dataclass(frozen=True, eq=False)
class TokenTransducer:
    """A transducer from token ids to bytes; state 0 is the start.

    Made by `Vocabulary.transducer`, by `TokenTransducer.from_arcs` or, from a pynini machine, by
    `explorer.automata.interchange.detokenizers.transducer_of`.

    Args:
        vocabulary: The ids that it reads, and the ends of text.
        rows: Its arcs; ``None`` for the default, a loop for each token of the vocabulary.
        accepting: The states in which a text may end.

    Example:
        >>> from explorer import Vocabulary
        >>> vocab = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
        >>> changed = vocab.transducer.writing(1, b"ood").without(4)
        >>> changed.arcs
        ((0, 0, b'f', 0), (0, 1, b'ood', 0), (0, 2, b'foo', 0), (0, 3, b'for', 0))
        >>> changed.written([0, 1])
        frozenset({b'food'})
    """

    vocabulary: TokenIds
    rows: tuple[Arc, ...] | None = None
    accepting: frozenset[int] = frozenset([START])

    @classmethod
    def from_arcs(
        cls, arcs: Iterable[Arc], vocabulary: TokenIds, accepting: Iterable[int] = (START,)
    ) -> TokenTransducer:
        """A transducer from its arcs.

        Args:
            arcs: ``(source, token, data, target)``: in state ``source`` it reads the token, or
                nothing if that is ``None``, writes the bytes and moves to state ``target``.
            vocabulary: The ids, their names and the ends of text.
            accepting: The states in which a text may end.

        Raises:
            VocabularyError: An arc has another form, or reads an id that is not text.

        Example:
            >>> from explorer import Vocabulary
            >>> vocab = Vocabulary.from_bytes([b" a", b" b"], eos_ids=[2])
            >>> # The first space of a text is dropped, as SentencePiece's detokenizer does.
            >>> arcs = [(0, 0, b"a", 1), (0, 1, b"b", 1), (1, 0, b" a", 1), (1, 1, b" b", 1)]
            >>> TokenTransducer.from_arcs(arcs, vocab, accepting=[0, 1]).written([0, 1])
            frozenset({b'a b'})
        """
        rows = tuple(
            _checked(row, vocabulary)
            for row in listed("arcs", arcs, "a list of arcs", error=VocabularyError)
        )
        return cls(vocabulary, rows, _states(accepting))

    @property
    def arcs(self) -> tuple[Arc, ...]:
        """The arcs, ``(source, token, data, target)``."""
        if self.rows is not None:
            return self.rows
        tokens = enumerate(self.vocabulary.tokens)
        return tuple((START, token, data, START) for token, data in tokens if data is not None)

    @cached_property
    def num_states(self) -> int:
        """The number of states; they are ``0 .. num_states - 1``."""
        ends = (max(source, target) for source, _, _, target in self.rows or ())
        return 1 + max(ends, default=START)

    # --- changes ------------------------------------------------------------------------------

    def writing(self, token: int, data: bytes | str) -> TokenTransducer:
        """This transducer with other bytes for a token, wherever it is read.

        Args:
            token: An id; if no arc reads it, it gets a loop at the start.
            data: Bytes, or text for its UTF-8; empty for a token that writes nothing.

        Raises:
            VocabularyError: The id is not text, or ``data`` is not bytes.
        """
        token = _token("token", token, self.vocabulary)
        data = _bytes("data", data)
        rows = [
            (source, read, data if read == token else written, target)
            for source, read, written, target in self.arcs
        ]
        if all(read != token for _, read, _, _ in rows):
            rows.append((START, token, data, START))
        return replace(self, rows=tuple(rows))

    def without(self, token: int) -> TokenTransducer:
        """This transducer without the arcs that read a token, so that it is never allowed.

        Raises:
            VocabularyError: It is not an id of text.
        """
        token = _token("token", token, self.vocabulary)
        return replace(self, rows=tuple(arc for arc in self.arcs if arc[1] != token))

    def mapped(self, rewrite: Callable[[bytes], bytes]) -> TokenTransducer:
        """This transducer with a function such as ``bytes.lower`` applied to each arc's bytes."""
        if not callable(rewrite):
            raise wrong("rewrite", rewrite, "a function of bytes", error=VocabularyError)
        rows = [(s, token, rewrite(data), t) for s, token, data, t in self.arcs]
        return TokenTransducer.from_arcs(rows, self.vocabulary, self.accepting)

    def then(
        self,
        rewriting: Iterable[tuple[int, bytes, bytes, int]],
        accepting: Iterable[int] = (START,),
    ) -> TokenTransducer:
        """This transducer composed with another one that rewrites its output.

        Args:
            rewriting: The arcs of the other one, ``(source, read, write, target)``: each reads one
                byte. If a state has no arc for a byte, the byte is copied and the state stays.
            accepting: The other one's states in which a text may end.

        Example:
            >>> from explorer import Vocabulary
            >>> vocab = Vocabulary.from_bytes([b" a", b"b"], eos_ids=[2])
            >>> letters = [(0, bytes([k]), bytes([k]), 1) for k in range(256) if k != 32]
            >>> dropped = vocab.transducer.then([(0, b" ", b"", 1), *letters], accepting=[0, 1])
            >>> dropped.written([0, 0]), dropped.num_states, dropped.words is None
            (frozenset({b'a a'}), 2, True)
        """
        moves: dict[tuple[int, int], list[tuple[bytes, int]]] = {}
        for row in listed("rewriting", rewriting, "a list of arcs", error=VocabularyError):
            source, read, write, target = _four(row)
            read = instance("the input of an arc", read, bytes, "bytes", error=VocabularyError)
            if len(read) != 1:
                raise VocabularyError(
                    f"{shown(row)} reads {counted(len(read), 'byte')}, and an arc of rewriting "
                    "reads one.",
                    remedy="Write an arc for each byte, with states between them.",
                )
            moves.setdefault((source, read[0]), []).append((_written(write), target))
        ends = _states(accepting)
        number = {(START, START): 0}
        waiting, rows = [(START, START)], list[Arc]()
        for here, state in waiting:
            for source, token, data, target in self.arcs:
                if source != here:
                    continue
                ways = {(b"", state)}
                for byte in data:
                    ways = {
                        (before + write, after)
                        for before, at in ways
                        for write, after in moves.get((at, byte), [(bytes([byte]), at)])
                    }
                for written, after in sorted(ways):
                    pair = target, after
                    if pair not in number:
                        number[pair] = len(number)
                        waiting.append(pair)
                    rows.append((number[here, state], token, written, number[pair]))
        final = [k for (one, two), k in number.items() if one in self.accepting and two in ends]
        return replace(self, rows=tuple(rows), accepting=frozenset(final))

    def invert(self) -> Lexicon:
        """The inverse transducer, from bytes to token ids."""
        rows = tuple((source, data, token, target) for source, token, data, target in self.arcs)
        return Lexicon(self, rows, self.accepting)

    # --- questions ----------------------------------------------------------------------------

    @cached_property
    def words(self) -> TokenIds | None:
        """The equivalent vocabulary, if every token always writes the same bytes.

        ``None`` if a token's bytes depend on the tokens before it or are not a single string; then
        the transducer has states between tokens.
        """
        if self.rows is None:
            return self.vocabulary
        written = _words(self.rows, self.accepting)
        if written is None:
            return None
        tokens = [written.get(token) for token in range(len(self.vocabulary.tokens))]
        return self.vocabulary.writing(tokens)

    def written(self, tokens: Iterable[int]) -> frozenset[bytes]:
        """All texts that it writes for a sequence of token ids; empty if it cannot read them."""
        ways = self._silently({(START, b"")})
        given = listed("tokens", tokens, "a list of ids", error=VocabularyError)
        for token in [whole_number("an id", each, error=VocabularyError) for each in given]:
            ways = self._silently(
                {
                    (target, before + data)
                    for at, before in ways
                    for source, read, data, target in self.arcs
                    if source == at and read == token
                }
            )
        return frozenset(text for state, text in ways if state in self.accepting)

    def _silently(self, ways: set[tuple[int, bytes]]) -> set[tuple[int, bytes]]:
        silent = [arc for arc in self.rows or () if arc[1] is None]
        if any(data and source == target for source, _, data, target in silent):
            raise VocabularyError(
                "This transducer can write without end and read nothing.",
                remedy="Take out the loop that reads no token.",
            )
        waiting = list(ways)
        while waiting:
            at, before = waiting.pop()
            for source, _, data, target in silent:
                way = target, before + data
                if source == at and way not in ways:
                    ways.add(way)
                    waiting.append(way)
        return ways

    def __repr__(self) -> str:
        states, arcs = counted(self.num_states, "state"), counted(len(self.arcs), "arc")
        return f"TokenTransducer({states}, {arcs})"


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The inverse of a detokenizing transducer: bytes in, token ids out.

    Made by `TokenTransducer.invert`.

    Args:
        rows: ``(source, data, token, target)``.

    Example:
        >>> from explorer import Vocabulary
        >>> vocab = Vocabulary.from_bytes([b"a", b"b", b"ab", b"ba"], eos_ids=[4])
        >>> sorted(vocab.transducer.invert().tokenizations("aba"))
        [(0, 1, 0), (0, 3), (2, 0)]
    """

    inverse: TokenTransducer
    rows: tuple[tuple[int, bytes, int | None, int], ...]
    accepting: frozenset[int]

    def invert(self) -> TokenTransducer:
        """The transducer from token ids to bytes."""
        return self.inverse

    def tokenizations(self, text: str | bytes, most: int = 10_000) -> tuple[tuple[int, ...], ...]:
        """The sequences of tokens that write a text.

        Args:
            most: The limit on their number, which can be exponential.

        Raises:
            VocabularyError: There are more than ``most``.
        """
        data, most = _bytes("text", text), whole_number("most", most, 1, error=VocabularyError)
        written: list[tuple[int, ...]] = []
        waiting: list[tuple[int, int, tuple[int, ...]]] = [(START, 0, ())]
        while waiting:
            state, at, tokens = waiting.pop()
            if at == len(data) and state in self.accepting:
                written.append(tokens)
            if len(written) > most:
                raise VocabularyError(
                    f"The text has more than {most:,} tokenizations.",
                    remedy="Give a shorter text, or a larger most=.",
                )
            for source, read, token, target in self.rows:
                silent = token is None and not read
                if source == state and not silent and data.startswith(read, at):
                    more = tokens if token is None else (*tokens, token)
                    if read or token is None or len(more) <= 2 * len(data):
                        waiting.append((target, at + len(read), more))
        return tuple(sorted(set(written)))

    def __repr__(self) -> str:
        return f"Lexicon({len(self.rows):,} arcs)"


def _checked(row: object, vocabulary: TokenIds) -> Arc:
    """The arc, if it is well formed.

    Raises:
        VocabularyError: It is not.
    """
    source, token, data, target = _four(row)
    if token is not None:
        token = _token("the token of an arc", token, vocabulary)
    return source, token, _written(data), target


def _four(row: object) -> tuple[int, Any, object, int]:
    """The parts of an arc, its states checked."""
    parts = cast("list[Any]", listed("an arc", row, "four values", error=VocabularyError))
    if len(parts) != 4:
        raise VocabularyError(
            f"{shown(row)} is not an arc.",
            remedy="Write (source, token, bytes, target), such as (0, 5, b'foo', 0).",
        )
    source = whole_number("the source of an arc", parts[0], error=VocabularyError)
    target = whole_number("the target of an arc", parts[3], error=VocabularyError)
    return source, parts[1], parts[2], target


def _token(name: str, token: object, vocabulary: TokenIds) -> int:
    """An id of text.

    Raises:
        VocabularyError: It is another value, an end of text, or beyond the vocabulary.
    """
    known = whole_number(name, token, None, error=VocabularyError)
    size = len(vocabulary.tokens)
    if 0 <= known < size and known not in vocabulary.eos_ids:
        return known
    why = "which ends the text" if known in vocabulary.eos_ids else "which is not an id of text"
    raise VocabularyError(
        f"{name[0].upper()}{name[1:]} is {known}, {why}.",
        remedy=f"Give 0 to {size - 1}, without the ends of text, which are read where a text may "
        "end.",
        evidence={"token": known, "eos_ids": vocabulary.eos_ids},
    )


def _written(data: object) -> bytes:
    """The bytes that an arc writes.

    Raises:
        VocabularyError: It is something else.
    """
    return instance("the output of an arc", data, bytes, "bytes", error=VocabularyError)


def _bytes(name: str, data: object) -> bytes:
    """Bytes, or the UTF-8 of a text.

    Raises:
        VocabularyError: It is something else.
    """
    if isinstance(data, str):
        text = plain(data)
        check_whole_characters(name, text, error=VocabularyError)
        return text.encode()
    return instance(name, data, bytes, "bytes, or a text", error=VocabularyError)


def _states(accepting: object) -> frozenset[int]:
    """The states in which a text may end.

    Raises:
        VocabularyError: They are not a list of states.
    """
    ends = listed("accepting", accepting, "a list of states", error=VocabularyError)
    return frozenset(whole_number("accepting", state, error=VocabularyError) for state in ends)


def _words(rows: Sequence[Arc], accepting: frozenset[int]) -> dict[int, bytes] | None:
    """The bytes of each token, if every cycle through the start reads exactly one token."""
    if accepting != frozenset([START]):
        return None
    leaving: dict[int, list[Arc]] = {}
    for arc in rows:
        leaving.setdefault(arc[0], []).append(arc)
    words: dict[int, bytes] = {}
    # A state, the token read and the bytes written since the start, and the states in between.
    waiting: list[tuple[int, int | None, bytes, tuple[int, ...]]] = [(START, None, b"", ())]
    steps = 0
    while waiting:
        here, token, data, path = waiting.pop()
        for _, read, written, target in leaving.get(here, ()):
            steps += 1
            if steps > _MOST_WAYS * len(rows) or target in path:
                return None
            if read is not None and token is not None:
                return None
            now, so_far = (token if read is None else read), data + written
            if target != START:
                waiting.append((target, now, so_far, (*path, target)))
            elif now is None:
                if so_far:
                    return None
            elif words.setdefault(now, so_far) != so_far:
                return None
    return words
