"""Ours and three peers behind one protocol, each fed the same token bytes.

An engine is made once per vocabulary (its own preparation, not timed with the compiles), compiles a
pattern string, and answers two questions about what it compiled: which ids are allowed along a
sequence of ids, and whether the sequence ends a word. The answers are how `languages` asserts that
all engines compiled the same language. Every engine runs on one thread and keeps nothing between
two compiles of a pattern.

One file per library and nothing imported here, so that a cold start measures one library alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

Ids = frozenset[int]

MODULES: Final = {
    "explorer": "ours",
    "explorer, lazy": "ours_lazy",
    "outlines-core": "outlines",
    "xgrammar": "xgrammar_",
    "llguidance": "llguidance_",
}
"""Name in the tables → module here, in the order of every table; ours first."""


@dataclass(frozen=True)
class Tokens:
    """A vocabulary as plain data: the bytes of each id, ``None`` where it is not text."""

    tokens: Sequence[bytes | None]
    eos: int

    def ids(self) -> dict[bytes, list[int]]:
        """The ids of each byte string."""
        found: dict[bytes, list[int]] = {}
        for token, data in enumerate(self.tokens):
            if data is not None:
                found.setdefault(data, []).append(token)
        return found


class Engine(Protocol):
    """One compiler on one vocabulary."""

    def compile(self, pattern: str) -> Any: ...

    def first_mask(self, compiled: Any) -> Callable[[], object]:
        """A call that computes the mask of the start, made ready but not yet run."""
        ...

    def masks(self, compiled: Any, tokens: Sequence[int]) -> list[Ids]:
        """The allowed ids before each of these tokens and after the last; shorter if one is not."""
        ...

    def accepts(self, compiled: Any, tokens: Sequence[int]) -> bool:
        """Whether the text may end after exactly these tokens."""
        ...


def make(name: str, tokens: Tokens) -> Engine:
    """Import a library and prepare it for a vocabulary."""
    return importlib.import_module(f"{__name__}.{MODULES[name]}").ENGINE(tokens)


class Greedy:
    """Longest-match tokenization over a vocabulary's bytes.

    The same ids go to every engine, so that engines are compared and not tokenizers.

    Args:
        tokens: The vocabulary; every single byte is a token of it.
        longest: Use no token of more bytes than this; 1 writes byte by byte.
    """

    def __init__(self, tokens: Tokens, longest: int | None = None) -> None:
        self.ids = {data: ids[0] for data, ids in tokens.ids().items()}
        self.longest = longest or max(map(len, self.ids))

    def __call__(self, text: str | bytes) -> list[int]:
        """Token ids whose bytes, joined, are the text's."""
        data = text.encode() if isinstance(text, str) else text
        found: list[int] = []
        while data:
            length = next(
                n for n in range(min(self.longest, len(data)), 0, -1) if data[:n] in self.ids
            )
            found.append(self.ids[data[:length]])
            data = data[length:]
        return found
