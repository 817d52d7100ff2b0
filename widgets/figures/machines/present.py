"""The arcs at a position that a cut drawing lacks.

A token DFA of thousands of arcs is drawn with the largest of each state. At a position the page
needs more: every arc out of the present state, and those that the path took. They are routed onto
the places that the drawing has, so nothing is laid out again and nothing moves.

Cost: the arcs of one state, and one for each token of the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.tokens.machine import TokenMachine
from widgets.figures.drawing.frame import MARGIN, Layout
from widgets.figures.drawing.geometry import Routed, Wire, points_of
from widgets.figures.drawing.routing import Router
from widgets.figures.machines.arcs import arcs_of
from widgets.figures.machines.character_view import Form
from widgets.figures.machines.machine_figure import Edge, MachineFigure


@dataclass(frozen=True)
class Missing:
    """Arcs to add to a drawing.

    Args:
        edges: The edges with their words.
        places: Their curves, by id, in the drawing's own coordinates.
        top, bottom: The vertical range that is needed to see them; it may lie outside the frame.
    """

    edges: tuple[Edge, ...]
    places: dict[str, Routed]
    top: float
    bottom: float

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON."""
        return {
            "edges": [edge.to_dict() for edge in self.edges],
            "places": {name: place.to_dict() for name, place in self.places.items()},
            "top": round(self.top, 1),
            "bottom": round(self.bottom, 1),
        }


def missing_arcs(
    machine: TokenMachine,
    figure: MachineFigure,
    layout: Layout,
    states: Sequence[int],
    form: Form = "characters",
) -> Missing:
    """The arcs of the present state and of the path that a drawing lacks.

    Args:
        machine: The token machine.
        figure, layout: Its drawing.
        states: Token states along the path, the present one last; sentinels are passed over.
        form: How the drawing names its nodes.

    Example:
        >>> import explorer
        >>> from widgets.figures.machines.drawn import draw_whole
        >>> from widgets.figures.machines.token_dfa import token_figure
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"d"], eos_ids=[4])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> cut = token_figure(dfa, most=1)
        >>> layout = draw_whole(dfa).layouts["token_dfa"]
        >>> [edge.id for edge in missing_arcs(dfa, cut, layout, [dfa.start]).edges]
        ['q0-q3']
    """
    arcs = arcs_of(machine, form)
    drawn = {edge.id for edge in figure.edges}
    path = [state for state in states if state >= 0]
    found: dict[str, Edge] = {}
    for number, state in enumerate(path):
        source = arcs.name(state)
        last = number == len(path) - 1
        targets = None if last else [arcs.name(path[number + 1])]
        if not last and f"{source}-{arcs.name(path[number + 1])}" in drawn:
            continue
        for edge in arcs.edges(arcs.members[source], targets):
            if edge.id not in drawn:
                found[edge.id] = edge
    nodes = {name: node for name, node in layout.nodes.items() if name != "done"}
    ghosts = frozenset(node.id for node in figure.nodes if node.kind == "ghost")
    router = Router(nodes, ghosts, start=next((n.id for n in figure.nodes if n.start), None))
    for place in layout.edges.values():
        router.labels.keep_off(points_of(place.path))
        if not place.tucked:
            router.labels.keep_free(place.box)
    wires = [Wire(e.id, e.source, e.target, e.label) for e in found.values()]
    places = router.route(
        (wire for wire in wires if wire.target != "done"),
        (wire for wire in wires if wire.target == "done"),
    )
    boxes = [place.reach for place in places.values()]
    boxes += [place.box for place in places.values() if not place.tucked]
    top = min([0.0, *(box[1] - MARGIN for box in boxes)])
    bottom = max([layout.height, *(box[3] + MARGIN for box in boxes)])
    return Missing(tuple(found.values()), places, top, bottom)
