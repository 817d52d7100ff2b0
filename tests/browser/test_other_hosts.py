"""Every notebook of the course in Notebook 7 and in voila: it runs, and its widgets draw.

`tests/browser/test_course.py` does the same in JupyterLab. One notebook runs in each in every
test run by way of `test_hosts`; all of them are `long`.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.browser.acting import STEP, at, press
from tests.browser.conftest import IDLE, PATIENCE, REPOSITORY, Lab, Notebook
from tests.browser.forked_kernel import FRESH
from tests.notebooks.running import course

pytestmark = pytest.mark.long

STEMS = [path.stem for path in course()]
RUN_ALL = "async () => await window.jupyterapp.commands.execute('notebook:run-all-cells')"
FAILED = (
    ".jp-RenderedText[data-mime-type*='stderr'], [data-mime-type$='jupyter.error'], .jp-mod-error"
)
MINUTES = 3
"""The longest that a notebook may take on a busy machine."""


def written(stem: str, kernel: str = "python3") -> dict[str, Any]:
    """A notebook of the course as it is stored, for one of the two kernels of `forked_kernel`."""
    made = json.loads((REPOSITORY / "notebooks" / f"{stem}.ipynb").read_text("utf-8"))
    made["metadata"]["kernelspec"] = {"name": kernel, "display_name": "Python 3"}
    return made


def draws_and_steps(notebook: Notebook) -> None:
    """The first explorer of the page is drawn, and steps once."""
    root = notebook.page.locator(".lmx-root", has=notebook.page.locator(".where")).first
    root.locator(".lmx-machine svg .n").first.wait_for(state="attached", timeout=PATIENCE)
    where = root.locator(".where").inner_text()
    found = re.match(r"position (\d+)", where)
    assert found is not None
    if root.get_by_role("button", name=STEP, exact=True).is_enabled():
        press(root, STEP)
        at(root, int(found[1]) + 1)


@pytest.mark.long
@pytest.mark.parametrize("stem", STEMS)
def test_a_notebook_runs_in_notebook_7(notebook: Notebook, lab: Lab, stem: str) -> None:
    pytest.importorskip("notebook", reason="notebook is not installed")
    page = notebook.page
    page.set_default_timeout(MINUTES * 60_000)
    page.goto(f"{lab.origin}/notebooks/{lab.put(f'{stem}.ipynb', written(stem))}?token={lab.token}")
    page.wait_for_function(IDLE, timeout=PATIENCE)
    notebook.host_alone()
    assert page.evaluate(RUN_ALL)
    assert page.locator(FAILED).count() == 0
    draws_and_steps(notebook)


@pytest.mark.long
@pytest.mark.parametrize("stem", STEMS)
def test_a_notebook_runs_in_voila(notebook: Notebook, lab: Lab, stem: str) -> None:
    pytest.importorskip("voila", reason="voila is not installed")
    page = notebook.page
    # What voila's page says by itself: it asks for fonts and MathJax elsewhere.
    plain = lab.code("plain.ipynb", "1 + 1", kernel=FRESH)
    page.goto(f"{lab.origin}/voila/render/{plain}?token={lab.token}")
    page.wait_for_load_state("networkidle")
    page.goto("about:blank")
    page.wait_for_timeout(500)
    notebook.host_alone()
    path = lab.put(f"{stem}.ipynb", written(stem, FRESH))
    address = f"{lab.origin}/voila/render/{path}?token={lab.token}"
    page.goto(address, timeout=MINUTES * 60_000)
    assert page.locator(FAILED).count() == 0
    draws_and_steps(notebook)
