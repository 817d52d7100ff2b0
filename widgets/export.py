"""The stand-alone page, and the still below a view: both show a line without a kernel.

The stand-alone page is one file that replays a line with the views of the notebook. It holds the
run as data, and the same script as the widget; a small model in the page (`static/replay.js`)
answers the views in place of a kernel. It stores the positions, the figures around each, and for
the bars of each position the walk through the machines and the reason. With the machine's table,
if that is small, it also steps beside the line (`static/table_kernel.js`). It fetches nothing. The
data is base64 of zlib, so that no token text can end a script element.

Cost: 1 ms per bar, and a little more for the first `MOST_HINTS` bars, whose hints are searched for.

The still is a collapsed output below a view. A widget needs a kernel: a notebook that is opened
without one, converted, or shown on GitHub has nothing to draw. So a view has a second, ordinary
output: a closed `<details>` with a picture of the present position and the same in words. It is
replaced in the notebook's document, by its display id, when the view has come to rest: a quarter of
a second after the last step, before a user can save the notebook, and at the end of a cell that
moved the cursor. It is not replaced during play or by a step itself: the picture is drawn on a
separate thread, outside the cursor's lock. The widget's own output then holds no picture, because
that would stay at the first position, and a page without widgets would show it above the last one.

The picture is an image with its data inside, not markup of the page: no style of the notebook
reaches it, nothing in it can run, and an untrusted notebook still shows it.

Cost: one picture (30 ms, 30 kB in the notebook) per pause. Limit: a page that was loaded again
keeps the last picture until the cell runs again, because Jupyter forgets display ids.
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
from widgets.figures.animation import animated
from widgets.figures.machines.detokenizing_figure import ALL_TOKENS
from widgets.figures.machines.stepping import stepping_packet
from widgets.figures.packets import compress, trace_packet
from widgets.figures.panels.tokens import listed_packet
from widgets.figures.snapshot import Snapshot
from widgets.shown_place import Packet, PageData, ShownPlace
from widgets.views import bundle

MOST_HINTS: Final = 200
MOST_SUMMARIES: Final = 100
"""The most positions for which the groups of reasons and the pairs of stages are stored."""

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
%(kernel)s
const raw = await unpack(document.getElementById("run").textContent);
const run = JSON.parse(new TextDecoder().decode(raw));
const model = replay(run, await tableKernel(run));
renderExplorer({ model, el: document.getElementById("explorer") });
</script></body></html>
"""


def exported(place: ShownPlace, *, picture: bool = False) -> Later:
    """The page, or the animated picture, to be made later with a report of its progress."""
    progress = Progress()
    take = taken(place)
    if picture:
        return Later.of(
            lambda: {"name": "explorer.svg", "text": animated(take.trace, take.data.machine)}
        )
    return Later.of(
        lambda: {"name": "explorer.html", "text": page_of_take(take, progress)}, progress
    )


def page(place: ShownPlace) -> str:
    """The page for the current line.

    Returns:
        HTML, without any reference to elsewhere.
    """
    return page_of_take(taken(place), Progress())


def page_of_take(take: Taken, progress: Progress) -> str:
    """The page for the data copied from an explorer.

    Returns:
        HTML, without any reference to elsewhere.

    Raises:
        CalledOff: The page no longer waits for it.
    """
    script = bundle.script("explorer")
    kernel = "\n".join(bundle.source(f"{name}.js") for name in ("table_kernel", "replay"))
    return _PAGE % {
        "style": bundle.style(),
        "data": compress(recorded(take, progress)),
        "script": script,
        "kernel": kernel,
    }


@dataclass(frozen=True)
class Taken:
    """The data of a page, copied when the page is asked for, because the line may change later.

    Args:
        traits: The initial values of the widget's traits, by name.
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
            line["index"] = 0  # A replay begins at the start, because the end shows little.
        # The line grows in place, but the file must show its present state.
        tokens = list(told.line["strip"]["tokens"])
        line["strip"] = {**told.line["strip"], "tokens": tokens, "forks": []}
        del line["generation"]  # No kernel counts generations for a file.
        traits: Packet = {
            "about": question["about"],
            "machine": data.machine_name,
            "vocabulary": data.vocabulary_name,
            "line": line,
            "history": {
                name: [*values]
                for name, values in cast("dict[str, list[object]]", told.history).items()
            },
            "offered": {"kinds": [], "presets": [], "examples": {}, "models": []},
            "editor": question["editor"],
            "sampler": question["sampler"],
        }
    return Taken(data, at_end(session), trace, traits, cursor.lock)


def recorded(take: Taken, progress: Progress) -> Packet:
    """The answers to everything that the page may ask for.

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
        "table": stepping_packet(data.machine, trace),
    }
    walks: list[Packet] = []
    reasons: list[Packet] = []
    around: list[Packet] = []
    summaries: list[Packet] = []
    pairs: list[Packet] = []
    listed: list[Packet] = []
    hints = 0
    for k, position in enumerate(positions):
        progress.at(f"{k} of {len(positions)} positions")
        tokens = {cast("int", bar["id"]) for bar in cast("list[Packet]", position["top"])}
        if k < len(trace.steps):
            tokens.add(trace.steps[k].token)
        if len(data.vocabulary) <= ALL_TOKENS:
            tokens |= set(range(len(data.vocabulary)))
        if take.session.lm is None:
            listed.append(listed_packet(take.session, trace, k, data.machine))
            rows = cast("list[Packet]", listed[k]["rows"])
            tokens |= {cast("int", row["id"]) for row in rows}
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
        "pairs": pairs, "allowed": listed,
    }  # fmt: skip


QUIET: Final = 0.25
"""The seconds after the last step until the picture is drawn; short, so that a saved notebook
shows the same as the screen."""

MOST_QUIET: Final = 1.0
"""The longest such wait, for slow pictures. The wait is four times the time of the last picture, so
that up to there at most a fifth of the time is spent on pictures."""

LOST: Final = 60.0
"""The seconds without a step after which a playing page counts as closed."""

BELOW: Final = "Explorer: its last position is in the next output."
"""The text of the widget's own output for pages without widgets."""


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
        """Display the widget, and the still below it.

        In a terminal only the widget's own text is shown. In a notebook the widget's own output
        holds only the view, because its first picture would not be kept up to date.

        Args:
            widget: The widget's data and metadata by media type; ``None`` if it is closed.
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
            # Not `post_execute`, which is also called after every message of a widget.
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
            if quiet < self._quiet:  # A step was taken meanwhile.
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
        except Exception as error:  # An error on this thread would be lost.
            words = f"The picture could not be drawn: {type(error).__name__}: {error}"
            shown = {"text/html": f"<pre>{escape(words)}</pre>", "text/plain": words}
        self._quiet = min(max(QUIET, 4 * (time.thread_time() - begun)), MOST_QUIET)
        ipython.update_display(shown, raw=True, display_id=self._name)


NO_ERROR: Final = (
    "<style>.jp-OutputArea-child:has(+ .jp-OutputArea-child .lmx-still)"
    ":not(:has(.lmx, .jp-OutputArea-output > *)) { display: none; }</style>"
)
"""Hides what JupyterLab writes in the place of a view whose kernel is gone: an error without more
elements in it."""


def media_bundle(snapshot: Snapshot) -> dict[str, str]:
    """The output for a page without a kernel, by media type; a live view folds it.

    Example:
        >>> media_bundle(Snapshot("<svg/>", "Position 0: <b>", "Position 0"))["text/plain"]
        'Position 0: <b>'
    """
    # Nothing inside an image can be hovered, so only the picture's own title is useful.
    first = snapshot.svg.find("</title>")
    svg = snapshot.svg[:first] + re.sub("<title>[^<]*</title>", "", snapshot.svg[first:])
    # In our markup quotation marks only delimit attributes; those in text are entities.
    image = quote(svg.replace('"', "'"), safe=" =:/;,()'!*+-._~", errors="replace")
    words = escape(snapshot.text)
    return {
        "text/html": (
            '<details class="lmx-still" open>'
            '<summary style="cursor: pointer; opacity: 0.8">'
            f"Without a kernel: {escape(snapshot.title)}</summary>"
            f'<img alt="{escape(snapshot.title)}" style="max-width: 100%" '
            f'src="data:image/svg+xml,{image}">'
            f'<pre style="overflow-x: auto">{words}</pre></details>{NO_ERROR}'
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
