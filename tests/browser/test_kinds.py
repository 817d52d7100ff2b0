"""The kinds of constraints in the editor: each is compiled, and a caret stands under what is wrong.

`EXPLORER_STILLS=folder` keeps a picture of each.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from tests.browser.acting import STEP, at, press, quiet, write
from tests.browser.conftest import Lab, Notebook
from tests.presets import preset_named
from widgets.kinds import OFFERED

if TYPE_CHECKING:
    from playwright.sync_api import Locator

CELL = """
import explorer
from widgets import Explorer
tiny = explorer.load_model("tiny")
Explorer(tiny, explorer.regex("[a-z]+"), prompt="The sky is ")
"""

# A preset, what is put wrong in it, and the two lines that point at it.
WRONG = [
    (
        "game character (JSON Schema)", ('"integer", "minimum": 1, "maximum": 30', '"int"'),
        ('    "level": {"type": "int"},', '"type": "int"'),
    ),
    (
        "Harry Potter (template)", ('"[1-7]"', '"[1-7"'),
        ('    year=gen(regex="[1-7"),', "["),
    ),
    (
        "countries by name", ('"Kenya": [', '"Kenya" ['),
        ('  "Kenya" ["Kenya", "KENYA", "kenya"],', "["),
    ),
    (
        "summary in bullet points (PARAGRAPH_TOKEN)", ("TOKEN>)", "TOKEN>many)"),
        (r"Summary:(\n\* (?P<PARAGRAPH_TOKEN>many){3,8}){3,5}", "many"),
    ),
    (
        "sums in parentheses (grammar)", ('"(" sum ")"', '"(" summ ")"'),
        ('term ::= number | "(" summ ")"', "summ"),
    ),
]  # fmt: skip


HEALED = """
import explorer
from widgets import Cursor, Explorer
tiny = explorer.load_model("tiny")
place = explorer.regex("[a-z]{3,8}s? in (Paris|Rome)")
healed = explorer.Session(tiny, place, "The cat sleep", heal=True)
Explorer(cursor=Cursor(healed))
"""


def shot(notebook: Notebook, what: Locator, name: str) -> None:
    """Keep a picture, where that is asked for."""
    folder = os.environ.get("EXPLORER_STILLS")
    if folder:
        notebook.page.wait_for_timeout(1500)
        what.screenshot(path=f"{folder}/{name}.png")


FEW = (WRONG[0], WRONG[-1])
"""A data structure and a grammar."""


@pytest.mark.parametrize("kinds", [FEW, pytest.param(WRONG, marks=pytest.mark.long)], ids=len)
def test_each_kind_shows_what_is_wrong_where_it_stands(
    kinds: Sequence[tuple[str, tuple[str, str], tuple[str, str]]], notebook: Notebook, lab: Lab
) -> None:
    notebook.page.set_viewport_size({"width": 1200, "height": 1600})
    notebook.open(lab.code("kinds.ipynb", CELL))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    part = root.locator(".lmx-part-editor")
    field = root.get_by_role("textbox", name="constraint")
    kind = root.get_by_role("combobox", name="kind of constraint")
    error, report = part.locator(".lmx-error"), root.locator(".report")
    for number, (name, (right, wrong), (line, under)) in enumerate(kinds):
        preset = preset_named(name)
        assert right in preset.text
        before = report.text_content()
        write(root, preset)
        notebook.page.wait_for_function(
            "([el, before]) => el.textContent.includes('state') && el.textContent !== before",
            arg=[report.element_handle(), before],
        )
        assert (field.input_value(), kind.input_value()) == (preset.text, preset.kind)
        shot(notebook, part, f"kind-{number}")
        field.fill(preset.text.replace(right, wrong, 1))
        error.locator("pre").wait_for()
        shown, marks = error.locator("pre").inner_text().rstrip("\n").split("\n")
        assert shown == line and shown[marks.index("^") : len(marks)] == under
        # The place itself is underlined, and in view.
        mark = part.locator(".behind .bad .expect")
        assert mark.inner_text() == under
        inside = (
            "([el, field]) => { const [a, b] = [el, field].map((e) => e.getBoundingClientRect());"
        )
        inside += " return a.top >= b.top - 1 && a.bottom <= b.bottom + 1; }"
        both = [mark.element_handle(), field.element_handle()]
        notebook.page.wait_for_function(inside, arg=both)
        shot(notebook, part, f"wrong-{number}")
        field.fill(preset.text)
        error.wait_for(state="hidden")
    # A text of several lines takes Enter as a newline; a pattern is confirmed by it.
    kind.select_option("choices with aliases")
    field.fill("{")
    field.press("Enter")
    assert field.input_value() == "{\n"
    quiet(notebook)


@pytest.mark.long
def test_each_kind_has_a_text_of_its_own(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("own.ipynb", CELL))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    field = root.get_by_role("textbox", name="constraint")
    kind = root.get_by_role("combobox", name="kind of constraint")
    first = field.input_value()
    kind.select_option("JSON Schema")
    example = field.input_value()
    assert example in {preset.text for preset in OFFERED if preset.kind == "JSON Schema"}
    field.fill('{"type": "null"}')
    kind.select_option("regex")
    assert field.input_value() == first
    kind.select_option("JSON Schema")
    assert field.input_value() == '{"type": "null"}'
    root.locator(".report", has_text="state").wait_for(state="attached")
    quiet(notebook)


@pytest.mark.long
def test_the_end_of_the_prompt_that_was_taken_back_is_marked(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("healed.ipynb", HEALED))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    mark = root.locator(".lmx-tok.prompt.healed")
    assert mark.inner_text().replace("\n", "") in ("␣sleep↶", "sleep↶")
    assert "taken back" in (mark.get_attribute("title") or "")
    prompt = root.get_by_role("textbox", name="prompt")
    assert prompt.input_value() == "The cat sleep"
    press(root, STEP)
    at(root, 1)
    assert mark.count() == 1
    shot(notebook, root.locator(".lmx-part-strip"), "healed")
    quiet(notebook)
