"""Editing in a real JupyterLab: slow work says so, can be cancelled, and blocks nothing."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

import explorer
from tests.browser.acting import FOO, STEP, allowed, at, choose, press, quiet
from tests.browser.conftest import Lab, Notebook
from tests.presets import preset_named
from widgets.kinds import TOY
from widgets.toy import PATTERN, ToyModel

if TYPE_CHECKING:
    from playwright.sync_api import Locator

# Sixteen million states before there is any machine: minutes, so the budget that a page has must be
# raised first.
LONG = "(?!(f|o)*f(f|o){23}$)[fo]*"
CELL = """
from explorer import Budget
from widgets import Explorer
toy = Explorer()
large = Budget(states=10**9, arcs=10**12, bytes=10**11, seconds=3600)
toy.shown.editing.budget = large
toy
"""


def after_foo(pattern: str) -> set[int]:
    """The ids of the toy that a pattern allows after `foo`."""
    machine = explorer.compile(explorer.regex(pattern), ToyModel().vocabulary)
    return set(machine.allowed(machine.walk([FOO])[-1]).nonzero()[0].tolist())


def test_an_edit_says_which_tokens_it_gained_and_lost_here(
    toy: Locator, notebook: Notebook
) -> None:
    press(toy, STEP)
    at(toy, 1)
    field = toy.get_by_role("textbox", name="constraint")
    edited = toy.locator(".lmx-edited")
    assert edited.is_hidden()
    said = {
        "(foo)+": "allows EOS; it masks food.",
        "(foo)+r?": "changes nothing at this place.",
        "(foo)+|foofor": "allows for.",
        "(foo)+d": "allows food; it masks for EOS.",
    }
    before = after_foo("(foo)+d")
    for pattern, sentence in said.items():
        now = after_foo(pattern)
        field.fill(pattern)
        field.press("Enter")
        edited.filter(has_text=f"Your edit {sentence}").wait_for()
        named = [box.get_attribute("data-token") for box in edited.locator(".lmx-tok").all()]
        assert {int(one or "") for one in named} == before ^ now
        before = now
        at(toy, 1)
    field.blur()
    press(toy, STEP)
    at(toy, 2)
    assert edited.is_hidden()
    quiet(notebook)


def test_cancel_of_a_long_compile(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("long.ipynb", CELL))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    field = root.get_by_role("textbox", name="constraint")
    report = root.locator(".report")
    good = report.text_content()
    cancel = root.get_by_role("button", name="cancel", exact=True)
    assert cancel.is_hidden()
    field.fill(LONG)
    cancel.wait_for()
    doing = root.locator(".doing")
    doing.filter(has_text=re.compile(r"^compiling… \d+\.\d s$")).wait_for()
    first = doing.inner_text()
    # Meanwhile the kernel answers: one steps under the constraint as it was.
    press(root, STEP)
    at(root, 1)
    assert allowed(root) == [0, 2, 4]
    assert root.locator(".lmx-note[role=status]").is_hidden()
    assert doing.inner_text() != first
    assert cancel.is_visible()
    folder = os.environ.get("EXPLORER_STILLS")
    if folder:
        notebook.page.screenshot(path=f"{folder}/compiling.png")
    cancel.click()
    doing.filter(has_text=re.compile("^cancelled$")).wait_for()
    cancel.wait_for(state="hidden")
    assert field.input_value() == LONG
    if folder:
        notebook.page.screenshot(path=f"{folder}/cancelled.png")
    assert root.locator('[data-machine="character_fsa"] .n').count() == 5
    press(root, STEP)
    at(root, 2)
    # What comes next finds another process: an error with its caret, and its repair.
    field.fill("(foo+d")
    error = root.locator(".lmx-part-editor .lmx-error")
    error.locator("pre").wait_for()
    assert error.locator("pre").inner_text().rstrip("\n") == "(foo+d\n^"
    field.fill("(foo){1,3}")
    error.wait_for(state="hidden")
    report.filter(has_text=re.compile(r"states.*token classes.* ms$")).wait_for(state="attached")
    assert report.text_content() != good
    vocabulary = ToyModel().vocabulary
    dfa = explorer.compile(explorer.regex("(foo){1,3}"), vocabulary)
    state = dfa.walk([2, 2])[-1]
    at(root, 2)
    assert allowed(root) == dfa.allowed(state).nonzero()[0].tolist()
    # Typing on calls the older one off by itself.
    field.fill(LONG)
    cancel.wait_for()
    field.fill(PATTERN)
    report.filter(has_text=(good or "").split(",")[0]).wait_for(state="attached")
    cancel.wait_for(state="hidden")
    quiet(notebook)


@pytest.mark.long
def test_a_preset_brings_its_vocabulary_and_the_toy_comes_back(
    notebook: Notebook, lab: Lab
) -> None:
    notebook.open(lab.code("presets.ipynb", CELL))
    assert notebook.run_all()
    root = notebook.explorer()
    field = root.get_by_role("textbox", name="constraint")
    prompt = root.get_by_role("textbox", name="prompt")
    about = root.locator(".lmx-top .chip")
    report = root.locator(".report")
    preset = preset_named("ISO date-time")
    choose(root, preset.name)
    about.filter(has_text="model tiny").wait_for()
    report.filter(has_text="token classes").wait_for(state="attached")
    assert field.input_value() == preset.text
    prompt.fill("At ")
    field.fill("[0-9]{2}")
    report.filter(has_text=re.compile("^3 character states → 3 token states")).wait_for(
        state="attached"
    )
    assert prompt.input_value() == "At "
    choose(root, TOY)
    about.filter(has_text="toy preset").wait_for()
    report.filter(has_text=re.compile("^5 character states → 4 token states")).wait_for(
        state="attached"
    )
    assert (field.input_value(), prompt.input_value()) == (PATTERN, "")
    assert prompt.is_disabled()
    at(root, 0)
    assert allowed(root) == [0, 2, 4]
    quiet(notebook)
