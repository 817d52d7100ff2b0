"""A page without a kernel that steps: its packets are the kernel's own, and a reader uses them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

import explorer
from explorer.analysis.session import Session
from tests.browser.acting import END, STEP, at, press, rest
from tests.browser.replays import DATES
from widgets import Explorer
from widgets.dialogue.later import Progress
from widgets.export import recorded, taken
from widgets.figures.machines.lit import walk_packet
from widgets.figures.packets import position_packet
from widgets.figures.panels.tokens import listed_packet
from widgets.toy import ToyModel, toy_constraint
from widgets.views import bundle

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

    from tests.browser.replays import Opened

ASK = """async (data) => {
    const kernel = await tableKernel(data.run);
    return data.lines.map((ids) => ({
        position: kernel.position(ids), listed: kernel.listed(ids),
        walks: data.tokens.map((token) => kernel.walk(ids, token)),
        rows: data.tokens.map((token) => kernel.found(ids, "#" + token).rows[0].reason),
    }));
}"""


def told(chromium: Browser, made: Explorer, lines: list[list[int]], tokens: list[int]) -> Any:
    """The answers of the kernel in the page at the end of each line."""
    run = json.loads(json.dumps(recorded(taken(made.shown), Progress())))
    page = chromium.new_page()
    scripts = [bundle.script("explorer"), bundle.source("table_kernel.js")]
    page.add_script_tag(content="\n".join(scripts))
    answer = page.evaluate(ASK, {"run": run, "lines": lines, "tokens": tokens})
    page.close()
    return answer


TINY = explorer.load_model("tiny").vocabulary
PATTERNS = {
    "date": DATES,
    "names": "(Zoë|Ann[ae]?|Ø[a-z]+)(, (Zoë|Ann[ae]?))*",
    "text": r'"([^"\\\n]|\\[nt"])*"',
}


@pytest.mark.parametrize("name", ["toy", *PATTERNS])
def test_the_kernel_in_the_page_says_what_the_kernel_says(chromium: Browser, name: str) -> None:
    words = ToyModel().vocabulary if name == "toy" else TINY
    constraint = toy_constraint() if name == "toy" else explorer.regex(PATTERNS[name])
    made = Explorer(words, constraint)
    machine = explorer.compile(constraint, words)
    lines: list[list[int]] = [[]]
    # Along each line the first allowed token, then the last one, then one between them.
    for pick in (0, -1, 3, 1):
        for line in ([], lines[-1]):
            allowed = machine.allowed(machine.walk(line)[-1]).nonzero()[0].tolist()
            lines.append([*line, allowed[pick % len(allowed)]])
    tokens = list(range(0, len(words), max(1, len(words) // 150)))
    for line, said in zip(lines, told(chromium, made, lines, tokens), strict=True):
        run = Session.from_ids(words, constraint, line)
        trace, k = run.trace, len(line)
        own = json.loads(json.dumps(position_packet(trace, k, machine)))
        own["lit"].pop("bytes", None)  # The page draws characters.
        assert said["position"] == {**own, "spans": [], "ms": {}}, line
        rows = cast("list[dict[str, Any]]", listed_packet(run, trace, k, machine)["rows"])
        assert [row["id"] for row in said["listed"]["rows"]] == [row["id"] for row in rows]
        assert [row["reason"] for row in said["listed"]["rows"]] == [row["reason"] for row in rows]
        for token, walk in zip(tokens, said["walks"], strict=True):
            packet = json.loads(json.dumps(walk_packet(machine, trace.positions[k].state, token)))
            packet["lit"].pop("bytes", None)
            assert walk == packet, (line, token)
    made.close()


def taking(root: Locator, text: str) -> None:
    """Take an allowed token of the list."""
    row = root.locator(".lmx-rows .lmx-row[data-token]:not(.masked)")
    row = row.filter(has=root.page.get_by_text(text, exact=True)).first
    row.hover()
    row.get_by_role("button", name="take").click()


def test_a_reader_takes_tokens_that_nobody_took_and_returns_to_the_record(opened: Opened) -> None:
    root = opened("toy", 1100, 720)
    strip = root.locator(".lmx-strip [data-k]")
    record = strip.all_inner_texts()
    for k, (token, allowed) in enumerate((("f", "1 of 6"), ("oo", "3 of 6"), ("food", "1 of 6"))):
        taking(root, token)
        at(root, k + 1)
        assert root.locator(".lmx-facts").inner_text().endswith(f"{allowed} allowed")
    assert [one.rstrip("✓") for one in strip.all_inner_texts()] == ["f", "oo", "food"]
    lit = "(all) => all.map((one) => one.dataset.arc)"
    arcs = root.locator('[data-machine="token_dfa"] .a.past').evaluate_all(lit)
    assert set(arcs) == {"q0-q1", "q1-q3", "q3-q4"}
    # The mask is that of the place; no model says anything here, so nothing is stepped.
    assert root.locator(".lmx-cell.on").count() == 1
    assert not root.locator(".lmx-rows .num:visible").count()
    assert root.get_by_role("button", name=STEP, exact=True).is_disabled()
    root.locator(".lmx-rows .lmx-row.masked").first.click()
    root.locator(".lmx-why .said", has_text="must end").wait_for()
    root.page.keyboard.press("Escape")
    taking(root, "EOS")
    at(root, 4, "finished")
    press(root, "back (←)")
    at(root, 3)
    press(root, "to the start (Home)")
    at(root, 0)
    assert strip.all_inner_texts() == record
    assert root.locator(".lmx-rows .num:visible").count()
    press(root, END)
    at(root, len(record))


def test_at_the_end_of_an_unfinished_record_the_next_step_is_the_readers(opened: Opened) -> None:
    root = opened("drawn", 1100, 720)
    press(root, END)
    at(root, 3, "your step")
    assert root.get_by_role("button", name=STEP, exact=True).is_disabled()
    assert "keeps" in root.locator(".lmx-facts").inner_text()  # The model's figures are there.
    row = root.locator(".lmx-rows .lmx-row[data-token]:not(.masked)").first
    row.hover()
    row.get_by_role("button", name="take").click()
    at(root, 4, "your step")


def test_a_trap_of_the_record_is_not_shown_beside_it(opened: Opened) -> None:
    root = opened("unwanted", 1100, 720)
    marks = root.locator(".lmx-trapmark")
    marks.first.wait_for()
    taken = root.locator(".lmx-rows .lmx-row[data-token]:not(.masked):not(.taken)").first
    taken.hover()
    taken.get_by_role("button", name="take").click()
    at(root, 1)
    assert marks.count() == 0
    press(root, "to the start (Home)")
    at(root, 0)
    marks.first.wait_for()


def test_beside_a_record_with_a_model_its_figures_stay_those_of_the_record(opened: Opened) -> None:
    root = opened("date", 1100, 720)
    press(root, STEP)
    at(root, 1)
    allowed = root.locator(".lmx-rows .lmx-row[data-token]:not(.masked):not(.taken)").first
    token = allowed.locator(".name").inner_text()
    allowed.hover()
    allowed.get_by_role("button", name="take").click()
    at(root, 2)
    assert root.locator(".lmx-strip [data-k]").last.inner_text().rstrip("✓") == token
    assert "keeps" not in root.locator(".lmx-facts").inner_text()
    # A search finds every token, with its reason.
    root.get_by_role("searchbox", name="find a token").fill("from")
    found = root.locator(".lmx-rows").nth(1).locator(".lmx-row[data-token]")
    found.first.wait_for()
    assert "expects" in found.first.inner_text()
    found.first.hover()
    rest(root)
    root.locator(".lmx-along .looked .cross").first.wait_for()
    press(root, "back (←)")
    at(root, 1)
    assert "keeps" in root.locator(".lmx-facts").inner_text()
