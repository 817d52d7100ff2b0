"""Input of a person to the explorer: clicks, keys, the editor, seeds, a comparison's two sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.acting import END, FOOD, FOR, START, STEP, at, choose, drawer, press, rest
from tests.browser.conftest import Lab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

REAL = """import explorer
from widgets import Explorer
lm = explorer.load_model("tiny")
sampler = explorer.Sampler(1.0)
e = Explorer(lm, explorer.regex("[a-z ]{12}"), prompt="Once ", sampler=sampler)
e"""


def token_row(root: Locator, token: int) -> Locator:
    return root.locator(f'.lmx-row[data-token="{token}"]').first


def test_a_click_explains_and_a_button_or_enter_takes(toy: Locator, notebook: Notebook) -> None:
    at(toy, 0)
    for token, words in ((FOOD, "allowed?"), (FOR, "masked?")):
        token_row(toy, token).click()
        toy.locator(".lmx-why h4", has_text=words).wait_for()
        at(toy, 0)
    assert token_row(toy, FOR).locator(".take").count() == 0
    token_row(toy, FOOD).locator(".take").click()
    at(toy, 1)
    press(toy, START)
    at(toy, 0)
    token_row(toy, FOOD).focus()
    notebook.page.keyboard.press("Enter")
    at(toy, 1)
    assert toy.locator(".lmx-strip [data-k]").all_inner_texts()[0].startswith("food")
    # A token of the strip leads to where it was chosen: there it is marked among the bars.
    toy.locator('.lmx-strip [data-k="1"]').click()
    at(toy, 0)
    assert "taken" in token_row(toy, FOOD).inner_text()


@pytest.mark.long
def test_after_the_end_nothing_is_allowed_and_reasons_are_of_the_place(toy: Locator) -> None:
    press(toy, END)
    toy.locator(".where", has_text="finished").wait_for()
    rest(toy)
    assert toy.locator(".lmx-facts .allowed b").inner_text() == "0"
    assert "has ended" in toy.locator(".lmx-facts .allowed").inner_text()
    assert "has ended" in drawer(toy, "reasons").locator(".lmx-part-reasons .total").inner_text()


def test_enter_confirms_a_pattern_and_newlines_are_shown(toy: Locator, notebook: Notebook) -> None:
    pattern = toy.get_by_label("constraint", exact=True)
    pattern.fill("foo")
    pattern.press("Enter")
    toy.locator(".report", has_text="states").wait_for(state="attached")
    assert pattern.input_value() == "foo"
    assert toy.locator(".behind .newline").count() == 0
    pattern.press("End")
    pattern.press("Shift+Enter")
    assert pattern.input_value() == "foo\n"
    toy.locator(".behind .newline").wait_for(state="attached")
    # The editor of choices takes lines, and shows white space that would be part of a choice.
    toy.get_by_label("kind of constraint").select_option("choices")
    pattern.fill("foo")
    pattern.press("End")
    pattern.press("Enter")
    pattern.press_sequentially("food ")
    assert pattern.input_value() == "foo\nfood "
    assert toy.locator(".behind .space").all_text_contents() == [" "]
    assert toy.locator(".behind .newline").count() == 0


def test_a_preset_brings_its_prompt(toy: Locator) -> None:
    prompt = toy.get_by_label("prompt", exact=True)
    for name, wanted in (
        ("ISO date-time", "The meeting starts at "),
        ("choices", "Is it raining?\n"),
    ):
        choose(toy, name)
        toy.locator(".lmx-top .chip", has_text="4,000 tokens").wait_for()
        toy.page.wait_for_function(
            "([el, wanted]) => el.value === wanted", arg=[prompt.element_handle(), wanted]
        )


def texts(root: Locator) -> str:
    return "".join(root.locator(".lmx-strip [data-k]").all_inner_texts())


@pytest.mark.long
def test_another_seed_and_sampling_again(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("real.ipynb", REAL))
    assert notebook.run_all()
    root = notebook.explorer()
    press(root, "Sampler")
    seed = root.get_by_label("seed", exact=True)
    assert seed.input_value() == "0"
    press(root, END)
    root.locator(".where", has_text="finished").wait_for()
    first = texts(root)
    root.get_by_role("button", name="Sample again").click()
    root.locator(".lmx-fork").nth(1).wait_for()
    root.locator(".where", has_text="finished").wait_for()
    assert texts(root) != first
    assert seed.input_value() == "1"
    # At temperature 0 nothing is drawn.
    root.get_by_label("temperature", exact=True).fill("0")
    root.get_by_role("button", name="Sample again").and_(root.locator(":disabled")).wait_for()


@pytest.mark.long
def test_the_keys_are_listed(toy: Locator, notebook: Notebook) -> None:
    assert toy.locator(".lmx-keylist").is_hidden()
    toy.focus()
    notebook.page.keyboard.press("?")
    assert "to the end" in toy.locator(".lmx-keylist").inner_text()
    press(toy, "Keys")
    assert toy.locator(".lmx-keylist").is_hidden()


MODELLESS = """import explorer
from widgets import Explorer
from widgets.cursor import Cursor
vocabulary = explorer.load_model("tiny").vocabulary
run = explorer.Session.from_ids(vocabulary, explorer.regex("[0-9]{4}"), [])
Explorer(cursor=Cursor(run))"""


def test_without_a_model_the_allowed_tokens_are_listed(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("modelless.ipynb", MODELLESS))
    assert notebook.run_all()
    root = notebook.explorer()
    rows = root.locator(".lmx-part-distribution .lmx-row:not(.masked)[data-token]")
    rows.first.wait_for()
    names = rows.locator(".name .lmx-tok").all_inner_texts()
    assert names and all(text.strip().isdigit() for text in names)
    rows.first.click()
    root.locator(".lmx-why h4", has_text="allowed?").wait_for()


COMPARE = """import explorer
from widgets import Compare
both = Compare(None, explorer.regex("(foo)+d"), explorer.regex("foo(foo)?"))
both"""


@pytest.mark.long
def test_a_side_of_a_comparison_is_edited_and_shows_its_machines(
    notebook: Notebook, lab: Lab
) -> None:
    notebook.open(lab.code("compare.ipynb", COMPARE))
    assert notebook.run_all()
    root = notebook.page.locator(".lmx-compare")
    press(root, STEP)
    at(root, 1)
    left, right = (root.locator(f'.lmx-column[data-side="{side}"]') for side in ("left", "right"))
    assert left.locator(".lmx-machine").count() == 0
    left.get_by_role("button", name="machines", exact=True).click()
    left.locator('[data-machine="token_dfa"] .n.now').wait_for(state="attached")
    right.get_by_role("button", name="edit", exact=True).click()
    pattern = right.get_by_label("constraint", exact=True)
    assert pattern.input_value() == "foo(foo)?"
    pattern.fill("(foo)*")
    pattern.press("Enter")
    right.locator(".said", has_text="(foo)*").wait_for()
    assert "(foo)+d" in left.locator(".said").inner_text()
    rest(root)
    press(root, STEP)
    at(root, 2)


LAZY = """import explorer
from widgets import Explorer
lm = explorer.load_model("tiny")
lazy = explorer.compile(explorer.regex("[0-9]{4}-[0-9]{2}"), lm.vocabulary, lazy=True)
e = Explorer(lm, lazy, prompt="The date is ")
e"""


@pytest.mark.long
def test_a_lazy_machine_is_stepped_and_explained(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("lazy.ipynb", LAZY))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    for k in (1, 2):
        press(root, STEP)
        at(root, k)
    assert "visited" in (root.locator(".report").text_content() or "")
    masked = root.locator(".lmx-row.masked").first
    masked.click()
    root.locator(".lmx-why h4", has_text="masked?").wait_for()
    assert "expects" in drawer(root, "reasons").locator(".lmx-group").first.inner_text()
    assert drawer(root, "mask").locator(".lmx-part-mask canvas").count() > 0
    press(root, END)
    root.locator(".where", has_text="finished").wait_for()
