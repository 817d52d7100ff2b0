"""The drawn machines: figures and layouts; the parts that do not depend on the position are made
once.

A page asks for the character FSA and the token DFA once per constraint, and again when the form
changes; the arcs of the present state are drawn on the same places. So figures and layouts are kept
as long as their token machine exists. A machine that is not a table has more arcs with every step.
If its machine over bytes is finite, its states keep their places, and only the arcs of the token
DFA are drawn anew.

`missing_arcs` adds the arcs of a position to a cut drawing. A token DFA of thousands of arcs is
drawn with the largest arcs of each state. At a position the page needs more: all arcs from the
present state, and those of the path. They are routed between the existing places, so nothing is
laid out again and nothing moves.

Cost: see `widgets.figures.drawing.layout` for the first time; afterwards a look-up. For missing
arcs: the arcs of one state, and one for each token of the path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from explorer.automata.machine import whole_table
from explorer.decoding.trace.trace import Trace
from explorer.memo import memo
from explorer.tokens.machine import TokenMachine, table_of
from explorer.tokens.walks.failing import run
from widgets.figures.drawing.columns import Places, place
from widgets.figures.drawing.geometry import MARGIN, Layout, Routed, Wire, points_of
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.drawing.routing import Router
from widgets.figures.machines.arcs import arcs_of
from widgets.figures.machines.character_fsa import Form, character_figure, character_view
from widgets.figures.machines.machine_figure import Edge, MachineFigure, check_size
from widgets.figures.machines.token_dfa import ahead, token_figure


@dataclass(frozen=True)
class Missing:
    """Arcs to add to a drawing.

    Args:
        top, bottom: The vertical range that shows them; it may extend beyond the frame.
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
        states: Token states along the path, the present one last; sentinels are skipped.

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
    missing: dict[str, Edge] = {}
    for number, state in enumerate(path):
        source = arcs.name(state)
        last = number == len(path) - 1
        targets = None if last else [arcs.name(path[number + 1])]
        if not last and f"{source}-{arcs.name(path[number + 1])}" in drawn:
            continue
        for edge in arcs.edges(arcs.members[source], targets):
            if edge.id not in drawn:
                missing[edge.id] = edge
    nodes = {name: node for name, node in layout.nodes.items() if name != "done"}
    ghosts = frozenset(node.id for node in figure.nodes if node.kind == "ghost")
    router = Router(nodes, ghosts, start=next((n.id for n in figure.nodes if n.start), None))
    for curve in layout.edges.values():
        router.labels.keep_off(points_of(curve.path))
        if not curve.tucked:
            router.labels.keep_free(curve.box)
    wires = [Wire(e.id, e.source, e.target, e.label) for e in missing.values()]
    places = router.route(
        (wire for wire in wires if wire.target != "done"),
        (wire for wire in wires if wire.target == "done"),
    )
    boxes = [place.reach for place in places.values()]
    boxes += [place.box for place in places.values() if not place.tucked]
    top = min([0.0, *(box[1] - MARGIN for box in boxes)])
    bottom = max([layout.height, *(box[3] + MARGIN for box in boxes)])
    return Missing(tuple(missing.values()), places, top, bottom)


@dataclass(frozen=True)
class Drawn:
    """Figures and their layouts.

    Args:
        figures, layouts: By the names ``character_fsa`` and ``token_dfa``.
    """

    figures: Mapping[str, MachineFigure]
    layouts: Mapping[str, Layout]


def drawn_states(machine: TokenMachine, form: Form = "characters") -> int:
    """The number of nodes of the character FSA when it is drawn whole."""
    view = character_view(machine)
    return len(view.steps if form == "bytes" else view.arcs)


def drawn_whole(machine: TokenMachine) -> bool:
    """Whether the machines are drawn whole without a request, once for all positions."""
    return table_of(machine) is not None and check_size(drawn_states(machine))


def draw_whole(machine: TokenMachine, form: Form = "characters") -> Drawn:
    """The two machines drawn whole.

    Raises:
        ExplorerError: There are more than 2,000 states.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"d"], eos_ids=[3])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> found = draw_whole(dfa)
        >>> sorted(found.layouts), draw_whole(dfa) is found
        (['character_fsa', 'token_dfa'], True)
    """
    return _draw(machine, form) if table_of(machine) is None else _draw_table(machine, form)


def _draw(machine: TokenMachine, form: Form) -> Drawn:
    check_size(drawn_states(machine, form), whole=True)
    figures = {
        "character_fsa": character_figure(machine, form),
        "token_dfa": token_figure(machine, form=form),
    }
    return Drawn(figures, lay_out_figures(figures, whole=True))


_draw_table = memo(_draw)


def draw_at(machine: TokenMachine, trace: Trace, k: int, form: Form = "characters") -> Drawn:
    """The two machines at a position: whole if that is readable, else the part near the position.

    Args:
        form: The form of the character FSA, if it is drawn whole.
    """
    states = [position.state for position in trace.positions[: k + 1]]
    if drawn_whole(machine):
        drawn = draw_whole(machine, form)
        token, layout = drawn.figures["token_dfa"], drawn.layouts["token_dfa"]
        if token.complete:
            return drawn
        more = missing_arcs(machine, token, layout, states, form)
        token = replace(token, edges=(*token.edges, *more.edges))
        layout = replace(layout, edges={**layout.edges, **more.places})
        return Drawn({**drawn.figures, "token_dfa": token}, {**drawn.layouts, "token_dfa": layout})
    byte_machine = machine.byte_machine
    if byte_machine is None:
        return Drawn({}, {})
    if whole_table(byte_machine) is not None and check_size(drawn_states(machine, form)):
        met = sorted({position.state for position in trace.positions if position.state >= 0})
        token = token_figure(machine, met=met, form=form)
        return _at_known_places(machine, token, form)
    if byte_machine.over_tokens:
        path = [machine.byte_state(state) for state in states if state >= 0]
    else:
        path = run(byte_machine, byte_machine.start, trace.positions[k].data).tolist()
    return Drawn(*ahead(machine, path, states))


@memo
def _places(machine: TokenMachine) -> dict[Form, tuple[MachineFigure, Places]]:
    """The places of a machine's states from its first drawing, by form."""
    return {}


def _at_known_places(machine: TokenMachine, token: MachineFigure, form: Form) -> Drawn:
    """The drawing of a token machine that is not a table; its states keep their places."""
    known = _places(machine)
    if form not in known:
        character = character_figure(machine, form)
        known[form] = (character, place(character, token).spread())
    character, places = known[form]
    figures = {"character_fsa": character, "token_dfa": token}
    return Drawn(figures, lay_out_figures(figures, places=places))
