"""Where an arc of an NFA came from: a node of the tree, and the source whose text it stands in."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.automata.tree.nodes import Closed, Leaf, Source, Texts


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """What an arc came from.

    Args:
        node: The leaf of the tree.
        source: Whose text its span counts in; ``None`` outside any source.
        label: What the place is called beside its span; empty if it has no name.
        before: For texts: what of them stands before the arc, in bytes.
    """

    node: Leaf | Texts | Closed
    source: Source | None = None
    label: str = ""
    before: bytes = b""

    @property
    def start(self) -> int:
        """Where its span begins, in characters of the source's text."""
        return self.node.start

    @property
    def end(self) -> int:
        """Where its span ends."""
        return self.node.end
