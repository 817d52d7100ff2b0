"""The run as lines: feasible mass, entropy, allowed count and chosen probability, by position.

The values are those of the trace. An unknown value (in a run without a model, or after the end) is
``None``, and the line has a gap there: it is not zero.

`trace_figure` makes a plotly figure of a finished trace, for reading values and for saving. It is
made once per run: as a live widget it would cost 5 MB per instance and 35 ms per update. plotly is
imported when the figure is asked for.

In a cell the figure displays itself. From the widget it comes as one file (`trace_page`): nothing
may be fetched, so the file holds plotly's own script of 4.8 MB; a frame of that size inside the
widget would stay in the page's memory, and a file can be saved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from explorer.decoding.trace.trace import Trace
from explorer.errors import MissingDependency
from widgets.figures.drawing.labels import tags_escaped
from widgets.figures.panels.mask import count_at
from widgets.figures.panels.tokens import table_text

if TYPE_CHECKING:
    import plotly.graph_objects as go  # pyright: ignore[reportMissingTypeStubs] - It has no stubs.


Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """One value per position.

    Args:
        z: The feasible mass, 0 to 1.
        allowed: The number of allowed ids; 0 after the end.
        chosen: The model's probability of the token taken there; ``None`` at the last position.
    """

    z: Values
    entropy_before: Values
    entropy_after: Values
    allowed: tuple[int, ...]
    chosen: Values
    chosen_constrained: Values
    forced: tuple[bool, ...]
    interventions: tuple[bool, ...]

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON."""
        return {
            "z": list(self.z),
            "entropy_before": list(self.entropy_before),
            "entropy_after": list(self.entropy_after),
            "allowed": list(self.allowed),
            "chosen": list(self.chosen),
            "chosen_constrained": list(self.chosen_constrained),
            "forced": list(self.forced),
            "interventions": list(self.interventions),
        }


def over_time(trace: Trace) -> TimeSeries:
    """The lines of a trace."""
    distributions = [position.distribution for position in trace.positions]

    def chosen(logs: list[float | None]) -> Values:
        known = tuple(None if log is None else _round(math.exp(log)) for log in logs)
        return (*known, None)

    return TimeSeries(
        tuple(None if d is None else _round(d.z) for d in distributions),
        tuple(None if d is None else _round(d.entropy_before) for d in distributions),
        tuple(None if d is None else _round(d.entropy_after) for d in distributions),
        tuple(count_at(trace, k) for k in range(len(trace.positions))),
        chosen([step.log_prob_model for step in trace.steps]),
        chosen([step.log_prob_constrained for step in trace.steps]),
        tuple(position.forced for position in trace.positions),
        tuple(d is not None and d.intervention for d in distributions),
    )


def _round(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None


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
        raise MissingDependency(
            "The figure of a trace needs the library 'plotly', which is not installed.",
            remedy="Install the extra `lab`: pip install 'constraint-explorer[lab]'.",
            evidence={"library": "plotly"},
        ) from error
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
    )
    return figure


def trace_page(trace: Trace) -> str:
    """The figure of a trace as one HTML file that fetches nothing.

    Raises:
        MissingDependency: plotly is not installed.
    """
    figure = cast(Any, trace_figure(trace))
    body = figure.to_html(
        include_plotlyjs=True,
        include_mathjax=False,
        full_html=False,
        div_id="trace",
        config={"displaylogo": False, "responsive": True},
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Trace</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"</head><body>{body}</body></html>\n"
    )
