"""The drawn machines: figures and layouts; the parts that do not depend on the position are made
once.

A page asks for the character FSA and the token DFA once per constraint, and again when the form
changes; the arcs of the present state are drawn on the same places. So figures and layouts are kept
as long as their token machine exists. A machine that is not a table has more arcs with every step.
If its machine over bytes is finite, its states keep their places, and only the arcs of the token
DFA are drawn anew.

A token DFA of hundreds of arcs cannot be read as a whole: the part near the position is drawn.

Cost: see `widgets.figures.drawing.layout` for the first time; afterwards a look-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.automata.machine import run, whole_table
from explorer.decoding.trace.trace import Trace
from explorer.memo import memo
from explorer.tokens.machine import TokenMachine, table_of
from widgets.figures.drawing.columns import Places, place
from widgets.figures.drawing.geometry import Layout
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.machines.character_fsa import Form, character_figure, character_view
from widgets.figures.machines.machine_figure import MachineFigure, check_size
from widgets.figures.machines.token_dfa import ahead, token_figure


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
    few = table_of(machine) is not None and check_size(drawn_states(machine))
    return few and _token_dfa(machine).complete


@memo
def _token_dfa(machine: TokenMachine) -> MachineFigure:
    return token_figure(machine)


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
        return draw_whole(machine, form)
    byte_machine = machine.byte_machine
    if byte_machine is None:
        return Drawn({}, {})
    finite = table_of(machine) is None and whole_table(byte_machine) is not None
    if finite and check_size(drawn_states(machine, form)):
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
