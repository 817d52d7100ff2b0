"""Ours and three peers behind one protocol, each fed the same token bytes.

The peers are those of `explorer.witnesses.engines`, which has the protocol too; ours stand here in
one file each. The answers are how `languages` asserts that all engines compiled the same language.
Every engine runs on one thread and keeps nothing between two compiles of a pattern. Nothing is
imported here but the protocol, so that a cold start measures one library alone.
"""

from __future__ import annotations

import importlib
from typing import Final

from explorer.witnesses.engines import ENGINES, Engine, Greedy, Ids, Tokens

__all__ = ["MODULES", "Engine", "Greedy", "Ids", "Tokens", "make"]

MODULES: Final = {
    "explorer": f"{__name__}.ours",
    "explorer, lazy": f"{__name__}.ours_lazy",
    **{name: f"explorer.witnesses.engines.{module}" for name, module in ENGINES.items()},
}
"""Name in the tables → module, in the order of every table; ours first."""


def make(name: str, tokens: Tokens) -> Engine:
    """Import a library and prepare it for a vocabulary."""
    return importlib.import_module(MODULES[name]).ENGINE(tokens)
