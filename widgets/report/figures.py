"""The figures of a report as data for plotly, each with a sentence and the table it is drawn from.

Pure functions of the figures of a sweep. What is drawn is also told: `ReportFigure.text` is the
picture in a sentence, for who does not see it, and `ReportFigure.rows` is the table below it. No
text of a model or of a vocabulary becomes markup: plotly reads tags in labels, so they are escaped
there, and the page sets everything else as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from explorer.arguments import counted
from explorer.sweeps.attribution import ConstraintCost
from explorer.sweeps.summary import GroupFigures, SweepSummary
from widgets.figures.drawing.labels import markup, shorten

MOST_BARS: Final = 12
"""How many bars a figure of parts has; the table has all of them."""

LABEL: Final = 44
"""The most characters of a label beside a bar."""

BAR: Final = 26
"""Pixels for each bar."""

PATTERNS: Final = ("", "/", "x", ".")
"""Hatchings, so that nothing is told by colour alone."""

COLOURS: Final = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00")
"""Okabe–Ito: valid alone, valid with help, cut off, failed."""


@dataclass(frozen=True)
class ReportFigure:
    """A figure of the report.

    Args:
        name: What it is called in the page's data.
        title: Its heading.
        text: What it shows, in a sentence or two.
        head: The columns of its table.
        rows: The table; numbers as a reader sees them.
        data: Traces for plotly.
        height: Pixels.
        axis: What the horizontal axis means.
    """

    name: str
    title: str
    text: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    data: tuple[dict[str, Any], ...]
    height: int
    axis: str

    def packet(self) -> dict[str, Any]:
        """What the page gets."""
        return {
            "name": self.name, "title": self.title, "text": self.text, "head": self.head,
            "rows": self.rows, "data": self.data, "height": self.height, "axis": self.axis,
        }  # fmt: skip


def bar_label(text: str) -> str:
    """A text beside a bar: one line of limited length, and nothing in it is markup for plotly.

    Example:
        >>> bar_label("<b>a</b>" + "b" * 60)
        '&lt;b&gt;a&lt;/b&gt;bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…'
    """
    return markup(shorten(text, LABEL))


def percent(share: float) -> str:
    """A share as a reader sees it.

    Example:
        >>> percent(0.5), percent(float("nan"))
        ('50.0 %', '–')
    """
    return "–" if share != share else f"{100 * share:.1f} %"


def figure_number(value: float) -> str:
    """A number as a reader sees it."""
    return "–" if value != value else f"{value:,.2f}"


def conformance(summary: SweepSummary) -> ReportFigure:
    """How many rows are valid, by model, constraint and sampler.

    Args:
        summary: The figures of the sweep.
    """
    groups = summary.groups
    names = _group_names(groups)
    kinds = ("valid, unhelped", "valid, with interventions", "cut off", "failed")
    shares = [
        (
            group.share(group.unhelped),
            group.share(group.valid - group.unhelped),
            group.share(group.cut),
            group.share(group.failed),
        )
        for group in groups
    ]
    rows = tuple(
        (
            group.model, group.constraint, group.sampler, f"{group.rows:,}",
            percent(group.share(group.valid)), percent(group.share(group.unhelped)),
            percent(group.share(group.cut)), percent(group.share(group.failed)),
            percent(group.interventions_per_token), figure_number(group.nats_per_text),
            figure_number(group.log_prob / group.tokens if group.tokens else float("nan")),
            figure_number(group.milliseconds / group.tokens if group.tokens else float("nan")),
        )
        for group in groups
    )  # fmt: skip
    valid = sum(group.valid for group in groups)
    alone = sum(group.unhelped for group in groups)
    return ReportFigure(
        "conformance",
        "Conformance",
        f"{valid:,} of {summary.rows:,} rows are texts of their constraint, {alone:,} of them "
        "without one intervention, so that the model would have written them by itself. "
        f"{sum(group.cut for group in groups):,} were cut off, {summary.failed:,} failed.",
        (
            "model", "constraint", "sampler", "rows", "valid", "valid, unhelped", "cut off",
            "failed", "interventions per token", "nats lost per text",
            "log-probability per token", "ms per token",
        ),
        rows,
        tuple(
            _bars(kinds[k], names, [row[k] for row in shares], k, "%{x:.1%}") for k in range(4)
        ),
        _height(len(names)),
        "share of rows",
    )  # fmt: skip


def part_costs(cost: ConstraintCost, which: int) -> ReportFigure:
    """What the parts of a constraint cost the model.

    Args:
        cost: The parts.
        which: The number of the figure.
    """
    shown = cost.parts[:MOST_BARS]
    texts = max(1, cost.rows)
    worst = shown[0] if shown else None
    said = (
        "Nothing was lost."
        if worst is None or not cost.nats
        else f"Most is lost at {worst.part}: {figure_number(worst.nats / texts)} nats a text, "
        f"{percent(worst.nats / cost.nats)} of all that the mask takes from the model here, with "
        f"{counted(worst.interventions, 'intervention')}."
    )
    if cost.covered < 0.995:
        said += f" The places of {percent(cost.covered)} of what was lost were looked up."
    return ReportFigure(
        f"parts-{which}",
        cost.constraint,
        said,
        ("part", "nats lost per text", "share", "interventions", "tokens"),
        tuple(
            (
                part.part, figure_number(part.nats / texts),
                percent(part.nats / cost.nats if cost.nats else float("nan")),
                f"{part.interventions:,}", f"{part.tokens:,}",
            )
            for part in cost.parts
        ),
        (
            _bars(
                "nats lost per text",
                [part.part for part in shown],
                [part.nats / texts for part in shown],
                3,
                "%{x:.3f} nats, %{text}",
            )
            | {
                "text": [counted(part.interventions, "intervention") for part in shown],
                "textposition": "auto",
            },
        ),
        _height(len(shown)),
        "log-probability that the mask takes from the model, nats per text",
    )  # fmt: skip


def trap_figure(summary: SweepSummary) -> ReportFigure:
    """How many rows met each kind of trap.

    Args:
        summary: The figures of the sweep.
    """
    kinds = list(dict.fromkeys(kind for _, kind, _ in summary.traps))
    constraints = list(dict.fromkeys(name for name, _, _ in summary.traps))
    counts = {(name, kind): count for name, kind, count in summary.traps}
    first = summary.traps[0] if summary.traps else None
    return ReportFigure(
        "traps",
        "Traps by kind",
        "No run met a trap."
        if first is None
        else f"{first[1].replace('_', ' ')} is the most frequent: {first[2]:,} runs of "
        f"{first[0]} met it.",
        ("constraint", "trap", "rows"),
        tuple((name, kind.replace("_", " "), f"{n:,}") for name, kind, n in summary.traps),
        tuple(
            _bars(
                bar_label(name),
                [kind.replace("_", " ") for kind in kinds],
                [float(counts.get((name, kind), 0)) for kind in kinds],
                k,
                "%{x:,} rows",
            )
            for k, name in enumerate(constraints)
        ),
        _height(len(kinds)),
        "rows",
    )


def _group_names(groups: Sequence[GroupFigures]) -> list[str]:
    """Names that tell the groups apart, without what is the same in all of them."""
    parts = [(group.constraint, group.model, group.sampler) for group in groups]
    kept = [k for k in range(3) if len({each[k] for each in parts}) > 1] or [0]
    return [" · ".join(shorten(each[k], LABEL // len(kept)) for k in kept) for each in parts]


def _bars(
    name: str, labels: Sequence[str], values: Sequence[float], style: int, hover: str
) -> dict[str, Any]:
    # Two labels may be the same after they are cut short, so the places are numbers.
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": list(range(len(labels))),
        "x": list(values),
        "labels": [bar_label(label) for label in labels],
        "hovertemplate": f"{hover}<extra>{name}</extra>",
        "marker": {
            "color": COLOURS[style % len(COLOURS)],
            "pattern": {"shape": PATTERNS[style % len(PATTERNS)], "solidity": 0.35},
        },
    }


def _height(bars: int) -> int:
    return 110 + BAR * max(1, bars)
