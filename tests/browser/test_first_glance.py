"""The explorer at first glance: what is in view, what stays where it is, what comes first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.acting import END, STEP, TOY, at, choose, drawer, press, quiet, rest
from tests.browser.acting import opened as opened_menu
from tests.browser.conftest import Lab, Notebook
from tests.browser.replays import STEPS

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.replays import Opened


BOXES = """(root) => Object.fromEntries(Object.entries({
    step: ".step", text: ".lmx-strip > :last-child", list: ".lmx-row:not(.masked, .head)",
    head: ".lmx-row.head",
    first: "[data-lane=fsa], [data-machine=character_fsa] h4",
    second: "[data-lane=fst], [data-machine=detokenizing_fst] h4",
    third: "[data-lane=pairs], [data-machine=token_dfa] .n.now", drawers: ".lmx-heads",
    strip: ".lmx-strip", top: ".lmx-top", bar: ".lmx-bar", parts: ".lmx-parts",
    numbers: ".lmx-numbers", machines: ".lmx-part-machines",
}).map(([name, selector]) => {
    const one = [...root.querySelectorAll(selector)].find((el) => el.getClientRects().length);
    const box = one && one.getBoundingClientRect();
    return [name, box && [box.left, box.top, box.right, box.bottom].map(Math.round)];
}))"""
TYPE = """(root) => {
    const sizes = new Set();
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const el = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !el.getClientRects().length) continue;
        if (el.closest("svg, .lmx-live, option, title")) continue;
        sizes.add(getComputedStyle(el).fontSize);
    }
    return [...sizes].sort();
}"""
SMALLEST = """(root) => Math.min(...[...root.querySelectorAll("svg text")]
    .filter((el) => el.getClientRects().length && el.textContent)
    .map((el) => parseFloat(getComputedStyle(el).fontSize) * el.getScreenCTM().a))"""
BEYOND = """(root) => [...root.querySelectorAll("*")].filter((el) => {
    if (!el.getClientRects().length || el.closest("svg, .lmx-live")) return false;
    for (let one = el.parentElement; one !== root; one = one.parentElement)
        if (getComputedStyle(one).overflowX !== "visible") return false;
    return el.getBoundingClientRect().right > root.getBoundingClientRect().right + 1;
}).map((el) => el.className)"""

Boxes = dict[str, list[int]]


def boxes(root: Locator) -> Boxes:
    return root.evaluate(BOXES)


@pytest.mark.parametrize("name", ["toy", "date", "record", "grammar", "tools"])
def test_on_a_common_laptop_all_is_in_view_and_no_step_moves_it(name: str, opened: Opened) -> None:
    root = opened(name, 848, 640)
    first = boxes(root)
    for k in range(1, STEPS[name]):
        press(root, STEP)
        at(root, k)
        seen = boxes(root)
        for part in ("step", "text", "first", "second", "third", "drawers"):
            assert 0 <= seen[part][1] < seen[part][3] <= 640, (part, k, seen[part])
        if seen["list"]:
            assert seen["list"][3] <= 640
        for part in ("step", "first", "second", "drawers", "parts", "numbers", "head"):
            if not seen[part]:  # After the end nothing is listed.
                continue
            assert seen[part][1] == first[part][1], (part, k)
        # The newest token is the last that one sees of the text.
        if k + 1 >= STEPS[name]:
            assert seen["text"][2] <= seen["strip"][2] + 1
    # The text has a row of its own under the bar, Step at its left.
    assert first["bar"][1] >= first["top"][3] - 1
    if name != "tools":  # There the phases are beside Step.
        assert first["step"][2] < first["strip"][0]
    # The drawers lie under both columns.
    assert first["drawers"][0] == first["parts"][0] and first["drawers"][2] == first["parts"][2]


def test_a_long_run_shows_its_newest_token_at_the_right(opened: Opened) -> None:
    root = opened("record", 848, 640)
    root.locator('.lmx-strip [data-k="14"]').evaluate("(el) => el.click()")
    at(root, 13)
    press(root, STEP)
    at(root, 14)
    seen = boxes(root)
    left, _, right, _ = seen["strip"]
    assert left < seen["text"][0] and right - 40 < seen["text"][2] <= right + 1


def test_a_reason_stands_below_its_row_and_covers_none(opened: Opened) -> None:
    root = opened("record", 848, 640)
    panel = root.locator(".lmx-why")
    rows = root.locator(".lmx-rows .lmx-row.masked")
    for number in (0, 2):
        row = rows.nth(number)
        row.click()
        panel.locator(".said").first.wait_for()
        rest(root)
        above, box = row.bounding_box(), panel.bounding_box()
        assert above is not None and box is not None
        assert 0 <= box["y"] - above["y"] - above["height"] < 8
        around = [one.bounding_box() for one in root.locator(".lmx-row[data-token]").all()]
        bottom = box["y"] + box["height"]
        assert all(one and (one["y"] < box["y"] or one["y"] >= bottom - 1) for one in around)
    root.page.keyboard.press("Escape")
    panel.wait_for(state="hidden")
    rows.nth(1).click()
    panel.locator(".said").first.wait_for()
    press(root, STEP)
    at(root, 1)
    assert panel.is_hidden() and root.locator(".lmx-answer").is_hidden()


def test_allowed_tokens_come_after_at_most_three_masked_ones(opened: Opened) -> None:
    root = opened("unwanted", 848, 640)
    kinds = [
        "masked" in (row.get_attribute("class") or "")
        for row in root.locator(".lmx-rows").first.locator(".lmx-row[data-token]").all()
    ]
    assert kinds[:3] == [True] * 3 and not kinds[3]
    heights = root.locator(".lmx-row.masked").evaluate_all(
        "(all) => all.map((e) => e.offsetHeight)"
    )
    assert max(heights) <= 28  # A line each.


def test_one_headline_and_the_rest_on_demand(opened: Opened) -> None:
    root = opened("date", 848, 640)
    said = root.locator(".lmx-facts").inner_text()
    assert re.fullmatch(r"Next token\s*[\d,]+ of 4,000 allowed\s*keeps [\d.<]+ %", said)
    figures = root.locator(".lmx-figures")
    assert not figures.get_by_text("entropy").first.is_visible()
    figures.locator("summary").click()
    assert "bits" in figures.inner_text() and "approves" not in figures.inner_text()
    # Counts and times are behind one sign.
    report = root.locator(".report")
    assert report.is_hidden()
    root.locator(".lmx-menu > summary", has_text=re.compile("^i$")).click()
    assert "character states" in report.inner_text()
    # A third column where temperature and filters change something, and only there.
    assert root.locator(".lmx-row.head", has_text="filtered").count() == 0
    assert opened("drawn", 848, 640).locator(".lmx-row.head", has_text="filtered").count() == 1


@pytest.mark.parametrize("width", [400, 848, 1280])
def test_three_sizes_of_type(width: int, opened: Opened) -> None:
    for name in ("date", "toy"):
        root = opened(name, width, 720)
        press(root, STEP)
        at(root, 1)
        assert set(root.evaluate(TYPE)) <= {"12px", "14px", "18px"}
        assert root.evaluate(SMALLEST) >= 10.5


def test_a_telephone_shows_step_then_the_list_then_the_machines(opened: Opened) -> None:
    for name in ("date", "toy"):
        root = opened(name, 400, 900)
        press(root, STEP)
        at(root, 1)
        seen = boxes(root)
        order = [seen[part][1] for part in ("bar", "top", "numbers", "machines", "drawers")]
        assert order == sorted(order)
        assert root.evaluate(BEYOND) == []


CUT = """(all) => all.filter((el) => el.scrollWidth > el.clientWidth).map((el) => el.textContent)"""


def test_reasons_are_read_whole_beside_their_tokens(opened: Opened) -> None:
    for name in ("record", "grammar", "unwanted"):
        root = opened(name, 848, 640)
        press(root, STEP)
        at(root, 1)
        assert root.locator(".lmx-row.masked .why").count() > 2
        assert root.locator(".lmx-row .why").evaluate_all(CUT) == []


def test_on_a_telephone_the_machines_follow_the_list_without_a_gap(opened: Opened) -> None:
    root = opened("toy", 400, 900)
    last = root.locator(".lmx-meanings").bounding_box()
    first = root.locator(".lmx-part-machines").bounding_box()
    assert last and first
    assert 0 < first["y"] - last["y"] - last["height"] < 30
    # The bar takes two lines.
    top = root.locator(".lmx-top").bounding_box()
    assert top and top["height"] < 80


def test_a_page_of_a_small_vocabulary_does_not_scroll(opened: Opened) -> None:
    root = opened("toy", 848, 640)
    assert root.page.evaluate("() => document.documentElement.scrollHeight") == 640
    # In a higher window its mask is open.
    assert opened("toy", 1280, 900).locator(".lmx-cell").count() == 6


def test_on_a_large_screen_the_machines_grow_with_their_panel(opened: Opened) -> None:
    ring = """(root) => Math.max(...[...root.querySelectorAll('svg .n circle')]
        .filter((one) => one.getClientRects().length)
        .map((one) => one.getBoundingClientRect().width))"""
    for name in ("toy", "date"):
        sizes: list[float] = []
        for size in ((1280, 720), (1920, 1080)):
            root = opened(name, *size)
            sizes.append(root.evaluate(ring))
            assert root.evaluate("(el) => el.offsetWidth") > 0.95 * size[0]
        assert sizes[1] > 1.5 * sizes[0]


def test_on_a_projector_the_rings_of_all_machines_are_in_view(opened: Opened) -> None:
    root = opened("record", 1280, 720)
    press(root, "larger, for a projector")
    for k in range(1, 6):
        press(root, STEP)
        at(root, k)
        low = root.locator(".lmx-along .n").evaluate_all(
            "(all) => Math.max(...all.map((one) => one.getBoundingClientRect().bottom))"
        )
        box = root.locator(".lmx-columns-of").bounding_box()
        assert box and low <= box["y"] + box["height"], k
    assert root.evaluate(SMALLEST) >= 10.5


def test_the_machines_of_a_grammar_are_not_called_finite(opened: Opened) -> None:
    heads = opened("toy", 1280, 720).locator(".lmx-machine h4")
    assert heads.all_inner_texts() == ["Character FSA", "Detokenizing FST", "Token DFA = FSA ∘ FST"]
    root = opened("grammar", 1280, 720)
    names = ["Character PDA", "Detokenizing FST", "Token PDA = PDA ∘ FST"]
    assert root.locator(".lane b").all_inner_texts() == names
    press(root, "as machines")
    rest(root)
    assert root.locator(".lmx-machine h4").all_inner_texts() == names


def test_traps_that_say_the_same_are_one_with_its_places(opened: Opened) -> None:
    root = drawer(opened("form", 1280, 900), "traps")
    root.locator(".lmx-trap").first.wait_for()
    rest(root)
    unmeant = root.locator(".lmx-trap", has_text="it is made to write what it does not mean")
    assert unmeant.count() == 1
    places = unmeant.get_by_role("button")
    assert places.count() == 2
    wanted = re.findall(r"[0-9]+", places.last.inner_text())
    places.last.click()
    at(root, int(wanted[0]))


def test_each_phase_is_named_once_beside_step(opened: Opened) -> None:
    root = opened("tools", 848, 640)
    for k in range(1, 7):
        press(root, STEP)
        at(root, k)
    names = root.locator(".lmx-phases li > span").all_inner_texts()
    assert len(names) == len(set(names)) > 1
    assert root.locator(".lmx-strip .lmx-band").all_inner_texts() == ["▾"] * 2
    step = root.get_by_role("button", name=STEP, exact=True).bounding_box()
    pills = root.locator(".lmx-phases").bounding_box()
    assert step and pills
    assert step["y"] <= pills["y"] < step["y"] + step["height"]


BOXED = """(svg) => [...svg.querySelectorAll("text")].map((text) => {
    const said = [...text.childNodes].map((one) => (one.tagName === "title" ? "" : one.textContent)).join("");
    const at = said.indexOf(" : ");
    const token = said.slice(0, at);
    if (at < 0 || token === "ε") return null;
    const box = text.nextElementSibling?.matches(".box") && text.nextElementSibling.getBoundingClientRect();
    const around = text.getBoundingClientRect();
    const end = around.left + (around.width * said.lastIndexOf(" : ")) / [...said].length;
    return [said, box ? Math.max(Math.abs(box.left - around.left), Math.abs(box.right - end)) : 99];
}).filter(Boolean)"""  # noqa: E501 - One thought a line.
UNDER = """(svg) => [...svg.querySelectorAll("text")].filter((text) => {
    const own = text.closest(".n");
    if (own || !text.textContent.includes(" : ")) return false;
    const words = text.getBoundingClientRect();
    return [...svg.querySelectorAll(".n :is(circle, rect)")].some((ring) => {
        const box = ring.getBoundingClientRect();
        const [x, y, r] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2, box.height / 2 - 1];
        const reach = (box.width - box.height) / 2;
        const away = Math.max(words.left - x - reach, x - reach - words.right, 0);
        return away < r && Math.max(words.top + 3 - y, y - words.bottom + 3, 0) ** 2 + away ** 2 < r * r;
    });
}).map((text) => text.textContent)"""  # noqa: E501 - One thought a line.


@pytest.mark.parametrize("name", ["toy", "record", "tools"])
def test_tokens_in_labels_have_boxes_and_no_ring_covers_a_label(name: str, opened: Opened) -> None:
    root = opened(name, 1280, 720)
    for k in range(1, 5 if name != "toy" else 2):
        press(root, STEP)
        at(root, k)
        drawn = root.locator(".lmx-along svg, [data-machine=detokenizing_fst] svg")
        seen = drawn.locator("visible=true").first
        found = seen.evaluate(BOXED)
        assert len(found) > 1 and all(off < 4 for _, off in found), found
        if name != "toy":
            assert seen.evaluate(UNDER) == [], k


REAL = """import explorer
from widgets import Explorer
from widgets.lessons.story import RECORD_PROMPT, record_constraint
Explorer(explorer.load_model("tiny"), record_constraint(), RECORD_PROMPT)"""


def test_the_constraint_is_one_line_until_it_is_written_in(notebook: Notebook, lab: Lab) -> None:
    notebook.page.set_viewport_size({"width": 1280, "height": 800})
    notebook.open(lab.code("line.ipynb", REAL))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    sheet = root.locator(".lmx-sheet")
    high = "(el) => el.getBoundingClientRect().height"
    assert sheet.evaluate(high) <= 30
    # The line scrolls to the place that the reason underlines.
    root.locator(".lmx-row.masked").first.click()
    root.locator(".lmx-why .source").first.wait_for()
    rest(root)
    off = sheet.evaluate(
        """(el) => {
            const [mark, all] = [el.querySelector(".behind .expect"), el]
                .map((one) => one.getBoundingClientRect());
            return Math.abs(mark.left + mark.right - all.left - all.right) / 2 / all.width;
        }"""
    )
    assert off < 0.5
    field = root.get_by_role("textbox", name="constraint", exact=True)
    before = boxes(root)
    field.focus()
    notebook.page.wait_for_timeout(100)
    assert sheet.evaluate(high) > 100
    seen = boxes(root)  # It lies over what is below it.
    assert seen["parts"][1] - seen["top"][1] == before["parts"][1] - before["top"][1]
    root.focus()
    notebook.page.wait_for_timeout(100)
    assert sheet.evaluate(high) <= 30
    quiet(notebook)


def test_for_a_projector_three_machines_the_list_and_step(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("large.ipynb", REAL))
    notebook.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    assert notebook.run_all()
    root = notebook.explorer()
    for size in ((1280, 720), (1366, 768)):
        notebook.page.set_viewport_size({"width": size[0], "height": size[1]})
        large = root.get_by_role("button", name="larger, for a projector")
        large.click()
        rest(root)
        root.evaluate("(el) => el.scrollIntoView({block: 'start'})")
        rest(root)
        seen = boxes(root)
        window = notebook.page.evaluate(
            "() => document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden) "
            ".jp-WindowedPanel-outer').getBoundingClientRect().bottom"
        )
        for part in ("step", "text", "list", "first", "second", "third"):
            assert seen[part][3] <= window, (part, size)
        assert seen["drawers"] is None
        assert root.get_by_role("textbox", name="prompt").is_hidden()
        large.click()
        rest(root)
    quiet(notebook)


def test_enter_explains_what_was_found(toy: Locator, notebook: Notebook) -> None:
    search = toy.get_by_role("searchbox", name="find a token")
    search.fill("foo")
    search.press("Enter")
    toy.locator(".lmx-why h4", has_text="foo").wait_for()
    quiet(notebook)


def test_an_export_says_what_it_wrote(toy: Locator, notebook: Notebook) -> None:
    with notebook.page.expect_download() as download:
        press(toy, "Export…")
    name = download.value.suggested_filename
    toy.locator(".lmx-note", has_text=f"{name} is written to your downloads").wait_for()
    quiet(notebook)


def test_the_menu_of_the_construction_closes_and_its_step_is_in_view(
    toy: Locator, notebook: Notebook
) -> None:
    token_dfa = opened_menu(toy.locator('[data-machine="token_dfa"]'))
    token_dfa.get_by_label("Token DFA = FSA ∘ FST: construction").select_option("4")
    now = token_dfa.locator(".lmx-lesson li.now")
    now.wait_for()
    rest(toy)
    assert not token_dfa.locator(".lmx-menu .tools").is_visible()
    box, around = now.bounding_box(), token_dfa.locator(".lmx-lesson").bounding_box()
    assert box is not None and around is not None
    assert around["y"] - 2 <= box["y"]
    assert box["y"] + box["height"] <= around["y"] + around["height"] + 2
    drawn = token_dfa.locator(".lmx-graph").bounding_box()
    assert drawn is not None and drawn["height"] > 60
    quiet(notebook)


def test_six_presets_with_pictures_and_one_calls_a_tool(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("presets.ipynb", TOY))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    cards = root.locator(".lmx-presets button")
    assert cards.count() == 6
    assert cards.locator("svg path").count() == 6
    choose(root, "a call of a tool")
    root.locator(".lmx-top .chip", has_text="tiny-chat").wait_for()
    assert "Tools: get_weather" in root.get_by_role("textbox", name="prompt").input_value()
    press(root, END)
    root.locator(".where", has_text="finished").wait_for()
    text = "".join(root.locator(".lmx-strip [data-k]").all_inner_texts())
    assert "<tool_call>" in text and "get_weather" in text
    quiet(notebook)
