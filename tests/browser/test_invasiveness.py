"""The rows of schemes in a real JupyterLab: marks, keys, and a step that is opened from them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from explorer.decoding.models.load import load_model
from tests.browser.acting import END, press, quiet, rest
from tests.browser.conftest import PATIENCE, Lab, Notebook
from tests.browser.test_contrast import CONTRAST
from widgets.views.invasiveness import Invasiveness

if TYPE_CHECKING:
    from playwright.sync_api import Locator

SHOWN = """from widgets import Explorer, Invasiveness
from explorer import Sampler
shown = Invasiveness(max_tokens=12, lookaheads=(0, 1))
shown"""
COMPARED = 'both = shown.compare("k = 1", "template")\nboth'


def boxes(rows: Locator) -> list[list[dict[str, Any]]]:
    """The text of each box of each row, as the page has it."""
    return rows.evaluate(
        """(el) => [...el.querySelectorAll('.lmx-scheme')].map((row) =>
            [...row.querySelectorAll('.lmx-box')].map((box) => ({
                id: Number(box.dataset.token), number: box.querySelector('small').firstChild.data,
                marks: ['parted', 'bridge', 'fixed', 'intervention'].filter((m) => box.classList.contains(m)),
                label: box.getAttribute('aria-label'), signs: box.querySelectorAll('sup').length,
            })))"""  # noqa: E501 - One thought a line.
    )


def test_rows_open_steps(notebook: Notebook, lab: Lab) -> None:
    page = notebook.page
    notebook.open(lab.code("invasive.ipynb", SHOWN, COMPARED))
    assert notebook.run_all()
    root = page.locator(".lmx-invasive")
    rows = root.locator(".lmx-schemes")
    rows.locator(".lmx-box").first.wait_for(timeout=PATIENCE)
    made = Invasiveness(load_model("tiny"), max_tokens=12, lookaheads=(0, 1))

    # Every mark has a sign and words; the number is there beside the hue.
    expected = made.schemes["rows"]
    told = boxes(rows)
    assert len(told) == len(expected) == 7
    names = {"missed": "intervention"}
    for row, found in zip(expected, told, strict=True):
        for token, box in zip(row["tokens"], found, strict=True):
            marks = {
                names.get(mark, mark)
                for mark in ("parted", "bridge", "fixed", "missed")
                if mark in token
            }
            assert (box["id"], set(box["marks"])) == (token["id"], marks)
            assert box["number"] == f"{token['bits']:.1f}" and box["signs"] == len(marks)
            assert f"{token['bits']:.1f} bits" in box["label"] and token["text"] in box["label"]
    assert {mark for row in told for box in row for mark in box["marks"]} == {
        "parted", "bridge", "fixed", "intervention",
    }  # fmt: skip
    assert "invasive" in rows.locator('[data-scheme="k = 0"] .said').inner_text()

    # A click opens that step: the explorer stands where that token was chosen.
    assert root.locator(".lmx-opened").is_hidden()
    rows.locator('[data-scheme="k = 1"] .lmx-box').nth(2).click()
    root.locator(".where", has_text=re.compile("^position 2\\b")).wait_for()
    inner = root.locator(".lmx-opened .lmx-root")
    rest(inner, 2)
    made.show_step("k = 1", 2)
    ids = [token["id"] for token in made.schemes["rows"][2]["tokens"]]
    shown = inner.locator(".lmx-strip .lmx-tok[data-k]").all()
    assert [int(one.get_attribute("data-token") or -1) for one in shown] == ids
    number = int(made.session.allowed().sum())
    assert inner.locator(".lmx-facts .allowed b").inner_text().replace(",", "") == str(number)
    here = rows.locator(".lmx-box[aria-current]")
    assert (here.get_attribute("data-row"), here.get_attribute("data-k")) == ("2", "2")

    # Keys: one stop for the tab key, arrows between the boxes, Enter opens.
    assert rows.locator('.lmx-box[tabindex="0"]').count() == 1
    rows.locator('.lmx-box[tabindex="0"]').focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    focused = page.evaluate("() => ({...document.activeElement.dataset})")
    assert (focused["row"], focused["k"]) == ("1", "3")
    page.keyboard.press("Enter")
    root.locator(".where", has_text=re.compile("^position 3\\b")).wait_for()
    rest(inner, 3)
    assert rows.locator(".lmx-box[aria-current]").get_attribute("data-row") == "1"

    # Text stands out, light and dark: what is the strip's own, dimmed ahead of the place, is left.
    for name in ("JupyterLab Dark", "JupyterLab Light"):
        notebook.theme(name)
        seen = rows.evaluate(
            f"(el) => {{ const own = {CONTRAST}; return own(['.lmx-scheme']); }}",
        )
        mine = [one for one in seen if one["parts"]]
        assert mine and [one for one in mine if one["ratio"] < 4.5] == []

    # Beside each other: the strips carry the same marks, and a side takes another scheme.
    both = page.locator(".lmx-compare")
    press(both, END)
    both.locator(".where", has_text="finished").wait_for()
    marked = {
        side: [
            sign for sign in both.locator(f'[data-side="{side}"] .lmx-strip sup').all_inner_texts()
        ]
        for side in ("left", "right")
    }
    by_name = {row["name"]: row["tokens"] for row in expected}
    assert marked["left"].count("‿") == sum("bridge" in token for token in by_name["k = 1"])
    assert marked["right"].count("▣") == sum("fixed" in token for token in by_name["template"])
    assert "Δ" in marked["left"] and "Δ" in marked["right"]
    both.get_by_label("scheme on the right").select_option("ours")
    both.locator('[data-side="right"] .lmx-strip .lmx-tok[data-token]').first.wait_for()
    page.wait_for_function(
        "() => !document.querySelector('[data-side=right] .lmx-strip').textContent.includes('▣')"
    )
    shown_right = both.locator('[data-side="right"] .lmx-strip .lmx-tok[data-k]').all()
    ours = [token["id"] for token in by_name["ours"]][: len(shown_right)]
    assert [int(one.get_attribute("data-token") or -1) for one in shown_right] == ours

    # Another prompt: the rows are written anew.
    root.get_by_label("prompt", exact=True).first.fill("Q: What is 2 + 3?\\nA: ")
    root.get_by_role("button", name="write", exact=True).click()
    page.wait_for_function(
        "(old) => document.querySelector('.lmx-box').dataset.token !== old",
        arg=str(told[0][0]["id"]),
    )
    rest(inner)
    made.write("Q: What is 2 + 3?\\nA: ")
    assert [[b["id"] for b in row] for row in boxes(rows)] == [
        [token["id"] for token in row["tokens"]] for row in made.schemes["rows"]
    ]
    quiet(notebook)
