"""The look ahead as a user sees it: the greedy trap before the step; no click waits for a look."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import explorer
from tests.browser.acting import STEP, at, press, rest
from tests.browser.conftest import Lab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

NIGHT = """import explorer
from widgets import Explorer
lm = explorer.load_model("tiny")
night = Explorer(lm, explorer.choice([" New York", " Boston"]), "The night train stops at")
night"""
SLOW = """import threading
import explorer
from widgets import Explorer
from widgets.toy import ToyModel, toy_constraint
gate = threading.Event()
class Slow(ToyModel):
    looks = []
    def read_each(self, tokens, following):
        self.looks.append(len(tokens))
        assert gate.wait(300)
        import torch
        return torch.stack([self.read([*tokens, token]).logits for token in following])
lm = Slow()
slow = Explorer(lm, toy_constraint())
slow"""


def bars(root: Locator) -> Locator:
    return root.locator(".lmx-rows .ahead.on")


def heights(root: Locator) -> list[float]:
    rows = root.locator(".lmx-rows .lmx-row:not(.head)")
    return [row["height"] for row in (one.bounding_box() for one in rows.all()) if row]


def test_the_greedy_trap_is_seen_before_the_step(notebook: Notebook, lab: Lab) -> None:
    notebook.page.set_viewport_size({"width": 1100, "height": 800})
    notebook.open(lab.code("ahead.ipynb", NIGHT))
    assert notebook.run_all()
    root = notebook.explorer()
    before = heights(root)
    rest(root, 0)
    bars(root).first.wait_for()
    lm = explorer.load_model("tiny")
    stops = explorer.choice([" New York", " Boston"])
    session = explorer.Session(lm, stops, "The night train stops at")
    assert heights(root) == before
    for entry in session.ahead():
        row = root.locator(f'.lmx-rows .lmx-row[data-token="{entry.token}"]')
        if not row.count():
            continue
        bar = row.locator(".ahead s")
        assert entry.mass is not None
        drawn = float(str(bar.evaluate("el => el.style.width")).removesuffix("%"))
        assert abs(drawn - 100 * entry.mass) < 0.1
    new = root.locator(".lmx-rows .lmx-row.taken, .lmx-rows .lmx-row").filter(has_text="New").first
    assert "which is masked" in (new.locator(".pair").get_attribute("title") or "")
    assert "lost" in (new.locator(".ahead").get_attribute("class") or "")
    # The mark stands behind the last token: it is about the next step.
    assert root.locator(".lmx-trapmark").last.get_attribute("data-trap") == "0"
    press(root, STEP)
    at(root, 1)
    rest(root, 1)
    assert root.locator('.lmx-trapmark[data-trap="0"]').count() == 1  # Now it is one of the run.


@pytest.mark.long
def test_a_click_does_not_wait_for_a_look(notebook: Notebook, lab: Lab) -> None:
    notebook.page.set_viewport_size({"width": 1100, "height": 800})
    notebook.open(lab.code("slow.ipynb", SLOW))
    assert notebook.run_all()
    root = notebook.explorer()
    notebook.page.wait_for_timeout(2000)  # The page is at rest, and the look is held.
    assert bars(root).count() == 0
    for k in (1, 2):
        press(root, STEP)
        root.locator(".where").filter(has_text=re.compile(rf"\b{k}\b")).wait_for(timeout=20_000)
    assert bars(root).count() == 0
