"""An NFA, and where its arcs came from: a node of the tree, the source whose text it stands in."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.automata.machine import Int32, Nfa
from explorer.automata.tree.nodes import Call, Closed, Leaf, Source, Texts


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The origin of an arc.

    Args:
        source: Whose text its span counts in; ``None`` outside any source.
        label: What the place is called beside its span; empty if it has no name.
    """

    node: Leaf | Texts | Closed | Call
    source: Source | None = None
    label: str = ""
    before: bytes = b""

    @property
    def start(self) -> int:
        """The beginning of its span, in characters of the source's text."""
        return self.node.start

    @property
    def end(self) -> int:
        """The end of its span."""
        return self.node.end


@dataclass(frozen=True, slots=True)
class Built:
    """An NFA, and where its arcs come from.

    Args:
        origins: The origins, each once, in the order of the tree; empty without origin.
        arc_origin: int32[arcs], the index into ``origins`` for each row of ``nfa.arcs``, or −1 for
            the mark of an assertion; ``None`` without origin.
    """

    nfa: Nfa
    origins: tuple[Origin, ...] = ()
    arc_origin: Int32 | None = None
