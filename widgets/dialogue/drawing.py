"""What the page asks about drawings: another form, the whole of a large machine, one arc.

A layout may take seconds, so its answer comes later (`widgets.dialogue.editing.Later`), and what is
asked meanwhile is answered meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from explorer.errors import ExplorerError
from explorer.tokens.token_dfa import TokenDFA
from widgets.dialogue.editing import Later
from widgets.figures.machines.character_fsa import Form
from widgets.figures.machines.drawn import draw_whole
from widgets.figures.machines.present import missing_arcs
from widgets.figures.machines.token_dfa import Arcs

if TYPE_CHECKING:
    from widgets.dialogue.controller import Controller

Packet = dict[str, object]
Message = Mapping[str, Any]


def _later(make: Callable[[], Packet]) -> Later:
    """Made on a thread, said when it is there; nothing has to be put in place."""

    def work() -> Callable[[], Packet]:
        found = make()
        return lambda: found

    return Later(work)


def _asked(controller: Controller, content: Message) -> tuple[TokenDFA, Form]:
    dfa = controller.session.dfa
    if dfa is None:
        raise ExplorerError("There is no constraint, so there is no machine to draw.")
    return dfa, "bytes" if content.get("form") == "bytes" else "characters"


def _draw(controller: Controller, content: Message) -> Later:
    """Both machines whole, in one of the forms; refused above 2,000 states."""
    dfa, form = _asked(controller, content)

    def make() -> Packet:
        drawn = draw_whole(dfa, form)
        machines = {name: figure.to_dict() for name, figure in drawn.figures.items()}
        layouts = {name: layout.to_dict() for name, layout in drawn.layouts.items()}
        return {"drawing": {"machines": machines, "layouts": layouts}}

    return _later(make)


def _present(controller: Controller, content: Message) -> Packet | Later:
    """The arcs where we are that the drawing lacks."""
    if content.get("seen", controller.session.generation) != controller.session.generation:
        return {"present": None}
    dfa, form = _asked(controller, content)
    positions = controller.cursor.full_trace().positions
    k = int(content["k"])
    if not 0 <= k < len(positions):
        raise ExplorerError(f"There is no position {k}.", remedy="Step or jump first.")
    states = [position.state for position in positions[: k + 1]]

    def make() -> Packet:
        drawn = draw_whole(dfa, form)
        figure, layout = drawn.figures["token_dfa"], drawn.layouts["token_dfa"]
        return {"present": missing_arcs(dfa, figure, layout, states, form).to_dict()}

    return _later(make)


def _arc(controller: Controller, content: Message) -> Packet:
    """All token classes of an arc of the token DFA; the page knows the classes' tokens."""
    dfa, form = _asked(controller, content)
    arcs = Arcs(dfa, form)
    leads = arcs.classes(arcs.members.get(str(content["source"]), ()))
    return {"classes": sorted(leads.get(str(content["target"]), []))}


HANDLERS: Final[dict[str, Callable[[Controller, Message], Packet | Later]]] = {
    "draw": _draw,
    "present": _present,
    "arc": _arc,
}
