"""A run, and one position of it, as plotly figures: for a text, a slide or a comparison.

They are for reading off values and for saving (plotly's ``write_html``). A figure is made once: as
a live widget it would cost 5 MB per instance and 35 ms per update. plotly is imported when a figure
is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from explorer.analysis.ahead import Ahead
from explorer.decoding.trace.trace import Trace
from explorer.errors import ExplorerError, MissingDependency
from explorer.tokens.machine import TokenMachine
from widgets.figures.drawing.labels import tags_escaped
from widgets.figures.panels.mask import mask_summary
from widgets.figures.panels.tokens import Bar, bars, over_time, table_text

if TYPE_CHECKING:
    import plotly.graph_objects as go  # pyright: ignore[reportMissingTypeStubs] - It has no stubs.


def trace_figure(trace: Trace) -> go.Figure:
    """Feasible mass, chosen probability, entropy and allowed count over the positions of a trace.

    Returns:
        A plotly figure; token text in it is escaped.

    Raises:
        MissingDependency: plotly is not installed.
    """
    try:
        import plotly.graph_objects as graph  # pyright: ignore[reportMissingTypeStubs]
        from plotly.subplots import make_subplots  # pyright: ignore
    except ModuleNotFoundError as error:
        raise _without_plotly("trace") from error
    # plotly has no types: its calls are made through Any.
    objects, subplots = cast(Any, graph), cast(Any, make_subplots)
    lines = over_time(trace)
    names = [tags_escaped(table_text(trace, step.token)) for step in trace.steps]
    names.append("end" if trace.finished else "now")
    figure = subplots(
        rows=3,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.06,
        subplot_titles=("probability", "entropy, bits", "allowed tokens"),
    )
    places = list(range(len(lines.allowed)))
    drawn: tuple[tuple[int, str, Any, str, str], ...] = (
        (1, "feasible mass", lines.z, "#0072B2", "solid"),
        (1, "chosen, model", lines.chosen, "#5b6678", "dot"),
        (1, "chosen, constrained", lines.chosen_constrained, "#D55E00", "dash"),
        (2, "before the mask", lines.entropy_before, "#5b6678", "solid"),
        (2, "after the mask", lines.entropy_after, "#0072B2", "dash"),
        (3, "allowed", lines.allowed, "#0072B2", "solid"),
    )
    for row, name, values, colour, dash in drawn:
        figure.add_trace(
            objects.Scatter(
                x=places,
                y=list(values),
                name=name,
                mode="lines+markers",
                line={"color": colour, "dash": dash},
                marker={"size": 5},
                text=names,
                hovertemplate="position %{x}, next: %{text}<br>%{y}<extra>" + name + "</extra>",
            ),
            row=row,
            col=1,
        )
    figure.update_yaxes(range=[0, 1.02], row=1, col=1)
    figure.update_yaxes(type="log", row=3, col=1)
    figure.update_xaxes(title_text="position", row=3, col=1)
    figure.update_layout(
        height=560,
        margin={"l": 50, "r": 20, "t": 40, "b": 40},
        template="plotly_white",
        legend={"orientation": "h", "y": -0.12},
        hoverlabel=HOVER,
    )
    return figure


HOVER: Final = {"bgcolor": "#ffffff", "font": {"color": "#1a2130"}}
"""Dark text on white; plotly writes white on the colour of what is pointed at."""


def _without_plotly(what: str) -> MissingDependency:
    return MissingDependency(
        f"The figure of a {what} needs the library 'plotly', which is not installed.",
        remedy="Install the extra `lab`: pip install 'constraint-explorer[lab]'.",
        evidence={"library": "plotly"},
    )


BARS = 12
"""The most tokens that are shown."""

_MODEL, _MASKED, _KEPT, _AHEAD = "#8a94a6", "#D55E00", "#0072B2", "#9cc9e8"


def step_figure(
    trace: Trace, k: int, machine: TokenMachine, ahead: Sequence[Ahead] = ()
) -> go.Figure:
    """The likeliest tokens of a position, in the model's own order.

    Args:
        k: The position, which is the number of tokens before it.
        machine: The token machine of the trace, for the reasons of masked tokens.
        ahead: Looks ahead after some of the tokens, which get a third bar.

    Returns:
        A plotly figure: for each token its probability under the model (hatched if it is masked)
        and under the constraint, between 0 and 1; token text in it is escaped.

    Raises:
        ExplorerError: The position has no distribution: there is no model, or the text has ended.
        MissingDependency: plotly is not installed.
    """
    try:
        import plotly.graph_objects as graph  # pyright: ignore[reportMissingTypeStubs]
    except ModuleNotFoundError as error:
        raise _without_plotly("step") from error
    distribution = trace.positions[k].distribution
    if distribution is None:
        why = "the text has ended there" if trace.positions[k].state < 0 else "nothing gives one"
        raise ExplorerError(
            f"Position {k} has no distribution to draw: {why}.",
            remedy="Go back(), or make the session with a model.",
            evidence={"position": k},
        )
    objects = cast(Any, graph)
    shown = bars(trace, k, machine, BARS)
    names, lines = _names(shown), _lines(shown, {entry.token: entry.mass for entry in ahead})
    places = list(range(len(shown)))
    figure = objects.Figure()
    for name, values, marker, notes in lines:
        figure.add_trace(
            objects.Bar(
                x=values, y=places, name=name, orientation="h", marker=marker, text=notes,
                textposition="none", customdata=names,
                hovertemplate="%{customdata}: %{x:.3g}<br>%{text}<extra>" + name + "</extra>",
            )
        )  # fmt: skip
    figure.update_yaxes(autorange="reversed", tickvals=places, ticktext=names)
    figure.update_xaxes(range=[0, 1], title_text="probability", tickformat=".0%")
    z = math.exp(distribution.log_z)
    figure.update_layout(
        title=tags_escaped(f"Position {k}: {mask_summary(trace, k)}; feasible mass {z:.2g}"),
        barmode="group",
        height=120 + 34 * len(shown),
        margin={"l": 110, "r": 20, "t": 50, "b": 40},
        template="plotly_white",
        legend={"orientation": "h", "y": -0.16},
        hoverlabel=HOVER,
    )
    return figure


def _names(shown: Sequence[Bar]) -> list[str]:
    """The labels: the tokens, with the ids of those that look the same."""
    texts = [tags_escaped(bar.text) for bar in shown]
    return [
        f"{text} ({bar.id})" if texts.count(text) > 1 else text
        for text, bar in zip(texts, shown, strict=True)
    ]


def _lines(
    shown: Sequence[Bar], after: Mapping[int, float | None]
) -> list[tuple[str, list[float | None], dict[str, Any], list[str]]]:
    """The kinds of bars: a name, the values, the style, and a note on each bar."""
    nothing = [""] * len(shown)
    hatched = {
        "color": [_MODEL if bar.allowed else _MASKED for bar in shown],
        "pattern": {"shape": ["" if bar.allowed else "/" for bar in shown]},
    }
    reasons = [tags_escaped(bar.reason or "masked") if not bar.allowed else "" for bar in shown]
    kept = [bar.constrained if bar.allowed else None for bar in shown]
    lines: list[tuple[str, list[float | None], dict[str, Any], list[str]]] = [
        ("model", [bar.model for bar in shown], hatched, reasons),
        ("under the constraint", kept, {"color": _KEPT}, nothing),
    ]
    if after:
        mass = [after.get(bar.id) for bar in shown]
        lines.append(("allowed after it", mass, {"color": _AHEAD}, nothing))
    return lines
