"""A machine for a drawing: nodes and edges with words, before they have places.

The three machines of the pipeline become three values of one type, so that one renderer, one
layout, one table for screen readers and one snapshot serve them all. Names connect them: the
character state 7 is the node ``c7``; a token state has the name of its character state, ``q7``; a
prefix of the detokenizing FST is ``t`` and its bytes in hexadecimal, its root ``t``. An edge is
named by its ends, ``c0-c7``, because arcs between the same two states are one edge.

Everything is data; the labels hold token text, which must not be read as markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from explorer.errors import ExplorerError

NodeKind = Literal["state", "dot", "ghost", "prefix", "root", "done"]
"""The kinds: a state; a state in the middle of a character; a character state that is not a token
state; a prefix of tokens; the root of the detokenizing FST; the end of the text."""

MachineName = Literal["character_fsa", "detokenizing_fst", "token_dfa", "stage"]

WHOLE: Final = 300
"""The most nodes of a machine that is drawn whole without a request."""

WHOLE_ON_REQUEST: Final = 2_000
"""The most nodes of a machine that is drawn whole on request."""

GROUPED: Final = 100
"""The most edges of a figure that is sent with the token classes of each edge."""


@dataclass(frozen=True, slots=True)
class FigureNode:
    """A state."""

    id: str
    label: str
    kind: NodeKind = "state"
    accepting: bool = False
    start: bool = False
    title: str = ""

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {
            "id": self.id,
            "label": self.label,
            "kind": self.kind,
            "accepting": self.accepting,
            "start": self.start,
            "title": self.title,
        }


@dataclass(frozen=True, slots=True)
class TokenGroup:
    """One token class on an edge."""

    token_class: int
    count: int
    label: str
    tokens: tuple[int, ...]

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {
            "class": self.token_class,
            "count": self.count,
            "label": self.label,
            "tokens": list(self.tokens),
        }


@dataclass(frozen=True, slots=True)
class Edge:
    """All arcs between two states.

    Args:
        groups: Its token classes, the largest first; ``num_groups`` is their total number.
        masked: Those of ``tokens`` that are masked in the present state.
        refused: Whether no token passes it in the present state: all tokens through it are masked,
            and fail at its byte.
    """

    source: str
    target: str
    label: str
    title: str
    count: int
    bytes: tuple[tuple[int, int], ...] | None = None
    tokens: tuple[int, ...] | None = None
    groups: tuple[TokenGroup, ...] = ()
    num_groups: int = 0
    masked: tuple[int, ...] = ()
    refused: bool = False

    @property
    def id(self) -> str:
        """Its name."""
        return f"{self.source}-{self.target}"

    @property
    def token_class(self) -> int | None:
        """The token class, if it has exactly one."""
        return self.groups[0].token_class if self.num_groups == 1 and self.groups else None

    def to_dict(self, *, groups: bool = True) -> dict[str, object]:
        """As plain values.

        Args:
            groups: Include its token classes, if there are several.
        """
        packet: dict[str, object] = {
            "id": self.id,
            "source": self.source,
            "target": self.target,
            "label": self.label,
            "title": self.title,
            "count": self.count,
            "bytes": None if self.bytes is None else [list(pair) for pair in self.bytes],
            "tokens": None if self.tokens is None else list(self.tokens),
            "class": self.token_class,
        }
        if self.masked:
            packet["masked"] = list(self.masked)
        if self.refused:
            packet["refused"] = True
        if self.num_groups > 1:
            packet["num_groups"] = self.num_groups
            if groups:
                packet["groups"] = [group.to_dict() for group in self.groups]
        return packet


@dataclass(frozen=True)
class MachineFigure:
    """A machine to be drawn.

    Args:
        name: The name of the machine.
        caption: A description of the part that is shown, in words that fit beside its name.
        complete: Whether the whole machine is shown.
        nodes, edges: The nodes and edges that are drawn.
        alias: Nodes that stand for others: a state that is not drawn, and the node that is.
        about: The whole description, if the caption leaves something out.

    Raises:
        ExplorerError: Two nodes or two edges have one name, or an edge leads to no node.
    """

    name: MachineName
    caption: str
    complete: bool
    nodes: tuple[FigureNode, ...]
    edges: tuple[Edge, ...]
    alias: Mapping[str, str] = field(default_factory=dict[str, str])
    about: str = ""

    def __post_init__(self) -> None:
        known = {node.id for node in self.nodes}
        named = {edge.id for edge in self.edges}
        loose = [e.id for e in self.edges if e.source not in known or e.target not in known]
        if len(known) < len(self.nodes) or len(named) < len(self.edges) or loose:
            raise ExplorerError(
                f"The figure {self.name} has doubled names, or edges without ends: {loose[:3]}.",
                remedy="Give every node one name and every pair of nodes one edge.",
                evidence={"nodes": len(self.nodes), "edges": len(self.edges), "loose": loose[:3]},
            )

    def node_of(self, name: str) -> str:
        """The node that stands for a state; its own node if it is drawn."""
        return self.alias.get(name, name)

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON, as the page reads them.

        With more than `GROUPED` edges they come without their token classes.
        """
        groups = len(self.edges) <= GROUPED
        return {
            "name": self.name,
            "caption": self.caption,
            "about": self.about or self.caption,
            "complete": self.complete,
            "nodes": [node.to_dict() for node in self.nodes],
            "edges": [edge.to_dict(groups=groups) for edge in self.edges],
            "alias": dict(self.alias),
        }


def base(name: str) -> str:
    """The name of a node without the suffix that distinguishes token states of one character state.

    Example:
        >>> base("q7"), base("q7~1")
        ('q7', 'q7')
    """
    return name.partition("~")[0]


def check_size(count: int, *, whole: bool = False) -> bool:
    """Whether a machine of this number of states is drawn whole.

    Returns:
        ``False``: draw the path so far and the arcs ahead (`widgets.figures.machines.token_dfa`).

    Raises:
        ExplorerError: The whole machine was asked for and is too large to be read.
    """
    if whole and count > WHOLE_ON_REQUEST:
        raise ExplorerError(
            f"The machine has {count:,} states; at most {WHOLE_ON_REQUEST:,} are drawn as a whole.",
            remedy="Follow the path with the arcs ahead, or walk the machine as a table.",
            evidence={"states": count, "limit": WHOLE_ON_REQUEST},
        )
    return whole or count <= WHOLE
