"""The report as one HTML file that fetches nothing.

The file holds plotly's own script (4.8 MB), the figures, their tables, and the worst runs, each as
the stand-alone page of `widgets.export`, opened in a frame of its own when it is asked for. All
data stands in the page as base64 of zlib, so that no text of a model can end a script element, and
the page sets text as text. The frames are sandboxed: a replay may run its script, and reach nothing
of the report.

Cost: that of the replays, 1 to 3 seconds each, and the time that is given for looking up places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from explorer.arguments import counted
from explorer.decoding.models.model import LanguageModel
from explorer.errors import MissingDependency
from explorer.sweeps.attribution import costs_by_part
from explorer.sweeps.known import knowledge_of
from explorer.sweeps.summary import SweepSummary, summarize
from widgets.figures.drawing.labels import markup
from widgets.figures.packets import compress
from widgets.report.figures import conformance, figure_number, part_costs, trap_figure
from widgets.report.replays import Replays
from widgets.views import bundle

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
        table: A pyarrow table with the columns of a sweep.
        title: The heading.
        worst: How many of the worst runs are opened.
        seconds: How long the places of what was lost are looked up for.
        models: Models by their names in the table, where the sweep was not given names.

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
        "traps": ", ".join(kind.replace("_", " ") for kind in row["traps"]) or "none",
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
