"""The two machines with the same states, drawn whole: figures and layouts, worked out once.

A page asks for them with the constraint, once more when the form changes, and the arcs of the
present state (`widgets.figures.machines.present`) are drawn onto the very same places. So they are
kept as long as their token DFA is.

Cost: see `widgets.figures.drawing.layout`; the second time none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from explorer.tokens.token_dfa import TokenDFA
from widgets.figures.drawing.layout import Layout, lay_out
from widgets.figures.machines.character_fsa import Form, character_figure, character_view
from widgets.figures.machines.machine_figure import MachineFigure, check_size
from widgets.figures.machines.token_dfa import token_figure


@dataclass(frozen=True)
class Drawn:
    """Figures and their layouts.

    Args:
        figures, layouts: By the names ``character_fsa`` and ``token_dfa``.
    """

    figures: Mapping[str, MachineFigure]
    layouts: Mapping[str, Layout]


_drawn: WeakKeyDictionary[TokenDFA, dict[Form, Drawn]] = WeakKeyDictionary()


def drawn_states(dfa: TokenDFA, form: Form = "characters") -> int:
    """How many nodes the character FSA has when it is drawn whole.

    Args:
        dfa: The token DFA.
        form: In the byte form the states in the middle of a character all count.
    """
    view = character_view(dfa)
    if form == "bytes":
        return len(view.steps)
    return len(view.arcs) + (1 if view.collapsed else len(view.dots))


def draw_whole(dfa: TokenDFA, form: Form = "characters") -> Drawn:
    """The two machines drawn whole.

    Args:
        dfa: The token DFA.
        form: How the character FSA is drawn.

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
    known = _drawn.setdefault(dfa, {})
    if form not in known:
        check_size(drawn_states(dfa, form), whole=True)
        figures = {
            "character_fsa": character_figure(dfa, form),
            "token_dfa": token_figure(dfa, form=form),
        }
        known[form] = Drawn(figures, lay_out(figures, whole=True))
    return known[form]
