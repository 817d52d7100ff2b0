"""The kind of source that is another one read through a transducer from token ids to bytes.

Its words are the sequences of tokens for which the transducer can write a word of the part. It is
made by ``explorer.compile(c, transducer=T)`` if T has memory between tokens; if each token always
writes the same bytes, a vocabulary is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self, cast

from explorer.alphabet import letter
from explorer.arguments import listed, whole_number
from explorer.automata.construction.token_sequences import token_sequences
from explorer.automata.machine import Dfa
from explorer.automata.tree.build import build, texts_of
from explorer.automata.tree.nodes import Node, Source, TokenPiece
from explorer.budget import Meter
from explorer.languages.sources.algebra import Combination
from explorer.languages.sources.registry import register

Row = tuple[int, int | None, bytes, int]


@register("transducer")
@dataclass(frozen=True)
class Detokenized(Combination):
    """A source behind a transducer.

    Args:
        part: The texts that the transducer must write.
        rows: The arcs of the transducer, ``(source, token or None, bytes, target)``.
        accepting: The states in which a text may end.
        names: The bytes that stand for each token: its text, or its letter.
    """

    kind: ClassVar[str] = "detokenized"

    part: Source
    rows: tuple[Row, ...] = field(repr=False)
    accepting: frozenset[int]
    names: tuple[tuple[int, bytes], ...] = field(repr=False)

    @property
    def over_tokens(self) -> bool:
        """True: the same text may be allowed in some tokens and not in others."""
        return True

    def combined(self, trees: tuple[Any, ...]) -> Node:
        """A machine over whole tokens, as one node."""
        tokens = partial(self._tokens, cast("Node", trees[0]))
        return TokenPiece(0, 0, tokens, partial(_texts, tokens))

    def _tokens(self, part: Node) -> Dfa:
        meter = Meter()
        known = dict(self.names)
        read = {token for _, token, _, _ in self.rows if token is not None}
        names = {token: known.get(token) or letter("", token) for token in read}
        return token_sequences(self.rows, self.accepting, names, build(part, meter), meter)

    def fields(self) -> dict[str, object]:
        """The arcs, with bytes in hexadecimal."""
        return {
            "rows": [[s, token, data.hex(), t] for s, token, data, t in self.rows],
            "accepting": sorted(self.accepting),
            "names": [[token, data.hex()] for token, data in self.names],
        }

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The source that was saved."""

        def number(value: object) -> int:
            return whole_number("a number of a transducer", value)

        rows = tuple(
            (number(s), None if token is None else number(token), bytes.fromhex(data), number(t))
            for s, token, data, t in cast("list[Any]", fields["rows"])
        )
        names = tuple(
            (number(token), bytes.fromhex(data))
            for token, data in cast("list[Any]", fields["names"])
        )
        ends = listed("accepting", fields["accepting"], "a list of states")
        return cls(children[0], rows, frozenset(map(number, ends)), names)

    def written(self, parts: list[str]) -> str:
        """The part, and the size of the transducer; Python has no expression for it."""
        return f"{parts[0]} behind a transducer of {len(self.rows):,} arcs"


def _texts(tokens: Any) -> Dfa:
    """The machine over the bytes of the tokens, without the ends of tokens."""
    return texts_of(tokens(), Meter())
