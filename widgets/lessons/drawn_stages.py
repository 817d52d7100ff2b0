"""The machine of a constraint, or of one of its stages, as a static picture."""

from __future__ import annotations

from explorer.arguments import instance, whole_number
from explorer.budget import Meter
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.stages.staged import stages_of
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.drawing.svg import document, machine, text
from widgets.figures.machines.machine_figure import MachineFigure
from widgets.figures.panels.pipeline import LIMITS, stage_figure, transducer_figure
from widgets.figures.snapshot import Snapshot
from widgets.lessons.shown import figure_words


def machine_picture(constraint: Constraint, title: str = "", *, in_bytes: bool = False) -> Snapshot:
    """The character FSA of a constraint: states are circles, a double ring accepts.

    Args:
        constraint: A language with few states.
        title: What it is; default the call that makes the constraint.
        in_bytes: Draw bytes, and the states in the middle of a character.

    Raises:
        ExplorerError: There are too many states to be drawn.

    Example:
        >>> import explorer
        >>> print(machine_picture(explorer.regex("a|b")).text)
        regex('a|b'): 2 states
        0 -a b-> 1
        start 0; the text may end in 1
    """
    constraint = instance("constraint", constraint, Constraint, "a Constraint")
    figure = stage_figure(constraint.dfa, in_bytes=in_bytes)
    return drawn_figure(figure, title or str(constraint))


def stage_picture(constraint: Constraint, number: int = -1, title: str = "") -> Snapshot:
    """The machine or the transducer of one of a constraint's stages.

    Args:
        constraint: A constraint with stages.
        number: Which of them, counted from 0; the last one by default.
        title: What it is; default the call that makes the stage.

    Raises:
        ExplorerError: There is no such stage, or it has no machine that could be drawn.

    Example:
        >>> import explorer
        >>> print(stage_picture(explorer.regex("[a-c]+").restrict(chars="ab")).text.splitlines()[1])
        0 -a b-> 0
    """
    constraint = instance("constraint", constraint, Constraint, "a Constraint")
    stages = stages_of(constraint.source)
    number = whole_number("number", number, None)
    if not -len(stages) <= number < len(stages):
        raise ExplorerError(f"There is no stage {number}.", remedy="Put a stage around it first.")
    stage, _ = stages[number]
    relation = stage.transducer(Meter(LIMITS))
    if relation is not None:
        return drawn_figure(transducer_figure(relation), title or str(stage))
    dfa = stage.picture(Meter(LIMITS))
    if dfa is None:
        raise ExplorerError(
            f"The stage {stage} is a relation between tokens, not a machine over bytes.",
            remedy="Draw the spellings of a text with spelling_picture.",
        )
    return drawn_figure(stage_figure(dfa, in_bytes=stage.in_bytes), title or str(stage))


def drawn_figure(figure: MachineFigure, title: str) -> Snapshot:
    """A machine under its title, laid out.

    Args:
        figure: The machine.
        title: What it is.
    """
    layout = lay_out_figures({"stage": figure})["stage"]
    drawn = f'<g transform="translate(10 40)">{machine(figure, layout)}</g>'
    words = f"{title}: {figure.caption}"
    lines = [words, *figure_words(figure)]
    described, alt = "\n".join(lines), "; ".join(lines)
    width = max(layout.width + 20, len(words) * 7.6 + 24)
    picture = document(
        width, layout.height + 50, alt, [text(12, 22, words, size=13, bold=True), drawn]
    )
    return Snapshot(picture, described, alt)
