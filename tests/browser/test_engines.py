"""The strip of other engines in a real JupyterLab: off at first, hatched where one differs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.browser.acting import STEP, at, press, rest
from tests.browser.conftest import Lab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

for library in ("outlines_core", "xgrammar", "llguidance"):
    pytest.importorskip(library)

SHOWN = """import explorer
from widgets import Explorer
from widgets.toy import ToyModel
letters = ToyModel({**{letter: 1.0 for letter in "helo wrd\\n"}, "hello": 2.0, " world": 3.0})
shown = Explorer(letters, explorer.regex("hello world."))
shown"""
REFUSED = """refused = Explorer(letters, explorer.regex("(?=h)hello"))
refused"""


def strip(root: Locator) -> Locator:
    return root.locator(".lmx-engines")


def switch(root: Locator) -> None:
    root.locator('[data-drawer="engines"]').click()


def table(root: Locator) -> Locator:
    """The rows, once they are those of the position that is shown."""
    found = strip(root).locator(".lmx-engine-table:not(.old) table")
    found.wait_for(timeout=60_000)
    return found


def picture(root: Locator, name: str) -> None:
    """A picture to look at, where a folder for it is named."""
    folder = os.environ.get("EXPLORER_STILLS")
    if folder:
        root.page.wait_for_timeout(600)
        strip(root).screenshot(path=f"{folder}/engines-{name}.png")


def test_other_engines_beside_the_mask(lab: Lab, notebook: Notebook) -> None:
    notebook.open(lab.code("engines.ipynb", SHOWN, REFUSED))
    assert notebook.run_all()
    root = notebook.explorer(0)
    at(root, 0)
    # Off by default, and nobody has been asked.
    assert strip(root).locator("table").count() == 0
    button = root.get_by_role("button", name="Other engines")
    assert button.get_attribute("aria-expanded") == "false"

    switch(root)
    press(root, STEP)  # The engines start meanwhile; no click waits for them.
    at(root, 1)
    press(root, "back (←)")
    at(root, 0)
    rows = table(root)
    names = rows.locator('th[scope="row"]').all_inner_texts()
    assert [name.split(" ")[0] for name in names] == [
        "explorer",
        "outlines-core",
        "xgrammar",
        "llguidance",
    ]

    differing = rows.locator("button.differs")
    assert differing.count() > 0
    one = differing.first
    # A pattern and a border, not a colour alone; and said in words.
    ground = one.evaluate("(el) => getComputedStyle(el).backgroundImage")
    assert "repeating-linear-gradient" in ground
    assert one.inner_text() in ("✓", "✗")
    assert ", explorer " in (one.get_attribute("aria-label") or "")
    same = rows.locator("span.lmx-engine-cell").first
    assert same.evaluate("(el) => getComputedStyle(el).backgroundImage") == "none"

    # A click tells why; another closes it.
    one.click()
    why = strip(root).locator(".lmx-engine-why")
    why.locator("b").wait_for()
    assert why.locator("b").inner_text() in ("Unicode class", "dialect", "forced tokens")
    assert rows.locator('button[aria-expanded="true"]').count() == 1
    for name, file in (("JupyterLab Light", "light"), ("JupyterLab Dark", "dark")):
        notebook.theme(name)
        table(root)
        picture(root, file)
    notebook.theme("JupyterLab Light")
    size = notebook.page.viewport_size
    assert size is not None
    notebook.page.set_viewport_size({"width": 620, "height": size["height"]})
    rest(root)
    picture(root, "narrow")
    notebook.page.set_viewport_size(size)
    rest(root)
    rows.locator('button[aria-expanded="true"]').click()
    why.locator("b").wait_for(state="detached")

    # The rows follow the text.
    press(root, STEP)
    at(root, 1)
    table(root)

    # Switched off, nothing is left.
    switch(root)
    strip(root).locator(".lmx-engine-table").wait_for(state="hidden")

    other = notebook.explorer(1)
    at(other, 0)
    switch(other)
    refusals = table(other).locator("td.refused")
    assert refusals.count() == 3
    assert all(text.strip() for text in refusals.all_inner_texts())
