"""The origin of an arc or a call of a program: a node of the tree, and the source whose text it
stands in."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.automata.tree.nodes import Call, Closed, Leaf, Source, Texts


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The origin of an arc or a call.

    Args:
        source: Whose text its span counts in; ``None`` outside any source.
        label: What the place is called beside its span; empty if it has no name.
        phases: The phases that it is in, the outermost first.
    """

    node: Leaf | Texts | Closed | Call
    source: Source | None = None
    label: str = ""
    before: bytes = b""
    phases: tuple[str, ...] = ()

    @property
    def start(self) -> int:
        """The beginning of its span, in characters of the source's text."""
        return self.node.start

    @property
    def end(self) -> int:
        """The end of its span."""
        return self.node.end
