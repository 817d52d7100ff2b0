"""Colours that mean one thing each, and room for what matters, on a real model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.acting import STEP, at, press, quiet, rest
from tests.browser.conftest import Lab, Notebook
from tests.browser.test_hand import REAL

if TYPE_CHECKING:
    from playwright.sync_api import Locator

TYPE = """import explorer
from typing_extensions import TypedDict
from widgets import Explorer
Patient = TypedDict("Patient", {"name": str, "age": int, "tags": list[str]})
Explorer(explorer.load_model("tiny"), explorer.from_type(Patient), prompt="As JSON: ")"""

COLOURS = """(root) => {
    const at = root.closest(".lmx");
    const probe = document.createElement("i");
    at.append(probe);
    const out = {};
    for (const name of ["ok", "okbg", "no", "nobg", "now", "nowbg", "nowink"]) {
        probe.style.color = `var(--lmx-${name})`;
        out[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    return out;
}"""


def style(where: Locator, name: str) -> str:
    return where.first.evaluate("(el, name) => getComputedStyle(el)[name]", name)


@pytest.mark.long
def test_amber_is_where_we_are_and_vermilion_what_is_masked(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("look.ipynb", REAL, TYPE))
    assert notebook.run_all()
    root = notebook.explorer()
    for k in (1, 2):
        press(root, STEP)
        at(root, k)
    colours: dict[str, str] = root.evaluate(COLOURS)
    amber = {colours[name] for name in ("now", "nowbg", "nowink")}
    inner = root.locator('[data-machine="detokenizing_fst"]')
    # Only a hyphen is allowed: it and at most three masked tokens are drawn, each refused where it
    # fails, at its first byte.
    inner.locator(".a.no").first.wait_for(state="attached")
    rest(root)
    assert inner.locator("tspan.no").count() <= 3
    refused = [arc.get_attribute("data-arc") or "" for arc in inner.locator(".a.no").all()]
    assert refused
    assert all(name.startswith("t-") for name in refused)
    long = inner.locator(".n > text", has_text="…")
    assert long.count() > 0  # States past three letters have a name.
    # A masked token is asked about: its row and its arcs are vermilion, amber stays where we are.
    row = root.locator(".lmx-row.masked").nth(1)
    row.click()
    root.locator(".lmx-why .nearest").wait_for()
    rest(root)
    root.page.mouse.move(3, 3)
    assert style(row, "backgroundColor") == colours["nobg"]
    assert style(row.locator(".lmx-tok"), "backgroundImage") == "none"  # Nothing through letters.
    lit = root.locator(".lmx-machine .a.go .line")
    assert lit.count() > 0
    for one in lit.all():
        assert style(one, "stroke") not in amber
    for machine in root.locator(".lmx-machine").all():
        assert machine.locator(".n.now").count() == 1
    # One action is filled with colour.
    filled = root.locator("button").evaluate_all(
        "(all, ok) => all.filter((one) => getComputedStyle(one).backgroundColor === ok)"
        ".map((one) => one.textContent)",
        colours["ok"],
    )
    assert filled == ["Step ▶"]
    # A long machine is as high as what is in view of it.
    typed = notebook.explorer(1)
    rest(typed)
    drawn = typed.locator('[data-machine="character_fsa"] svg[role=img]').bounding_box()
    assert drawn is not None
    assert drawn["height"] < 130
    quiet(notebook)


LONG = """import explorer
from widgets import Explorer
text = {"type": "string", "maxLength": 9}
fields = {name: text for name in ["name", "town", "job", "food", "pet"]}
record = explorer.json_schema({"type": "object", "properties": fields})
Explorer(explorer.load_model("tiny"), record)"""
