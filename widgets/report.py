"""The report of a sweep: replays of its worst rows, its figures, and the page with both.

*Replays.* A session with the row's own model takes the row's tokens again, one by one, so that the
page shows the model's preferences at each of them. If the model cannot be opened here, there is no
page, and the report says why. A row from another release may have tokens that its constraint does
not allow; the report says that too.

*Figures* are data for plotly. Each has the same content in words: `ReportFigure.text` is the figure
in a sentence, for readers who cannot see it, and `ReportFigure.rows` is the table below it. No text
of a model or of a vocabulary becomes markup: plotly reads tags in labels, so they are escaped
there, and the page sets everything else as text.

*The page* is one HTML file that fetches nothing. It holds plotly's own script (4.8 MB), the
figures, their tables, and the worst runs, each as a stand-alone page of `widgets.export` that opens
in a frame on request. All data is base64 of zlib, so that no text of a model can end a script
element. The frames are sandboxed: a replay can run its script but cannot reach the report.

Cost: 1 to 3 seconds per replay (the row's tokens through the model, and about 0.1 s per token for
the reasons), and the time that is allowed for looking up places.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from explorer.analysis.session import Session
from explorer.arguments import counted
from explorer.decoding.models.load import load_model
from explorer.decoding.models.model import LanguageModel
from explorer.errors import ExplorerError, MissingDependency
from explorer.sweeps.folder import KnownSweep, knowledge_of
from explorer.sweeps.report import (
    ConstraintCost,
    GroupFigures,
    SweepSummary,
    costs_by_part,
    summarize,
)
from widgets.cursor import Cursor
from widgets.export import page
from widgets.figures.drawing.labels import markup, shorten, tags_escaped
from widgets.figures.packets import compress
from widgets.figures.panels.reasons import NAMES
from widgets.shown_place import ShownPlace
from widgets.views import bundle


@dataclass(frozen=True)
class Replay:
    """A row as a page.

    Args:
        html: The page; empty if there is none.
        why_not: The reason why there is no page; empty if there is one.
    """

    html: str
    why_not: str


class Replays:
    """Makes the pages of rows; models are opened once.

    Args:
        known: The description of the sweep; ``None`` if the table has none.
    """

    def __init__(self, known: KnownSweep | None, models: Mapping[str, LanguageModel]) -> None:
        self._known = known
        self._models = dict(models)

    def of(self, row: Mapping[str, Any]) -> Replay:
        """The page of a row, or the reason why there is none."""
        if self._known is None:
            return Replay("", "the table has no description of its sweep")
        try:
            return Replay(self._page(row, self._known), "")
        except ExplorerError as error:
            return Replay("", str(error))

    def _page(self, row: Mapping[str, Any], known: KnownSweep) -> str:
        prompt = row["prompt"]
        session = Session(
            self._model(row, known),
            known.constraint(row["constraint_fingerprint"]),
            json.loads(prompt) if row["prompt_is_chat"] else prompt,
            sampler=known.sampler(row["sampler"]),
            seed=row["seed"],
            max_tokens=known.max_tokens,
            masking_budget=known.masking_budget,
        )
        for token in cast("list[int]", row["tokens"]):
            # A step by the sampler, so that the page says so, unless rounding makes it choose
            # another token. The sampler is not asked in a phase that the model does not write.
            drawn = None if session.waits_for else session.step().token
            if drawn != token:
                session.back(int(drawn is not None))
                session.step(token=token)
        return page(ShownPlace(Cursor(session)))

    def _model(self, row: Mapping[str, Any], known: KnownSweep) -> LanguageModel:
        name: str = row["model"]
        if name in self._models:
            return self._models[name]
        given = known.models.get(row["model_digest"])
        if given is None:
            raise ExplorerError(
                f"The model {name!r} was not given as a name or a folder, so it cannot be opened "
                "again.",
                remedy=f"Give report(..., models={{{name!r}: model}}).",
            )
        model = self._models[name] = load_model(given)
        return model


MOST_BARS: Final = 12
"""The most bars of a figure of parts; the table has all of them."""

LABEL: Final = 44
"""The most characters of a label beside a bar."""

BAR: Final = 26
"""The pixels for each bar."""

PATTERNS: Final = ("", "/", "x", ".")
"""Hatchings, so that no meaning is in colour alone."""

COLOURS: Final = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00")
"""Colours of Okabe and Ito for: valid alone, valid with interventions, cut off, failed."""


@dataclass(frozen=True)
class ReportFigure:
    """A figure of the report.

    Args:
        rows: The table; numbers as a reader sees them.
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
        """The figure as data for the page."""
        return {
            "name": self.name, "title": self.title, "text": self.text, "head": self.head,
            "rows": self.rows, "data": self.data, "height": self.height, "axis": self.axis,
        }  # fmt: skip


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


def figure_number(value: float) -> str:
    """A number as a reader sees it."""
    return "–" if value != value else f"{value:,.2f}"


def conformance(summary: SweepSummary) -> ReportFigure:
    """The share of valid rows, by model, constraint and sampler."""
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
    """The cost of the parts of a constraint for the model."""
    shown = cost.parts[:MOST_BARS]
    texts = max(1, cost.rows)
    worst = shown[0] if shown else None
    said = (
        "Nothing was lost."
        if worst is None or not cost.nats
        else f"Most is lost at {worst.part}: {figure_number(worst.nats / texts)} nats per text, "
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
    """The number of rows that met each kind of trap."""
    kinds = list(dict.fromkeys(kind for _, kind, _ in summary.traps))
    constraints = list(dict.fromkeys(name for name, _, _ in summary.traps))
    counts = {(name, kind): count for name, kind, count in summary.traps}
    first = summary.traps[0] if summary.traps else None
    return ReportFigure(
        "traps",
        "Traps by kind",
        "No run met a trap."
        if first is None
        else f"“{NAMES.get(first[1], first[1])}” is the most frequent: {first[2]:,} runs of "
        f"{first[0]} met it.",
        ("constraint", "trap", "rows"),
        tuple((name, NAMES.get(kind, kind), f"{n:,}") for name, kind, n in summary.traps),
        tuple(
            _bars(
                bar_label(name),
                [NAMES.get(kind, kind) for kind in kinds],
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
    """Names that distinguish the groups, without the parts that all of them share."""
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


LONGEST_TEXT: Final = 400
"""The most characters of a prompt or a text in the list of the worst runs."""

_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>%(title)s</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
 script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<style>%(style)s</style></head>
<body><main id="report"><h1>%(title)s</h1></main>
<script type="application/octet-stream" id="facts">%(facts)s</script>
%(runs)s
<script>%(plotly)s</script>
<script type="module">
%(script)s
</script></body></html>
"""


def report_page(
    table: Any,
    *,
    title: str,
    worst: int,
    seconds: float,
    models: Mapping[str, LanguageModel],
) -> str:
    """The report of a sweep's table.

    Args:
        models: Models by their names in the table, for models that were not given by name.

    Returns:
        HTML, without any reference to elsewhere.

    Raises:
        MissingDependency: plotly is not installed.
    """
    known = knowledge_of(table)
    summary = summarize(table, worst)
    costs = costs_by_part(table, {} if known is None else known.readable(), seconds)
    replays = Replays(known, models)
    runs: list[dict[str, Any]] = []
    pages: list[str] = []
    for place, k in enumerate(summary.worst):
        row: dict[str, Any] = table.slice(k, 1).to_pylist()[0]
        replay = replays.of(row)
        runs.append(_run(row) | {"replay": bool(replay.html), "why_not": replay.why_not})
        if replay.html:
            pages.append(
                f'<script type="application/octet-stream" id="run-{place}">'
                f"{compress(replay.html)}</script>"
            )
    figures = [conformance(summary), *(part_costs(cost, k) for k, cost in enumerate(costs))]
    facts = {
        "about": _about(summary),
        "figures": [figure.packet() for figure in [*figures, trap_figure(summary)]],
        "errors": [[kind, message, f"{count:,}"] for kind, message, count in summary.errors],
        "runs": runs,
    }
    return _PAGE % {
        "title": markup(title),
        "style": bundle.source("report.css"),
        "facts": compress(facts),
        "runs": "\n".join(pages),
        "plotly": _plotly_script(),
        "script": bundle.source("report.js"),
    }


def _about(summary: SweepSummary) -> str:
    tokens = sum(group.tokens for group in summary.groups)
    interventions = sum(group.interventions for group in summary.groups)
    return (
        f"{counted(summary.rows, 'row')}, {counted(tokens, 'token')}, "
        f"{counted(interventions, 'intervention')}, {summary.failed:,} failed."
    )


def _run(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "prompt": _cut(row["prompt"]),
        "text": _cut(row["text"]),
        "constraint": row["constraint"],
        "model": row["model"],
        "sampler": row["sampler"],
        "seed": row["seed"],
        "nats": figure_number(row["nats_lost"]),
        "interventions": f"{row['interventions']:,} of {counted(row['num_tokens'], 'token')}",
        "least": f"{row['feasible_mass_least']:.2g}",
        "traps": ", ".join(NAMES.get(kind, kind) for kind in row["traps"]) or "none",
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _plotly_script() -> str:
    try:
        from plotly.offline import get_plotlyjs  # pyright: ignore
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "The report of a sweep needs the library 'plotly', which is not installed.",
            remedy="Install the extra `lab`: pip install 'constraint-explorer[lab]'.",
            evidence={"library": "plotly"},
        ) from error
    script: str = get_plotlyjs()
    return script.replace("</script", "<\\/script")
