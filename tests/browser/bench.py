"""Milliseconds from a click on Step to the page repainted, in a real browser; `python -m` this.

Not a test: figures of a busy machine are no verdict. Prints one JSON object.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import CHROMIUM, Lab, Notebook

CELL = """import explorer
from explorer import Sampler
from widgets import Explorer
lm = explorer.load_model("tiny")"""
SHOW = """e = Explorer(lm, explorer.regex("[a-z ,.]{300,400}"), "Once ", sampler=Sampler(1.0))
e"""
CLICK = """async (root) => {
    const where = root.querySelector('.where'), button = root.querySelector('.step');
    const before = where.textContent, began = performance.now();
    button.click();
    while (where.textContent === before && performance.now() - began < 5000)
        await new Promise((r) => requestAnimationFrame(r));
    return performance.now() - began;
}"""


def measure(steps: int = 60) -> dict[str, float]:
    """Step through the tiny model.

    Args:
        steps: How many clicks are measured.
    """
    lab = Lab(Path(tempfile.mkdtemp()))
    try:
        with sync_playwright() as playwright:
            path = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM))
            page = browser.new_page(viewport={"width": 1300, "height": 1000})
            notebook = Notebook(page, lab).open(lab.code("bench.ipynb", CELL, SHOW))
            run = "async () => await window.jupyterapp.commands.execute('notebook:run-cell')"
            page.evaluate(
                "() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }"
            )
            page.evaluate(run)
            page.evaluate(
                "() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1; }"
            )
            began = time.perf_counter()
            page.evaluate(run)
            root = notebook.explorer()
            first = 1000 * (time.perf_counter() - began)
            handle = root.element_handle()
            times: list[float] = []
            for _ in range(steps):
                times.append(float(page.evaluate(CLICK, handle)))
                page.wait_for_timeout(150)  # One click after another, as a hand does it.
            browser.close()
    finally:
        lab.stop()
    return {
        "first_paint_ms": round(first),
        "step_median_ms": round(statistics.median(times), 1),
        "step_p95_ms": round(statistics.quantiles(times, n=20)[-1], 1),
        "steps": steps,
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
