"""The line that says how the machine was composed, and the editor of the transducer's arcs."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.browser.acting import FOR, TOY, allowed, opened, press, quiet, rest
from tests.browser.conftest import LIGHT, Lab, Notebook


def test_an_arc_is_changed_and_who_composed_is_told(
    notebook: Notebook, lab: Lab, tmp_path: Path
) -> None:
    pictures = Path(os.environ.get("EXPLORER_PICTURES", tmp_path))
    notebook.open(lab.code("arcs.ipynb", TOY))
    assert notebook.run_all()
    root = notebook.explorer()
    usual = allowed(root)
    line = root.locator(".lmx-composed")
    said = re.compile(
        r"^composed by pynini, [0-9.]+ ms; by functions, [0-9.]+ ms; the same machine$"
    )
    line.filter(has_text=said).wait_for(state="attached")
    transducer = root.locator('[data-machine="detokenizing_fst"]')
    press(opened(transducer), "Detokenizing FST: edit an arc")
    form = transducer.locator(".lmx-arcs")
    form.get_by_label("token whose arc is edited").fill(str(FOR))
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
