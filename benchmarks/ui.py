"""The speed of the explorer in a browser, and the data that it sends and keeps (`make bench-ui`).

Not a test: figures of a busy machine are no verdict. A click is timed in the page, from
`button.click()` until the frame after the one in which the position changed, so until it was
painted: the tokens and the numbers, which come first. When the machines, the mask and the lines
show the position too is timed apart. An empty widget that only answers is timed in the same way:
no widget can be faster in this browser, on this machine, under this load. What a step sends is
counted on the socket between kernel and page. Memory is the page's own JavaScript heap and its
nodes, after the garbage was collected.

Writes ``docs/benchmarks/ui.json`` and the tables of ``docs/benchmarks/ui.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.browser.conftest import CHROMIUM, REPOSITORY, Lab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page

DOCS: Final = REPOSITORY / "docs" / "benchmarks"
PAUSE: Final = 250
"""Milliseconds between two clicks that are timed: figures and reasons arrive in it."""

HURRIED: Final = 120
"""Milliseconds between clicks of somebody who waits for neither."""

IMPORTS: Final = """import explorer
from explorer import Sampler
from tests.browser.wide import wide
from widgets import Explorer
tiny = explorer.load_model("tiny")
model = wide()"""

DENSE: Final = "[a-z ,.]{700,800}"
RECORDS: Final = r'(\{"name": "[A-Za-z ]{1,20}", "age": [1-9]?[0-9]\}, ){25}'
LONG: Final = "[a-z ,.]*"
STATES: Final = "(Q7){149}Q"
"""300 states, the most that are drawn whole, with an arc from each: 400 arcs are the most."""

CLICK: Final = """async (root) => {
    const where = root.querySelector('.where'), button = root.querySelector('.step');
    const before = where.textContent;
    let began = performance.now();
    while (button.disabled && performance.now() - began < 20000)
        await new Promise((r) => requestAnimationFrame(r));
    if (button.disabled) throw new Error("the text has ended");
    began = performance.now();
    button.click();
    while (where.textContent === before && performance.now() - began < 20000)
        await new Promise((r) => requestAnimationFrame(r));
    const spent = performance.now() - began;
    const k = where.textContent.match(/[0-9]+/)[0];
    while (root.dataset.shown && root.dataset.shown !== k && performance.now() - began < 20000)
        await new Promise((r) => requestAnimationFrame(r));
    const followed = performance.now() - began;
    // Until the request is answered a further click would be dropped.
    await new Promise((r) => setTimeout(r, 0));
    return [spent, followed];
}"""
ECHO: Final = '''import anywidget
class Echo(anywidget.AnyWidget):
    _esm = """export default { render({ model, el }) {
        el.classList.add("lmx-root");
        const button = document.createElement("button"), where = document.createElement("span");
        button.className = "step"; where.className = "where"; where.textContent = "0";
        el.append(button, where);
        button.onclick = () => model.send({});
        model.on("msg:custom", () => requestAnimationFrame(() => where.textContent++));
    } }"""
    def __init__(self):
        super().__init__()
        self.on_msg(lambda *_: self.send({}))
Echo()'''
SHOWN: Final = """async (ready) => {
    const began = performance.now();
    window.jupyterapp.commands.execute('notebook:run-cell');
    const look = new Function('root', 'return ' + ready);
    let root = null;
    while (performance.now() - began < 60000) {
        await new Promise((r) => requestAnimationFrame(r));
        const all = document.querySelectorAll('.jp-NotebookPanel:not(.lm-mod-hidden) .lmx-root');
        root = all[all.length - 1];
        if (root && look(root)) return performance.now() - began;
    }
    return null;
}"""
NUMBERS: Final = "root.querySelector('.lmx-facts .allowed b')"
DRAWN: Final = (
    """(root.querySelector('[aria-label="as machines"]')?.click(), """
    """root.querySelectorAll('[data-machine=character_fsa] svg .n').length >= 300)"""
)
"""Each machine by itself: a large vocabulary begins along the text."""


class Socket:
    """The kernel's messages to a page: their bytes, and the model's milliseconds in them."""

    def __init__(self, page: Page) -> None:
        self.bytes = 0
        self.model: list[float] = []
        page.on("websocket", lambda socket: socket.on("framereceived", self._frame))

    def _frame(self, payload: Any) -> None:
        data = payload if isinstance(payload, bytes) else str(payload).encode()
        self.bytes += len(data)
        found = re.search(rb'"ms": ?\{"model": ?([0-9.]+)', data)
        if found:
            self.model.append(float(found[1]))

    def take(self) -> tuple[int, float]:
        """The bytes that came since the last call, and the model's milliseconds in them."""
        taken = self.bytes, sum(self.model)
        self.bytes, self.model = 0, []
        return taken


class Bench:
    """A notebook in a browser, one explorer after another."""

    def __init__(self, page: Page, lab: Lab) -> None:
        self.page = page
        self.socket = Socket(page)
        self.cell = 0
        self.followed: list[float] = []
        self.notebook = Notebook(page, lab)
        self.devtools = page.context.new_cdp_session(page)
        self.devtools.send("Performance.enable")

    def run_cell(self) -> None:
        self.page.evaluate(
            f"() => {{ window.jupyterapp.shell.currentWidget.content.activeCellIndex ="
            f" {self.cell}; }}"
        )
        self.cell += 1

    def show(self, ready: str) -> float:
        """Run the next cell; milliseconds until what it shows is there.

        What earlier cells show is taken away before: a notebook has one explorer, as a rule.
        """
        self.page.evaluate(
            "async () => await window.jupyterapp.commands.execute("
            "'notebook:clear-all-cell-outputs')"
        )
        self.page.wait_for_timeout(500)
        self.run_cell()
        spent = self.page.evaluate(SHOWN, ready)
        if spent is None:
            raise RuntimeError(f"cell {self.cell - 1} shows nothing: {self.notebook.errors}")
        return float(spent)

    def _quiet(self) -> None:
        """Wait for data that a page gets once, such as the vocabulary: a second of silence."""
        self.socket.take()
        self.page.wait_for_timeout(1000)
        while self.socket.take()[0]:
            self.page.wait_for_timeout(1000)

    def root(self) -> Any:
        found = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .lmx-root").last
        return found.element_handle()

    def clicks(self, count: int, pause: int = PAUSE) -> tuple[list[float], list[float], list[int]]:
        """Click on Step.

        Args:
            count: How often.
            pause: Milliseconds after each.

        Returns:
            Milliseconds to the repaint, those of the model, and bytes, of each step. Until all
            parts were drawn it took `followed`.
        """
        root = self.root()
        spent: list[float] = []
        model: list[float] = []
        sent: list[int] = []
        self.followed = []
        self._quiet()
        for _ in range(count):
            first, last = self.page.evaluate(CLICK, root)
            spent.append(float(first))
            self.followed.append(float(last))
            self.page.wait_for_timeout(pause)
            size, milliseconds = self.socket.take()
            sent.append(size)
            model.append(milliseconds)
        return spent, model, sent

    def memory(self) -> dict[str, float]:
        """The page after the garbage was collected: megabytes of heap, nodes, listeners."""
        self.page.wait_for_timeout(500)
        for _ in range(2):
            self.devtools.send("HeapProfiler.collectGarbage")
        listed = self.devtools.send("Performance.getMetrics")["metrics"]
        found = {entry["name"]: entry["value"] for entry in listed}
        return {
            "heap_mb": round(found["JSHeapUsedSize"] / 1e6, 2),
            "nodes": found["Nodes"],
            "listeners": found["JSEventListeners"],
        }


def spread(values: list[float]) -> dict[str, float]:
    """Median and 95th percentile, in milliseconds."""
    return {
        "median": round(statistics.median(values), 1),
        "p95": round(statistics.quantiles(values, n=20)[-1], 1),
        "count": len(values),
    }


def measure(*, steps: int, long: int) -> dict[str, Any]:
    """Everything, in one notebook.

    Args:
        steps: How many clicks are timed with each model.
        long: How many steps the long run has.
    """
    from playwright.sync_api import sync_playwright

    def show(lm: str, pattern: str) -> str:
        return f"Explorer({lm}, explorer.regex({pattern!r}), 'Once ', sampler=Sampler(1.0), seed=3)"

    folder = Path(tempfile.mkdtemp())
    lab = Lab(folder)
    found: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load_before": round(os.getloadavg()[0], 2),
        "browser": "",
    }
    try:
        with sync_playwright() as playwright:
            path = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM))
            found["browser"] = f"chromium {browser.version}"
            page = browser.new_page(viewport={"width": 1300, "height": 1000})
            page.set_default_timeout(120_000)
            bench = Bench(page, lab)
            cells = [
                IMPORTS, ECHO, show("tiny", DENSE), show("tiny", STATES), show("model", RECORDS),
                show("model", LONG),
            ]  # fmt: skip
            bench.notebook.open(lab.code("bench.ipynb", *cells))
            bench.run_cell()
            page.evaluate(
                "async () => await window.jupyterapp.commands.execute('notebook:run-cell')"
            )
            bench.show("root.querySelector('.where')")
            found["echo_ms"] = spread(bench.clicks(steps)[0])
            found["first_paint_ms"] = round(bench.show(NUMBERS))
            spent, model, sent = bench.clicks(steps)
            found["tiny"] = {
                "states": "801, drawn in part",
                "step_ms": spread(spent),
                "followed_ms": spread(bench.followed),
                "model_ms": spread(model),
                "bytes": round(statistics.median(sent)),
                "hurried_ms": spread(bench.clicks(steps, HURRIED)[0]),
            }
            found["states_300_ms"] = round(bench.show(DRAWN))
            bench.show(NUMBERS)
            spent, model, sent = bench.clicks(steps)
            over = _over(spent, model)
            hurried, read, _ = bench.clicks(steps, HURRIED)
            found["wide"] = {
                "vocabulary": 131_072,
                "step_ms": spread(spent),
                "followed_ms": spread(bench.followed),
                "model_ms": spread(model),
                "over_model_ms": spread(over),
                "hurried_over_model_ms": spread(_over(hurried, read)),
                "bytes_median": round(statistics.median(sent)),
                "bytes_most": max(sent),
            }
            bench.show(NUMBERS)
            found["long"] = _long(bench, long)
            browser.close()
    finally:
        lab.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _over(spent: list[float], model: list[float]) -> list[float]:
    """The time that was spent beyond the model's own, click by click."""
    return [whole - own for whole, own in zip(spent, model, strict=True)]


def _long(bench: Bench, steps: int) -> dict[str, Any]:
    marks: dict[str, dict[str, float]] = {"0": bench.memory()}
    first: list[float] = []
    last: list[float] = []
    sent: list[int] = []
    done = 0
    for upto in (20, steps // 5, 3 * steps // 5, steps - 20, steps):
        timed = upto in (20, steps)
        spent, model, size = bench.clicks(upto - done, PAUSE if timed else 0)
        done = upto
        if timed:
            (first if upto == 20 else last).extend(_over(spent, model))
            sent = size
        if upto >= steps // 5 and upto != steps - 20:
            marks[str(upto)] = bench.memory()
    return {
        "steps": steps,
        "memory": marks,
        "first_20_over_model_ms": spread(first),
        "last_20_over_model_ms": spread(last),
        "bytes_at_the_end": round(statistics.median(sent)),
    }


def tables(found: dict[str, Any]) -> str:
    """What was measured, as Markdown; every figure is from the JSON.

    Args:
        found: What `measure` gave.
    """
    tiny, wide, long = found["tiny"], found["wide"], found["long"]
    rows = [
        ("first paint after the cell runs, model loaded", f"{found['first_paint_ms']:,} ms"),
        ("300 states compiled, laid out and shown", f"{found['states_300_ms']:,} ms"),
        ("click to repaint, an empty widget, median", f"{found['echo_ms']['median']} ms"),
        ("click to repaint, an empty widget, 95th percentile", f"{found['echo_ms']['p95']} ms"),
        ("click to repaint, tiny model, median", f"{tiny['step_ms']['median']} ms"),
        ("click to repaint, tiny model, 95th percentile", f"{tiny['step_ms']['p95']} ms"),
        (
            f"the same, a click {HURRIED} ms after the last",
            f"{tiny['hurried_ms']['p95']} ms",
        ),
        ("click to all parts drawn, tiny model, median", f"{tiny['followed_ms']['median']} ms"),
        ("over the model's own time, 131,072 ids, median", f"{wide['over_model_ms']['median']} ms"),
        (
            "over the model's own time, 131,072 ids, 95th percentile",
            f"{wide['over_model_ms']['p95']} ms",
        ),
        (
            f"the same, a click {HURRIED} ms after the last",
            f"{wide['hurried_over_model_ms']['p95']} ms",
        ),
        ("sent per step, 131,072 ids, median", f"{wide['bytes_median'] / 1000:,.1f} kB"),
        ("sent per step, 131,072 ids, most", f"{wide['bytes_most'] / 1000:,.1f} kB"),
        (
            f"the same, the last 20 of {long['steps']} steps, median",
            f"{long['last_20_over_model_ms']['median']} ms",
        ),
        (
            f"sent per step at the end of {long['steps']}",
            f"{long['bytes_at_the_end'] / 1000:,.1f} kB",
        ),
    ]
    lines = [
        "# In the browser",
        "",
        "Written by `make bench-ui` (`benchmarks/ui.py` says how each figure is taken) from",
        "[ui.json](ui.json).",
        "",
        f"{found['machine']}; {found['browser']}; load before: {found['load_before']}.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in rows),
        "",
        "The page's memory along one run, after the garbage was collected:",
        "",
        "| steps | JavaScript heap | nodes | listeners |",
        "|---|---|---|---|",
        *(
            f"| {count} | {one['heap_mb']:.1f} MB | {one['nodes']:,.0f} | {one['listeners']:,.0f} |"
            for count, one in long["memory"].items()
        ),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 clicks, a run of 100")
    parser.add_argument("--print", action="store_true", help="write no file")
    arguments = parser.parse_args()
    began = time.perf_counter()
    steps, long = (20, 100) if arguments.quick else (60, 500)
    found = measure(steps=steps, long=long)
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if not arguments.print:
        (DOCS / "ui.json").write_text(text, encoding="utf-8")
        (DOCS / "ui.md").write_text(tables(found), encoding="utf-8")
    print(text)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
