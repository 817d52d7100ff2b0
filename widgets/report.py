"""The figures of a sweep as plotly figures, for a notebook.

Each has its content in a sentence below its title, for readers who cannot see it. No text of a
model or of a vocabulary becomes markup: plotly reads tags in labels, so they are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from explorer.arguments import counted
from explorer.sweeps.report import ConstraintCost, GroupFigures, SweepSummary
from widgets.figures.drawing.labels import shorten, tags_escaped
from widgets.figures.panels.reasons import NAMES

MOST_BARS: Final = 12
"""The most bars of a figure of parts."""

LABEL: Final = 44
"""The most characters of a label beside a bar."""

BAR: Final = 26
"""The pixels for each bar."""

PATTERNS: Final = ("", "/", "x", ".")
"""Hatchings, so that no meaning is in colour alone."""

COLOURS: Final = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00")
"""Colours of Okabe and Ito for: valid alone, valid with interventions, cut off, failed."""


def figures(summary: SweepSummary, costs: Sequence[ConstraintCost]) -> list[Any]:
    """The plotly figures of a sweep: conformance, the parts of each constraint, traps."""
    return [_conformance(summary), *map(_part_costs, costs), _traps(summary)]


def bar_label(text: str) -> str:
    """A text beside a bar: one line of limited length, and nothing in it is markup for plotly.

    Example:
        >>> bar_label("<b>a</b>" + "b" * 60)
        '&lt;b&gt;a&lt;/b&gt;bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…'
        >>> bar_label('"type": "object"')
        '"type": "object"'
    """
    return tags_escaped(shorten(text, LABEL))


def percent(share: float) -> str:
    """A share as a reader sees it.

    Example:
        >>> percent(0.5), percent(float("nan"))
        ('50.0 %', '–')
    """
    return "–" if share != share else f"{100 * share:.1f} %"


def _conformance(summary: SweepSummary) -> Any:
    """The share of valid rows, by model, constraint and sampler."""
    groups = summary.groups
    names = _group_names(groups)
    kinds = {
        "valid, unhelped": [group.share(group.unhelped) for group in groups],
        "valid, with interventions": [g.share(g.valid - g.unhelped) for g in groups],
        "cut off": [group.share(group.cut) for group in groups],
        "failed": [group.share(group.failed) for group in groups],
    }
    valid = sum(group.valid for group in groups)
    alone = sum(group.unhelped for group in groups)
    said = (
        f"{valid:,} of {summary.rows:,} rows are texts of their constraint, {alone:,} of them "
        "without one intervention, so that the model would have written them by itself. "
        f"{sum(group.cut for group in groups):,} were cut off, {summary.failed:,} failed."
    )
    if summary.errors:
        said += f" {counted(summary.errors[0][2], 'row')} failed with: {summary.errors[0][1]}"
    bars = [_bars(name, names, shares, "%{x:.1%}") for name, shares in kinds.items()]
    return _figure("Conformance", said, names, bars, "share of rows", stacked=True)


def _part_costs(cost: ConstraintCost) -> Any:
    """The cost of the parts of a constraint for the model."""
    shown = cost.parts[:MOST_BARS]
    texts = max(1, cost.rows)
    said = "Nothing was lost."
    if shown and cost.nats:
        worst = shown[0]
        said = (
            f"Most is lost at {worst.part}: {worst.nats / texts:,.2f} nats per text, "
            f"{percent(worst.nats / cost.nats)} of all that the mask takes from the model here, "
            f"with {counted(worst.interventions, 'intervention')}."
        )
    if cost.covered < 0.995:
        said += f" The places of {percent(cost.covered)} of what was lost were looked up."
    names = [part.part for part in shown]
    bars = _bars("nats lost per text", names, [part.nats / texts for part in shown], "%{x:.3f}")
    axis = "log-probability that the mask takes from the model, nats per text"
    return _figure(cost.constraint, said, names, [bars], axis)


def _traps(summary: SweepSummary) -> Any:
    """The number of rows that met each kind of trap."""
    kinds = list(dict.fromkeys(kind for _, kind, _ in summary.traps))
    names = [NAMES.get(kind, kind) for kind in kinds]
    counts = {(name, kind): count for name, kind, count in summary.traps}
    said = "No run met a trap."
    if summary.traps:
        constraint, kind, count = summary.traps[0]
        said = f"“{NAMES.get(kind, kind)}” is the most frequent: "
        said += f"{counted(count, 'run')} of {constraint} met it."
    bars = [
        _bars(name, names, [counts.get((name, kind), 0) for kind in kinds], "%{x:,} rows")
        for name in dict.fromkeys(name for name, _, _ in summary.traps)
    ]
    return _figure("Traps by kind", said, names, bars, "rows")


def _group_names(groups: Sequence[GroupFigures]) -> list[str]:
    """Names that distinguish the groups, without the parts that all of them share."""
    parts = [(group.constraint, group.model, group.sampler) for group in groups]
    kept = [k for k in range(3) if len({each[k] for each in parts}) > 1] or [0]
    return [" · ".join(shorten(each[k], LABEL // len(kept)) for k in kept) for each in parts]


def _bars(name: str, labels: Sequence[str], values: Sequence[float], hover: str) -> dict[str, Any]:
    # Two labels may be the same after they are cut short, so the places are numbers.
    return {
        "type": "bar", "orientation": "h", "name": bar_label(name), "x": list(values),
        "y": list(range(len(labels))), "hovertemplate": f"{hover}<extra>{bar_label(name)}</extra>",
    }  # fmt: skip


def _figure(
    title: str, said: str, labels: Sequence[str], bars: list[dict[str, Any]], axis: str,
    stacked: bool = False,
) -> Any:  # fmt: skip
    import plotly.graph_objects as plots  # pyright: ignore

    for k, bar in enumerate(bars):
        pattern = {"shape": PATTERNS[k % len(PATTERNS)], "solidity": 0.35}
        bar["marker"] = {"color": COLOURS[k % len(COLOURS)], "pattern": pattern}
    made: Any = plots.Figure(bars)  # pyright: ignore
    made.update_layout(
        title={"text": tags_escaped(title), "subtitle": {"text": tags_escaped(said)}},
        barmode="stack" if stacked else "group",
        height=160 + BAR * max(1, len(labels)),
        xaxis={"title": axis},
        yaxis={
            "tickvals": list(range(len(labels))), "ticktext": list(map(bar_label, labels)),
            "autorange": "reversed", "automargin": True,
        },
    )  # fmt: skip
    return made
