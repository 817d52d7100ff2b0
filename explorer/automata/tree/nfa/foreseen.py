"""The size of a long sequence as an automaton, known before the first of its pieces is laid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from explorer.automata.tree.charset import CharSet
from explorer.automata.tree.nodes import Class, Concat, Dot, Group, Literal, Repeat
from explorer.automata.tree.utf8 import Fragment
from explorer.budget import Meter

STAGE: Final = "Writing out the pattern as an automaton"

MANY: Final = 4096
"""How many pieces of a sequence are looked at between two looks at the clock."""


def foreseen(node: Concat, write: Callable[[CharSet], Fragment], meter: Meter) -> tuple[int, int]:
    """The fewest states and arcs that a sequence takes: those of its leaves, each once.

    Args:
        node: The sequence.
        write: The machine of a set of characters.
        meter: Watches the time.
    """
    states, arcs = len(node.items), 0
    for k, item in enumerate(node.items):
        if k % MANY == 0:
            meter.check_time(STAGE)
        leaf = item
        while isinstance(leaf, Group) or (isinstance(leaf, Repeat) and leaf.maximum != 0):
            leaf = leaf.body
        if isinstance(leaf, Literal | Class | Dot):
            fragment = write(leaf.chars)
            states += fragment.num_inner
            arcs += len(fragment.arcs)
    return states, arcs
