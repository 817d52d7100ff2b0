"""The collapsed output under an explorer: what it shows, without a kernel and without widgets.

A widget is a view on a kernel. A notebook that is opened again without one, or converted, or shown
on GitHub has nothing to draw, whatever the widget's own output holds besides. So a displayed
explorer has a second, ordinary output: a closed `<details>` with the picture of the place and the
same in words. It is replaced in the notebook's document, by its display id, once things are quiet:
within a second of a pause of play, a second after the last step by hand, and at the end of a cell
that moved the cursor. Never during play, and never by a step itself: the picture is drawn on a
thread of its own, outside the cursor's lock. The widget's own output then keeps no picture: it
would stay at the first place, and a page without widgets would show it above the last.

The picture is an image with its data inside, not markup of the page: no style of the notebook
reaches it, nothing in it can run, and an untrusted notebook still shows it.

Cost: one picture (30 ms, 30 kB in the notebook) per pause. What it does not do: a page that was
loaded again keeps the last picture until the cell runs again, because Jupyter forgets display ids.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from html import escape
from importlib import import_module
from typing import Any, Final, cast
from urllib.parse import quote
from uuid import uuid4

from widgets.cursor import Cursor
from widgets.figures.snapshot import Snapshot

QUIET: Final = 1.0
"""Seconds without a step before the picture follows."""

LOST: Final = 60.0
"""Seconds without a step after which a page that still plays is taken for closed."""

BELOW: Final = "Explorer: its last place is in the next output."
"""The text of the widget's own output where widgets are not available."""


class Still:
    """The collapsed output of one explorer.

    Args:
        cursor: The place.
        picture: Draws it; called on any thread.
    """

    def __init__(self, cursor: Cursor, picture: Callable[[], Snapshot]) -> None:
        self._cursor, self._picture = cursor, picture
        self._name = f"explorer-{uuid4().hex}"
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._moved_at = 0.0
        self._shown = self._behind = False
        self._stop = cursor.subscribe(self._moved)

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
        ipython.display(bundle(self._picture()), raw=True, display_id=self._name)
        with self._lock:
            first, self._shown, self._behind = not self._shown, True, False
        if first:
            # Not `post_execute`: that is after every message of a widget, too.
            shell.events.register("post_run_cell", self._cell_ended)

    def close(self) -> None:
        """End it; the output stays as it is."""
        self._stop()
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
                self._wait(QUIET)

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
            if self._cursor.playing and quiet < LOST:
                return self._wait(QUIET)
            if quiet < QUIET:  # There were steps meanwhile.
                return self._wait(QUIET - quiet)
        self._update()

    def _cell_ended(self, _result: object) -> None:
        with self._lock:
            if not self._behind or self._cursor.playing:
                return
        self._update()

    def _update(self) -> None:
        ipython = cast("Any", import_module("IPython.display"))
        with self._lock:
            self._behind = False
        try:
            shown = bundle(self._picture())
        except Exception as error:  # On this thread nobody would hear of it.
            words = f"The picture could not be drawn: {type(error).__name__}: {error}"
            shown = {"text/html": f"<pre>{escape(words)}</pre>", "text/plain": words}
        ipython.update_display(shown, raw=True, display_id=self._name)


def bundle(snapshot: Snapshot) -> dict[str, str]:
    """The collapsed output, by media type.

    Args:
        snapshot: What it shows.

    Example:
        >>> bundle(Snapshot("<svg/>", "Position 0: <b>", "Position 0"))["text/plain"]
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
            '<details class="lmx-still"><summary style="cursor: pointer; opacity: 0.8">'
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
