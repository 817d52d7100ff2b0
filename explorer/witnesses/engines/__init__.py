"""Other engines of constrained decoding, each adapted to the same small interface.

An engine is made once per vocabulary, compiles a constraint in its own way, and answers which ids
are allowed along a sequence of ids. Every engine runs on one thread and caches nothing between two
compilations. Their Python libraries are optional (the extra ``witnesses``) and are imported only by
the file that adapts them, so that an engine's process loads one library alone.

Read in this order: this file (the interface and the registry), `outlines`, `xgrammar_`,
`llguidance_`. A new engine is one file with an ``ENGINE`` and one line in `ENGINES`.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from explorer.witnesses.messages import Statement

Ids = frozenset[int]
Row = NDArray[np.bool_]
"""bool[len(vocabulary)], the ids that an engine allows."""

ENGINES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "outlines-core": "outlines",
        "xgrammar": "xgrammar_",
        "llguidance": "llguidance_",
    }
)
"""The module here that adapts each distribution, in the order of every table."""


UNASKED: Final[Row] = np.zeros(0, np.bool_)
"""The placeholder for a mask that was not asked for."""


class NotRead(Exception):
    """An engine has no way to read a kind of constraint."""


@dataclass(frozen=True)
class Tokens:
    """A vocabulary as plain data: the bytes of each id, ``None`` where it is not text."""

    tokens: Sequence[bytes | None]
    eos: int

    def ids(self) -> dict[bytes, list[int]]:
        """The ids of each byte string."""
        by_bytes: dict[bytes, list[int]] = {}
        for token, data in enumerate(self.tokens):
            if data is not None:
                by_bytes.setdefault(data, []).append(token)
        return by_bytes


class Peer:
    """The base of the adapters: a method for each kind of constraint, refused by default."""

    def __init__(self, tokens: Tokens) -> None:
        self.size = len(tokens.tokens)
        self.eos = tokens.eos

    def read(self, statement: Statement) -> Any:
        """The engine's own compiled form of a constraint of any kind."""
        if statement.kind == "regex":
            return self.compile(statement.text)
        if statement.kind == "json_schema":
            return self.compile_schema(statement.text, statement.whitespace, statement.any_order)
        return self.compile_grammar(statement.text, statement.kind)

    @abstractmethod
    def compile(self, pattern: str) -> Any:
        """The engine's own compiled form of a pattern."""

    def compile_schema(self, schema: str, whitespace: str, any_order: bool) -> Any:
        """The engine's own compiled form of a JSON Schema.

        Args:
            schema: The schema as JSON text.
            whitespace: ``"compact"``, or anything else for the engine's own default.
            any_order: Whether members may come in any order; an engine without that option ignores
                it.
        """
        raise NotRead(f"JSON Schemas, {schema[:20]!r} for one.")

    def compile_grammar(self, grammar: str, syntax: str) -> Any:
        """The engine's own compiled form of a grammar.

        Args:
            syntax: ``"gbnf"`` or ``"lark"``.
        """
        raise NotRead(f"grammars ({syntax}, {len(grammar):,} characters).")

    @abstractmethod
    def rows(self, compiled: Any, tokens: Sequence[int], last: bool = False) -> Iterator[Row]:
        """The masks before each of these tokens and after the last; fewer if one is not allowed.

        Args:
            compiled: The result of one of the methods above.
            last: Whether only the mask after the last token is wanted; the others are `UNASKED`.
        """

    def row_of(self, words: NDArray[Any]) -> Row:
        """The mask in packed bits, little-endian."""
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        return bits[: self.size].astype(np.bool_)

    def accepts(self, compiled: Any, tokens: Sequence[int]) -> bool:
        """Whether the text may end after exactly these tokens."""
        rows = list(self.rows(compiled, tokens, True))
        return len(rows) > len(tokens) and bool(rows[-1][self.eos])

    def masks(self, compiled: Any, tokens: Sequence[int]) -> list[Ids]:
        """The masks along some tokens, as sets of ids."""
        return [frozenset(np.flatnonzero(row).tolist()) for row in self.rows(compiled, tokens)]


def peer(name: str, tokens: Tokens) -> Any:
    """Import the library of an engine, and prepare it for a vocabulary.

    Args:
        name: A key of `ENGINES`.

    Raises:
        ImportError: The library is not installed.
    """
    return importlib.import_module(f"{__name__}.{ENGINES[name]}").ENGINE(tokens)


class Greedy:
    """Longest-match tokenization over a vocabulary's bytes.

    Every engine is given the same ids, so that engines are compared and not tokenizers.

    Args:
        tokens: The vocabulary; a byte at which none of its tokens fits is skipped.
        longest: The most bytes of a token; 1 encodes byte by byte.
    """

    def __init__(self, tokens: Tokens, longest: int | None = None) -> None:
        self.ids = {data: ids[0] for data, ids in tokens.ids().items()}
        self.longest = longest or max(map(len, self.ids), default=1)

    def __call__(self, text: str | bytes) -> list[int]:
        """The token ids that spell a text."""
        data = text.encode() if isinstance(text, str) else text
        written: list[int] = []
        at = 0
        while at < len(data):
            for length in range(min(self.longest, len(data) - at), 0, -1):
                token = self.ids.get(data[at : at + length])
                if token is not None:
                    written.append(token)
                    at += length
                    break
            else:
                at += 1
        return written
