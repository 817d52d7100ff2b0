"""The line that says how the machine was composed, and the editor of the transducer's arcs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.acting import FOR, STEP, TOY, allowed, at, opened, press, quiet, rest
from tests.browser.conftest import LIGHT, Lab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator


def test_an_arc_is_changed_and_who_composed_is_told(
    notebook: Notebook, lab: Lab, tmp_path: Path
) -> None:
    pictures = Path(os.environ.get("EXPLORER_PICTURES", tmp_path))
    notebook.open(lab.code("arcs.ipynb", TOY))
    assert notebook.run_all()
    root = notebook.explorer()
    usual = allowed(root)
    line = root.locator(".lmx-composed span")
    said = re.compile(
        r"^composed by pynini, [0-9.]+ ms; by functions, [0-9.]+ ms; the same machine$"
    )
    line.filter(has_text=said).wait_for(state="attached")
    transducer = root.locator('[data-machine="detokenizing_fst"]')
    press(opened(transducer), "Detokenizing FST: edit an arc")
    form = transducer.locator(".lmx-arcs")
    form.get_by_label("token whose arc is edited").fill(f"#{FOR}")
    form.get_by_label("token whose arc is edited").press("Enter")
    form.get_by_text(f"id {FOR}").wait_for()
    writes = form.get_by_label("what the token writes")
    assert writes.input_value() == "for"
    # The token writes something else: it becomes allowed, and the machines are drawn anew.
    writes.fill("food")
    press(form, "apply")
    root.locator(f'.lmx-cell.on[data-token="{FOR}"]').wait_for()
    assert allowed(root) == sorted([*usual, FOR])
    line.filter(has_text=said).wait_for(state="attached")
    for theme, name in ((LIGHT, "light"), ("JupyterLab Dark", "dark")):
        notebook.theme(theme)
        rest(root)
        root.screenshot(path=pictures / f"arc-{name}.png")
    notebook.theme(LIGHT)
    # A token without an arc is never allowed, and the usual arc brings everything back.
    press(form, "leave it out")
    root.locator(f'.lmx-cell.on[data-token="{FOR}"]').wait_for(state="detached")
    assert allowed(root) == usual
    press(form, "as usual")
    form.get_by_text("compiling…").wait_for(state="detached")
    assert allowed(root) == usual
    assert writes.input_value() == "for"
    quiet(notebook)


def test_a_session_steps_on_the_machine_that_pynini_composed(toy: Locator) -> None:
    toy.locator(".lmx-composed span", has_text="composed by pynini").wait_for(state="attached")
    before = allowed(toy)
    press(toy, STEP)
    at(toy, 1)
    toy.locator(".lmx-menu > summary", has_text=re.compile("^i$")).click()
    switch = toy.get_by_label("decode on pynini's machine")
    report = toy.locator(".report")
    functions = report.inner_text()
    switch.check()
    toy.page.wait_for_function(
        "([el, old]) => el.textContent !== old", arg=[report.element_handle(), functions]
    )
    rest(toy)
    assert switch.is_checked()
    toy.page.keyboard.press("Escape")
    at(toy, 1)  # The tokens stay, and the masks are the same.
    press(toy, "to the start (Home)")
    at(toy, 0)
    assert allowed(toy) == before
