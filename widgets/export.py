"""The stand-alone page: one file that replays a line, with the views of the notebook and no kernel.

The page holds the run as data, and the very script that the widget runs; a small model in the page
(`static/replay.js`) answers the views in place of a kernel. Stored are the positions, the figures
around each, and for the bars of each position the walk through the machines and the reason.
Nothing is fetched.

Data stands in the page as base64 of zlib, so that no token text can end a script element.

Cost: 1 ms a bar, and a little more where hints are searched for, which the first `MOST_HINTS` are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from widgets import bundle
from widgets.figures.packets import compress, trace_packet
from widgets.page import ALL_TOKENS, Packet
from widgets.why import groups_at, traps_of

if TYPE_CHECKING:
    from widgets.explorer import Explorer

MOST_HINTS: Final = 200
MOST_SUMMARIES: Final = 100
"""For how many positions the groups of reasons are stored."""

_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Explorer</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
 script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<style>body { margin: 16px; background: Canvas; color-scheme: light dark; }
%(style)s</style></head>
<body><div id="explorer"></div>
<script type="application/octet-stream" id="run">%(data)s</script>
<script type="module">
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("lmx-dark", dark.matches);
dark.addEventListener("change", paint);
paint();
%(script)s
%(replay)s
const raw = await unpack(document.getElementById("run").textContent);
const model = replay(JSON.parse(new TextDecoder().decode(raw)));
renderExplorer({ model, el: document.getElementById("explorer") });
</script></body></html>
"""


def page(explorer: Explorer) -> str:
    """The page for an explorer's current line.

    Args:
        explorer: The widget.

    Returns:
        HTML, without any reference to elsewhere.
    """
    script = bundle.script("explorer")
    replay = bundle.source("replay.js")
    return _PAGE % {
        "style": bundle.style(),
        "data": compress(recorded(explorer)),
        "script": script,
        "replay": replay,
    }


def recorded(explorer: Explorer) -> Packet:
    """Everything that the page can be asked for.

    Args:
        explorer: The widget.
    """
    with explorer.cursor.lock:
        data = explorer.page_data
        trace = explorer.cursor.full_trace()
        run = trace_packet(trace, data.dfa)
        walks: list[Packet] = []
        reasons: list[Packet] = []
        hints = 0
        for k, position in enumerate(cast("list[Packet]", run["positions"])):
            bars = cast("list[Packet]", position["top"])
            tokens = {cast("int", bar["id"]) for bar in bars}
            if k < len(trace.steps):
                tokens.add(trace.steps[k].token)
            if len(data.vocabulary) <= ALL_TOKENS:
                tokens |= set(range(len(data.vocabulary)))
            walks.append({str(t): data.walk(trace, k, t) for t in sorted(tokens)})
            told: Packet = {}
            for token in sorted(tokens):
                told[str(token)] = data.explanation(
                    explorer.session, trace, k, token, hints=hints < MOST_HINTS
                )
                hints += 1
            reasons.append(told)
        line = dict(explorer.line)
        line["strip"] = {**cast("Packet", line["strip"]), "forks": []}
        return {
            "traits": {
                "about": explorer.about,
                "machine": {"key": data.key()},
                "vocabulary": data.vocabulary_name(),
                "line": line,
                "editor": {**explorer.editor, "presets": []},
                "sampler": explorer.sampler,
            },
            "machine": data.machine(),
            "words": data.words(),
            "rows": run["rows"],
            "positions": run["positions"],
            "around": [data.around(trace, k) for k in range(len(trace) + 1)],
            "walks": walks,
            "reasons": reasons,
            "summaries": []
            if data.dfa is None
            else [
                groups_at(explorer.session, trace, k).packet
                for k in range(min(len(trace) + 1, MOST_SUMMARIES))
            ],
            "traps": traps_of(explorer.session, trace),
        }
