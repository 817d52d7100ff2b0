"""The figures of a sweep as plotly figures, for a notebook.

Each has its content in a sentence below its title, for readers who cannot see it. No text of a
model or of a vocabulary becomes markup: plotly reads tags in labels, so they are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from explorer.arguments import counted
from explorer.sweeps.report import GroupFigures, SweepSummary
from widgets.figures.drawing.labels import shorten, tags_escaped
from widgets.figures.panels.plotly_figures import HOVER

LABEL: Final = 44
"""The most characters of a label beside a bar."""

BAR: Final = 26
"""The pixels for each bar."""

PATTERNS: Final = ("", "/", "x", ".")
"""Hatchings, so that no meaning is in colour alone."""

COLOURS: Final = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00")
"""Colours of Okabe and Ito for: valid alone, valid with interventions, cut off, failed."""


def bar_label(text: str) -> str:
    """A text beside a bar: one line of limited length, and nothing in it is markup for plotly.

    Example:
        >>> bar_label("<b>a</b>" + "b" * 60)
        '&lt;b&gt;a&lt;/b&gt;bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…'
        >>> bar_label('"type": "object"')
        '"type": "object"'
    """
    return tags_escaped(shorten(text, LABEL))


def figures(summary: SweepSummary) -> list[Any]:
    """The plotly figures of a sweep: the share of valid rows, by model, constraint and sampler."""
    import plotly.graph_objects as plots  # pyright: ignore

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
    bars = [_bar(k, name, shares) for k, (name, shares) in enumerate(kinds.items())]
    made: Any = plots.Figure(bars)  # pyright: ignore
    made.update_layout(
        title={"text": "Conformance", "subtitle": {"text": tags_escaped(said)}},
        barmode="stack",
        hoverlabel=HOVER,
        height=160 + BAR * max(1, len(names)),
        xaxis={"title": "share of rows"},
        yaxis={
            "tickvals": list(range(len(names))), "ticktext": list(map(bar_label, names)),
            "autorange": "reversed", "automargin": True,
        },
    )  # fmt: skip
    return [made]


def _group_names(groups: Sequence[GroupFigures]) -> list[str]:
    """Names that distinguish the groups, without the parts that all of them share."""
    parts = [(group.constraint, group.model, group.sampler) for group in groups]
    kept = [k for k in range(3) if len({each[k] for each in parts}) > 1] or [0]
    return [" · ".join(shorten(each[k], LABEL // len(kept)) for k in kept) for each in parts]


def _bar(kind: int, name: str, shares: list[float]) -> dict[str, Any]:
    # Two labels may be the same after they are cut short, so the places are numbers.
    pattern = {"shape": PATTERNS[kind], "solidity": 0.35}
    return {
        "type": "bar", "orientation": "h", "name": name, "x": shares, "y": list(range(len(shares))),
        "hovertemplate": f"%{{x:.1%}}<extra>{name}</extra>",
        "marker": {"color": COLOURS[kind], "pattern": pattern},
    }  # fmt: skip
