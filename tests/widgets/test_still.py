"""The output for a page without a kernel: real, in a converted notebook, with hostile tokens."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

import explorer
from widgets.export import media_bundle
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.drawing.svg import px
from widgets.figures.machines.detokenizing_figure import (
    detokenizing_figure,
    failing_offsets,
    masked_tokens,
    shown_tokens,
)
from widgets.figures.snapshot import Snapshot, snapshot

if TYPE_CHECKING:
    from jupyter_client.manager import KernelManager

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")

SHOW = "from widgets import Explorer\ne = Explorer()\ne"


CLEAN = "from ipywidgets import Widget\nWidget.close_all()\n%reset -f"
"""The notebook before was another one: nothing of it is left."""

Run = Callable[..., Any]


@pytest.fixture
def executed(kernel: KernelManager) -> Iterator[Run]:
    """Run a notebook of cells in the one kernel, and give it with its outputs."""
    clients: list[Any] = []

    def run(*cells: str) -> Any:
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(c) for c in (CLEAN, *cells)]
        )
        # Without the widgets' state, as JupyterLab saves it by default.
        clients.append(
            nbclient.NotebookClient(notebook, km=kernel, timeout=120, store_widget_state=False)
        )
        clients[-1].execute()
        del notebook.cells[0]
        return notebook

    yield run
    for client in clients:
        client.kc.stop_channels()


def printed(cell: Any) -> list[str]:
    return "".join(str(o.text) for o in cell.outputs if o.output_type == "stream").split()


class Elements(HTMLParser):
    """The elements of a picture, and the text inside."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += "" if self.tags[-1][0] == "style" else data


def test_a_displayed_explorer_has_an_output_without_a_kernel_that_follows_the_cells(
    executed: Run,
) -> None:
    notebook = executed(SHOW, "e.cursor.step()\ne.cursor.step(4)", "e.snapshot()")
    widget, still = notebook.cells[0].outputs
    # The widget's output holds no picture: it would stay at the first place, above the last one.
    assert set(widget.data) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert "Position" not in widget.data["text/plain"]
    # The second cell moved the cursor, and the output of the first has followed.
    assert "Position 2 after 7 bytes: foofood" in still.data["text/plain"]
    page = Elements(still.data["text/html"])
    assert [tag for tag, _ in page.tags] == ["details", "summary", "img", "pre", "style"]
    assert "open" in page.tags[0][1]  # Without a kernel it is all there is; a live view folds it.
    assert still.data["text/plain"] in page.words
    image = unquote((page.tags[2][1]["src"] or "").split(",", 1)[1])
    title, rest = notebook.cells[2].outputs[0].data["image/svg+xml"].split("</title>", 1)
    rest = re.sub("<title>[^<]*</title>", "", rest)
    assert image.replace("'", '"') == f"{title}</title>{rest}"
    # A snapshot at the end of a cell shows itself, and a cell that moved nothing updates nothing.
    assert "foofood" in notebook.cells[2].outputs[0].data["text/plain"]


def test_it_waits_for_quiet_and_for_play_to_pause(executed: Run) -> None:
    cells = executed(
        SHOW,
        # A step from elsewhere: no cell of it ends, so only the clock can bring the picture.
        "import time, threading\nthreading.Timer(0.2, e.cursor.step).start()",
        "end = time.monotonic() + 30\n"
        "while (e.cursor.session.index == 0 or e._still._behind) and time.monotonic() < end:\n"
        "    time.sleep(0.05)\n"
        "print(e.cursor.session.index, e._still._behind)",
        # During play nothing is drawn, at the end of a cell neither. The clock is rung by hand.
        "e.cursor.playing = True\ne.cursor.step()\ne._still._rung()\nprint(e._still._behind)",
        "print(e._still._behind)\ne.cursor.playing = False",
        "print(e._still._behind)",
    ).cells
    assert printed(cells[2]) == ["1", "False"]
    assert printed(cells[3]) == ["True"]
    assert printed(cells[4]) == ["True"]
    assert printed(cells[5]) == ["False"]
    assert "Position 2" in cells[0].outputs[1].data["text/plain"]


def test_a_message_of_a_widget_is_no_cell_and_draws_nothing(executed: Run) -> None:
    # Both packages of comms trigger IPython's `post_execute` after every message from a page.
    cells = executed(
        SHOW,
        "e.cursor.step()\nget_ipython().events.trigger('post_execute')\nprint(e._still._behind)",
    ).cells
    assert printed(cells[1]) == ["True"]


def test_two_lines_and_the_machines_alone_have_an_output_that_follows_the_cells(
    executed: Run,
) -> None:
    cells = executed(
        "import explorer\nfrom widgets import Compare, Machines\n"
        "both = Compare(None, explorer.regex('(foo)+d'), explorer.regex('foo'))\nboth",
        "machines = Machines()\nmachines",
        "both.step()\nmachines.cursor.step()",
    ).cells
    for cell, places in ((cells[0], 2), (cells[1], 1)):
        widget, still = cell.outputs
        assert "application/vnd.jupyter.widget-view+json" in widget.data
        assert still.data["text/plain"].count("Position 1 after 3 bytes: foo") == places
        page = Elements(still.data["text/html"])
        image = unquote((page.tags[2][1]["src"] or "").split(",", 1)[1])
        assert image.count("Detokenizing FST") == places
        ElementTree.fromstring(image)
    assert "left:" in cells[0].outputs[1].data["text/plain"]


def test_the_still_draws_the_whole_detokenizing_fst() -> None:
    """A drawing that is larger than its room is drawn smaller, not cut."""
    members = {"name": {"type": "string"}, "age": {"type": "integer"}}
    record = {"type": "object", "properties": members, "required": ["name"]}
    session = explorer.Session(
        explorer.load_model("tiny"), explorer.json_schema(record), "A record: "
    )
    session.run(max_tokens=4)
    trace, machine = session.trace, session.machine
    larger = 0
    for k in range(5):
        shown = shown_tokens(trace, k, machine)
        masked = masked_tokens(trace, k, shown)
        fails = failing_offsets(machine, trace.positions[k].state, masked)
        figure = detokenizing_figure(session.vocabulary, shown, masked, fails)
        layout = lay_out_figures({"fst": figure})["fst"]
        if layout.width > 732 or layout.height > 270:
            larger += 1
            drawn = snapshot(trace, k, machine).svg.partition("Detokenizing FST")[2]
            assert f'viewBox="0 0 {px(layout.width)} {px(layout.height)}"' in drawn
    assert larger


def test_a_closed_explorer_is_quiet_and_keeps_its_output(executed: Run) -> None:
    cells = executed(SHOW, "c = e.cursor\ne.close()", "c.step()\nprint(c.playing)").cells
    assert printed(cells[2]) == ["False"]
    assert "Position 0" in cells[0].outputs[1].data["text/plain"]


def test_a_converted_notebook_shows_the_picture(executed: Run) -> None:
    nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    notebook = executed(SHOW, "e.cursor.step()")
    html, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    found = [
        base64.b64decode(data).decode() if encoded else unquote(data)
        for encoded, data in re.findall(r'data:image/svg\+xml(;base64)?,([^"]+)', html)
    ]
    # The place as it is now, and no other.
    titles = [re.search("<title>(.*?)</title>", svg) for svg in found]
    ours = [title[1].split(":")[0] for title in titles if title is not None]
    assert ours == ["Position 1"]
    assert "Position 1 after 3 bytes: foo" in html
    markdown, _ = nbconvert.MarkdownExporter().from_notebook_node(notebook)
    assert "<title>Position 1: " in unquote(markdown)
    assert "Position 1 after 3 bytes: foo" in markdown
    assert "Position 0" not in html + unquote(markdown)


def test_no_token_becomes_markup() -> None:
    words = 'Position 0: </pre><script>alert(1)</script><img src=x onerror="alert(2)">&lt;'
    page = Elements(media_bundle(Snapshot("<svg>\u2423</svg>", words, words))["text/html"])
    assert [tag for tag, _ in page.tags] == ["details", "summary", "img", "pre", "style"]
    assert page.words.endswith(words)
    assert page.tags[2][1]["alt"] == words
    assert not any(name.startswith("on") for _, found in page.tags for name in found)
