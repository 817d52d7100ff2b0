"""The stand-alone page: one file that replays a line, with the views of the notebook and no kernel.

The page holds the run as data, and the very script that the widget runs; a small model in the page
(`static/replay.js`) answers the views in place of a kernel. Stored are the positions, the figures
around each, and for the bars of each position the walk through the machines and the reason.
Nothing is fetched.

Data stands in the page as base64 of zlib, so that no token text can end a script element.

Cost: 1 ms a bar, and a little more where hints are searched for, which the first `MOST_HINTS` are.

The collapsed output under a view with a still: what it shows, without a kernel and without widgets.

A widget is a view on a kernel. A notebook that is opened again without one, or converted, or shown
on GitHub has nothing to draw, whatever the widget's own output holds besides. So such a
view has a second, ordinary output: a closed `<details>` with the picture of the place and the
same in words. It is replaced in the notebook's document, by its display id, once things are quiet:
a quarter of a second after the last step, which is sooner than a hand saves the notebook, and at
the end of a cell that moved the cursor. Never during play, and never by a step itself: the picture
is drawn on a thread of its own, outside the cursor's lock. The widget's own output then keeps no
picture: it would stay at the first place, and a page without widgets would show it above the last.

The picture is an image with its data inside, not markup of the page: no style of the notebook
reaches it, nothing in it can run, and an untrusted notebook still shows it.

Cost: one picture (30 ms, 30 kB in the notebook) per pause. What it does not do: a page that was
loaded again keeps the last picture until the cell runs again, because Jupyter forgets display ids.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, Final, cast
from urllib.parse import quote
from uuid import uuid4

from explorer.analysis.explaining.step import model_probabilities
from explorer.analysis.session import Session
from explorer.budget import Budget
from explorer.decoding.trace.trace import Trace
from widgets.cursor import Cursor, at_end
from widgets.dialogue.later import Later, Progress
from widgets.figures.machines.detokenizing_figure import ALL_TOKENS
from widgets.figures.packets import compress, trace_packet
from widgets.figures.snapshot import Snapshot
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
    """Make the page later, with its progress."""
    progress = Progress()
    take = taken(place)
    return Later.of(
        lambda: {"name": "explorer.html", "html": page_of_take(take, progress)}, progress
    )


def page(place: ShownPlace) -> str:
    """The page for the current line.

    Returns:
        HTML, without any reference to elsewhere.
    """
    return page_of_take(taken(place), Progress())


def page_of_take(take: Taken, progress: Progress) -> str:
    """The page for what was taken of an explorer.

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
        traits: The values that the page has from the start, by the names of the widget's traits.
    """

    data: PageData
    session: Session
    trace: Trace
    traits: Packet
    lock: AbstractContextManager[object]


def taken(place: ShownPlace) -> Taken:
    """Copy the data that a page needs from an explorer, which may go on afterwards."""
    cursor = place.cursor
    with cursor.lock:
        data, session = place.page, cursor.session
        trace, told = cursor.full_trace(), place.state()
        question, line = told.question, {**cast("Packet", told.line)}
        if session.finished:
            line["index"] = 0  # The end of a text shows nothing; a replay begins at the beginning.
        # The line grows in place, and a file shows it as it is now.
        tokens = list(told.line["strip"]["tokens"])
        line["strip"] = {**told.line["strip"], "tokens": tokens, "forks": []}
        del line["generation"]  # There is no kernel that would count.
        traits: Packet = {
            "about": question["about"],
            "machine": data.machine_name,
            "vocabulary": data.vocabulary_name,
            "line": line,
            "history": {
                name: [*values]
                for name, values in cast("dict[str, list[object]]", told.history).items()
            },
            "offered": {"kinds": [], "presets": [], "models": []},
            "editor": question["editor"],
            "sampler": question["sampler"],
        }
    return Taken(data, at_end(session), trace, traits, cursor.lock)


def recorded(take: Taken, progress: Progress) -> Packet:
    """Everything that the page can be asked for.

    Raises:
        CalledOff: The page no longer waits for it.
    """
    data, trace = take.data, take.trace
    run = trace_packet(trace, data.machine)
    positions = cast("list[Packet]", run["positions"])
    record: Packet = {
        "traits": take.traits,
        "machine": data.machines(None, Budget()),
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
        **record, "walks": walks, "reasons": reasons, "around": around, "summaries": summaries,
        "pairs": pairs,
    }  # fmt: skip


QUIET: Final = 0.25
"""Seconds without a step before the picture follows: a saved notebook shows what the screen did."""

MOST_QUIET: Final = 1.0
"""The same where a picture takes long: a fifth of the time at most is spent on pictures."""

LOST: Final = 60.0
"""Seconds without a step after which a page that still plays is taken for closed."""

BELOW: Final = "Explorer: its last place is in the next output."
"""The text of the widget's own output where widgets are not available."""


class Still:
    """The collapsed output of one view.

    Args:
        cursors: The places that the view shows.
        picture: Draws it; called on any thread.
    """

    def __init__(self, cursors: Sequence[Cursor], picture: Callable[[], Snapshot]) -> None:
        self._cursors, self._picture = cursors, picture
        self._name = f"explorer-{uuid4().hex}"
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._moved_at = 0.0
        self._quiet = QUIET
        self._shown = self._behind = False
        self._stops = [cursor.subscribe(self._moved) for cursor in cursors]

    def show(self, widget: tuple[dict[str, Any], dict[str, Any]] | None) -> None:
        """Display the widget, and this below it.

        In a terminal only the widget's own text is shown. In a notebook the
        widget's output is the view alone, because what it showed first is not kept up to date.

        Args:
            widget: Its data and metadata by media type; ``None`` if it is closed.
        """
        ipython = cast("Any", import_module("IPython.display"))
        shell = _notebook()
        if widget is not None:
            data = widget[0] if shell is None else {**_view(widget[0]), "text/plain": BELOW}
            ipython.display(data, metadata=widget[1], raw=True)
        if shell is None:
            return
        ipython.display(media_bundle(self._picture()), raw=True, display_id=self._name)
        with self._lock:
            first, self._shown, self._behind = not self._shown, True, False
        if first:
            # Not `post_execute`: that is after every message of a widget, too.
            shell.events.register("post_run_cell", self._cell_ended)

    def close(self) -> None:
        """End it; the output stays as it is."""
        for stop in self._stops:
            stop()
        with self._lock:
            registered, self._shown, self._behind = self._shown, False, False
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        shell = _notebook()
        if registered and shell is not None:
            shell.events.unregister("post_run_cell", self._cell_ended)

    def _moved(self) -> None:
        with self._lock:
            if not self._shown:
                return
            self._behind = True
            self._moved_at = time.monotonic()
            if self._timer is None:
                self._wait(self._quiet)

    def _wait(self, seconds: float) -> None:
        """Start the waiting thread unless it runs already. Called inside the lock."""
        self._timer = threading.Timer(seconds, self._rung)
        self._timer.daemon = True
        self._timer.start()

    def _rung(self) -> None:
        with self._lock:
            self._timer = None
            if not self._behind:
                return
            quiet = time.monotonic() - self._moved_at
            if self._playing and quiet < LOST:
                return self._wait(self._quiet)
            if quiet < self._quiet:  # There were steps meanwhile.
                return self._wait(self._quiet - quiet)
        self._update()

    def _cell_ended(self, _result: object) -> None:
        with self._lock:
            if not self._behind or self._playing:
                return
        self._update()

    @property
    def _playing(self) -> bool:
        return any(cursor.playing for cursor in self._cursors)

    def _update(self) -> None:
        ipython = cast("Any", import_module("IPython.display"))
        with self._lock:
            self._behind = False
        begun = time.thread_time()
        try:
            shown = media_bundle(self._picture())
        except Exception as error:  # On this thread nobody would hear of it.
            words = f"The picture could not be drawn: {type(error).__name__}: {error}"
            shown = {"text/html": f"<pre>{escape(words)}</pre>", "text/plain": words}
        self._quiet = min(max(QUIET, 4 * (time.thread_time() - begun)), MOST_QUIET)
        ipython.update_display(shown, raw=True, display_id=self._name)


def media_bundle(snapshot: Snapshot) -> dict[str, str]:
    """The output for a page without a kernel, by media type; a live view folds it.

    Example:
        >>> media_bundle(Snapshot("<svg/>", "Position 0: <b>", "Position 0"))["text/plain"]
        'Position 0: <b>'
    """
    # Nothing in an image can be hovered: of the titles only the picture's own is of use.
    first = snapshot.svg.find("</title>")
    svg = snapshot.svg[:first] + re.sub("<title>[^<]*</title>", "", snapshot.svg[first:])
    # In our markup quotation marks only end attributes: those of text are entities.
    image = quote(svg.replace('"', "'"), safe=" =:/;,()'!*+-._~", errors="replace")
    words = escape(snapshot.text)
    return {
        "text/html": (
            '<details class="lmx-still" open><summary style="cursor: pointer; opacity: 0.8">'
            f"Without a kernel: {escape(snapshot.title)}</summary>"
            f'<img alt="{escape(snapshot.title)}" style="max-width: 100%" '
            f'src="data:image/svg+xml,{image}">'
            f'<pre style="overflow-x: auto">{words}</pre></details>'
        ),
        "text/plain": snapshot.text,
    }


def _view(data: dict[str, Any]) -> dict[str, Any]:
    """A widget's output without its substitutes for pages without widgets."""
    return {kind: value for kind, value in data.items() if "widget-view" in kind}


def _notebook() -> Any | None:
    """The shell of a kernel; ``None`` in a terminal and outside IPython."""
    from IPython.core.getipython import get_ipython
    from IPython.terminal.interactiveshell import TerminalInteractiveShell

    shell = get_ipython()
    return None if isinstance(shell, TerminalInteractiveShell) else shell
