"""Runs of several phases on the page: each preset is written to its end by the model of phases, its
tokens are banded, the present phase is lit, and the editor has its tags folded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from tests.browser.acting import at, press, quiet, rest, write
from tests.browser.conftest import LIGHT, Lab, Notebook
from tests.presets import presets_of
from widgets.kinds import Preset

if TYPE_CHECKING:
    from playwright.sync_api import Locator

TAGS = presets_of("tag")
CELL = """from widgets import Explorer
import explorer
Explorer(explorer.load_model("tiny-chat"), explorer.regex("[a-z]+"), max_tokens=120)"""

WEATHER = '<tool_call> › {"name": "get_weather", "arguments":'
SHOWN = {
    "think, then answer": ["<think>"],
    "a call of a tool": ["<tool_call>", WEATHER],
    "calls of several tools": [
        "<tool_call>", WEATHER, '<tool_call> › {"name": "get_time", "arguments":',
    ],
    "channels of Harmony": ["analysis", "commentary to=functions.get_weather", "final"],
}  # fmt: skip
"""The names in the small machine."""


def shot(notebook: Notebook, root: Locator, name: str) -> None:
    """Keep a picture, where that is asked for."""
    folder = os.environ.get("EXPLORER_STILLS")
    if folder:
        rest(root)
        notebook.page.wait_for_timeout(1200)
        root.screenshot(path=f"{folder}/{name}.png")


@pytest.mark.parametrize(
    "presets", [TAGS[-1:], pytest.param(TAGS, marks=pytest.mark.long)], ids=len
)
def test_each_preset_is_written_to_its_end(
    presets: Sequence[Preset], notebook: Notebook, lab: Lab
) -> None:
    page = notebook.page
    notebook.open(lab.code("phases.ipynb", CELL))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    machine = root.get_by_role("list", name="phases of the run")
    bands = root.locator(".lmx-band")
    assert machine.is_hidden()
    for number, preset in enumerate(presets, len(TAGS) - len(presets)):
        pills = SHOWN[preset.name]
        write(root, preset)
        machine.locator("li", has_text=pills[-1]).wait_for()
        at(root, 0)
        assert root.get_by_role("textbox", name="prompt").input_value() == preset.prompt
        assert machine.locator("li > span").all_inner_texts() == pills
        press(root, "to the end (End)")
        root.locator(".where", has_text="finished").wait_for()
        rest(root)
        assert bands.count() >= 1
        assert root.get_by_text("This is not possible").count() == 0
        shot(notebook, root, f"phases-{number}")
    # The last one is Harmony's: the band of the reasoning is folded and shown again.
    band = root.get_by_role("listitem", name="phase analysis", exact=True)
    before = root.locator(".lmx-strip .lmx-tok").count()
    band.click()
    root.locator(".lmx-band", has_text="▸ analysis").wait_for()
    assert root.locator(".lmx-strip .lmx-tok").count() < before
    band.click()
    band.filter(has_text="▾").wait_for()
    assert root.locator(".lmx-strip .lmx-tok").count() == before
    # The present phase is lit, and follows the position.
    press(root, "to the start (Home)")
    at(root, 0)
    lit = machine.locator("[aria-current=step]")
    assert not lit.count()
    for _ in range(2):
        press(root, "step (→)")
    at(root, 2)
    assert lit.locator("span").all_inner_texts() == ["analysis"]
    press(root, "to the end (End)")
    root.locator(".where", has_text="finished").wait_for()
    notebook.theme("JupyterLab Dark")
    shot(notebook, root, "phases-dark")
    notebook.theme(LIGHT)
    page.set_viewport_size({"width": 640, "height": 1000})
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    rest(root)
    shot(notebook, root, "phases-narrow")
    wide = root.evaluate("(el) => [el.scrollWidth, el.clientWidth]")
    assert wide[0] <= wide[1] + 1
    quiet(notebook)
