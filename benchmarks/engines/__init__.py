"""Ours and three peers with one interface, each fed the same token bytes.

The peers are those of `explorer.witnesses.engines`; ours are here in one file each. The answers are
how `languages` asserts that all engines compiled the same language. Every engine runs on one thread
and keeps nothing between two compiles of a pattern. Nothing is imported here but the protocol, so
that a cold start measures one library alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from explorer.witnesses.engines import ENGINES, Greedy, Ids, Tokens

__all__ = ["MODULES", "Engine", "Greedy", "Ids", "Tokens", "make"]


class Engine(Protocol):
    """A compiler of patterns for one vocabulary."""

    def compile(self, pattern: str) -> Any:
        """The engine's own compiled form of a pattern."""
        ...

    def first_mask(self, compiled: Any) -> Callable[[], object]:
        """A prepared call that computes the mask of the start state when it is run."""
        ...

    def masks(self, compiled: Any, tokens: Sequence[int]) -> list[Ids]:
        """The allowed ids before each token and after the last; stops at a token not allowed."""
        ...

    def accepts(self, compiled: Any, tokens: Sequence[int]) -> bool:
        """Whether the text may end after exactly these tokens."""
        ...


MODULES: Final = {
    "explorer": f"{__name__}.ours",
    "explorer, lazy": f"{__name__}.ours_lazy",
    **{name: f"explorer.witnesses.engines.{module}" for name, module in ENGINES.items()},
}
"""Name in the tables → module, in the order of every table; ours first."""


def make(name: str, tokens: Tokens) -> Engine:
    """Import a library and prepare it for a vocabulary."""
    return importlib.import_module(MODULES[name]).ENGINE(tokens)
