"""Other engines of constrained decoding, each behind the same few questions.

An engine is made once per vocabulary, reads a constraint in its own way, and answers which ids are
allowed along a sequence of ids. Every engine runs on one thread and keeps nothing between two
compiles. Their Python libraries are optional (the extra ``witnesses``) and are imported only by the
file that speaks to them, so that a process of a witness loads one library alone.

Read in this order: this file (the protocol and the registry), `outlines`, `xgrammar_`,
`llguidance_`. A new engine is one file with an ``ENGINE`` and one line in `ENGINES`.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol

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
"""The name of a distribution → the module here that speaks to it, in the order of every table."""


UNASKED: Final[Row] = np.zeros(0, np.bool_)
"""In place of a mask that nobody asked for."""


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


class Engine(Protocol):
    """One compiler of patterns on one vocabulary."""

    def compile(self, pattern: str) -> Any:
        """A pattern, as the engine reads it."""
        ...

    def first_mask(self, compiled: Any) -> Callable[[], object]:
        """A call that computes the mask of the start, made ready but not yet run."""
        ...

    def masks(self, compiled: Any, tokens: Sequence[int]) -> list[Ids]:
        """The allowed ids before each of these tokens and after the last; shorter if one is not."""
        ...

    def accepts(self, compiled: Any, tokens: Sequence[int]) -> bool:
        """Whether the text may end after exactly these tokens."""
        ...


class Peer:
    """An engine of somebody else; each kind of constraint that it reads is a method."""

    size: int

    @abstractmethod
    def compile(self, pattern: str) -> Any:
        """A pattern, as the engine reads it."""

    def compile_schema(self, schema: str, whitespace: str, any_order: bool) -> Any:
        """A JSON Schema, as the engine reads it.

        Args:
            schema: The schema as JSON text.
            whitespace: ``"compact"``, or anything else for the engine's own default.
            any_order: Whether members may come in any order, where the engine can be told.
        """
        raise NotRead(f"JSON Schemas, {schema[:20]!r} for one.")

    def compile_grammar(self, grammar: str, syntax: str) -> Any:
        """A grammar, as the engine reads it.

        Args:
            grammar: The text.
            syntax: ``"gbnf"`` or ``"lark"``.
        """
        raise NotRead(f"grammars ({syntax}, {len(grammar):,} characters).")

    def own_pattern(self, statement: Statement) -> str | None:
        """The pattern with which the engine matches texts, if it does so with one.

        Args:
            statement: A constraint.
        """
        return None

    @abstractmethod
    def rows(self, compiled: Any, tokens: Sequence[int], last: bool = False) -> Iterator[Row]:
        """The masks before each of these tokens and after the last; fewer if one is not allowed.

        Args:
            compiled: What a method above returned.
            tokens: The ids.
            last: Whether only the mask after the last is wanted; the others are `UNASKED` then.
        """

    def rolled_back(
        self, compiled: Any, tokens: Sequence[int], drafts: Sequence[Sequence[int]]
    ) -> Iterator[Row]:
        """The mask after some tokens, and again after each of some drafts, one matcher throughout.

        Of a draft the tokens are accepted as far as they are allowed, and then rolled back, as a
        speculative decoder does. Nothing where the tokens themselves are not allowed.
        """
        raise NotRead("rolling back: there is no call for it.")

    def masks(self, compiled: Any, tokens: Sequence[int]) -> list[Ids]:
        """The same masks as sets of ids."""
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

    The same ids go to every engine, so that engines are compared and not tokenizers.

    Args:
        tokens: The vocabulary; every single byte is a token of it, or what lacks is left out.
        longest: Use no token of more bytes than this; 1 writes byte by byte.
    """

    def __init__(self, tokens: Tokens, longest: int | None = None) -> None:
        self.ids = {data: ids[0] for data, ids in tokens.ids().items()}
        self.longest = longest or max(map(len, self.ids), default=1)

    def __call__(self, text: str | bytes) -> list[int]:
        """Token ids whose bytes, joined, are the text's."""
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
