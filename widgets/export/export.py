"""The stand-alone page: one file that replays a line, with the views of the notebook and no kernel.

The page holds the run as data, and the very script that the widget runs; a small model in the page
(`static/replay.js`) answers the views in place of a kernel. Stored are the positions, the figures
around each, and for the bars of each position the walk through the machines and the reason.
Nothing is fetched.

Data stands in the page as base64 of zlib, so that no token text can end a script element.

Cost: 1 ms a bar, and a little more where hints are searched for, which the first `MOST_HINTS` are.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, cast

from explorer.analysis.explaining.step import model_probabilities
from explorer.analysis.session import Session
from explorer.decoding.trace.trace import Trace
from widgets.cursor import at_end
from widgets.dialogue.later import Later, Progress
from widgets.figures.machines.shown_tokens import ALL_TOKENS
from widgets.figures.packets import compress, trace_packet
from widgets.page_data import Packet, PageData
from widgets.shown_place import ShownPlace
from widgets.views import bundle

MOST_HINTS: Final = 200
MOST_SUMMARIES: Final = 100
"""For how many positions the groups of reasons and the pairs of stages are stored."""

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


def exported(place: ShownPlace) -> Later:
    """Make the page later, with its progress.

    Args:
        place: What the explorer shows.
    """
    progress = Progress()
    take = taken(place)
    return Later.of(
        lambda: {"name": "explorer.html", "html": page_of_take(take, progress)}, progress
    )


def page(place: ShownPlace) -> str:
    """The page for the current line.

    Args:
        place: What the explorer shows.

    Returns:
        HTML, without any reference to elsewhere.
    """
    return page_of_take(taken(place), Progress())


def page_of_take(take: Taken, progress: Progress) -> str:
    """The page for what was taken of an explorer.

    Args:
        take: Of the line.
        progress: Receives the progress.

    Returns:
        HTML, without any reference to elsewhere.

    Raises:
        CalledOff: The page no longer waits for it.
    """
    script = bundle.script("explorer")
    replay = bundle.source("replay.js")
    return _PAGE % {
        "style": bundle.style(),
        "data": compress(recorded(take, progress)),
        "script": script,
        "replay": replay,
    }


@dataclass(frozen=True)
class Taken:
    """The data of a page, copied when the page is asked for, because the line may go on meanwhile.

    Args:
        data: Of the machine and the model.
        session: A copy at the end of the line, for the model's logits.
        trace: The record of the whole line.
        traits: The values that the page has from the start, by the names of the widget's traits.
        lock: Held while the model or its stored answers are read.
    """

    data: PageData
    session: Session
    trace: Trace
    traits: Packet
    lock: AbstractContextManager[object]


def taken(place: ShownPlace) -> Taken:
    """Copy the data that a page needs from an explorer, which may go on afterwards.

    Args:
        place: What the explorer shows.
    """
    cursor = place.cursor
    with cursor.lock:
        data, session = place.page, cursor.session
        trace, state = cursor.full_trace(), place.state()
        line = dict(cast("Packet", state["line"]))
        line["strip"] = {**cast("Packet", line["strip"]), "forks": []}
        del line["generation"]  # There is no kernel that would count.
        traits: Packet = {
            "about": state["about"],
            "machine": {"key": data.key()},
            "vocabulary": data.vocabulary_name(),
            "line": line,
            "editor": {**state["editor"], "presets": []},
            "sampler": state["sampler"],
        }
    return Taken(data, at_end(session), trace, traits, cursor.lock)


def recorded(take: Taken, progress: Progress) -> Packet:
    """Everything that the page can be asked for.

    Args:
        take: Of the line.
        progress: Receives the progress at every position.

    Raises:
        CalledOff: The page no longer waits for it.
    """
    data, trace = take.data, take.trace
    run = trace_packet(trace, data.machine)
    positions = cast("list[Packet]", run["positions"])
    found: Packet = {
        "traits": take.traits,
        "machine": data.machines(),
        "words": data.words(),
        "rows": run["rows"],
        "positions": positions,
        "traps": data.traps(trace),
        "stages": [data.stage(k) for k in range(data.num_stages)],
    }
    walks: list[Packet] = []
    reasons: list[Packet] = []
    around: list[Packet] = []
    summaries: list[Packet] = []
    pairs: list[Packet] = []
    hints = 0
    for k, position in enumerate(positions):
        progress.at(f"{k} of {len(positions)} positions")
        tokens = {cast("int", bar["id"]) for bar in cast("list[Packet]", position["top"])}
        if k < len(trace.steps):
            tokens.add(trace.steps[k].token)
        if len(data.vocabulary) <= ALL_TOKENS:
            tokens |= set(range(len(data.vocabulary)))
        walks.append({str(t): data.walk(trace, k, t) for t in sorted(tokens)})
        logits = None
        if take.session.lm is not None and trace.positions[k].distribution is not None:
            with take.lock:
                logits = take.session.logits(k)
        told: Packet = {}
        for token in sorted(tokens):
            told[str(token)] = data.stored_explanation(
                trace, k, token, logits, hints=hints < MOST_HINTS
            )
            hints += 1
        reasons.append(told)
        around.append(data.around(trace, k))
        if not data.free and k < MOST_SUMMARIES:
            with take.lock:
                summaries.append(data.groups(take.session, trace, k).packet)
                shares = model_probabilities(take.session, trace, k)
            pairs.append(data.pairs(trace, k, shares))
    progress.at("packing")
    return {
        **found, "walks": walks, "reasons": reasons, "around": around, "summaries": summaries,
        "pairs": pairs,
    }  # fmt: skip
