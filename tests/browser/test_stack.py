"""The stack of a grammar in a real browser, in an exported page that needs no kernel.

`EXPLORER_STILLS=folder` keeps pictures.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import explorer
from explorer.analysis.session import Session
from tests.browser.test_explorer import BACK, STEP, at, press
from widgets.cursor import Cursor
from widgets.views.explorer import Explorer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator

SUMS = 'root ::= e\ne ::= "(" e ")" | t ("+" t)*\nt ::= [0-9]+\n'
TOKENS = [b"(", b")", b"12", b"+", b"))", b"((1"]


@pytest.fixture(scope="module")
def root(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locator]:
    """A run over ``( ((1 +12 ))`` and its pages, shared by the tests."""
    vocabulary = explorer.Vocabulary.from_bytes(TOKENS, eos_ids=[6])
    session = Session.from_ids(vocabulary, explorer.grammar(SUMS), [0, 5, 3, 2, 4])
    made = Explorer(cursor=Cursor(session))
    made.cursor.jump(0)
    path = made.to_html(tmp_path_factory.mktemp("stack") / "run.html")
    made.close()
    page = chromium.new_page(viewport={"width": 1100, "height": 900})
    said: list[str] = []
    page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    found = page.locator(".lmx-root")
    at(found, 0)
    yield found
    assert said == []
    page.close()


def shot(root: Locator, name: str) -> None:
    folder = os.environ.get("EXPLORER_STILLS")
    if folder:
        root.page.wait_for_timeout(600)
        root.screenshot(path=f"{folder}/{name}.png")


def rules(root: Locator) -> list[str]:
    return root.locator(".lmx-stack li:not(.popped) b").all_inner_texts()


def go_to(root: Locator, position: int) -> None:
    if not root.locator(".where").inner_text().startswith("position 0"):
        press(root, "to the start (Home)")
        at(root, 0)
    for k in range(position):
        press(root, STEP)
        at(root, k + 1)


def test_a_step_pushes_and_pops(root: Locator) -> None:
    go_to(root, 0)
    assert rules(root) == ["start"]
    press(root, STEP)
    at(root, 1)
    assert rules(root) == ["e", "root"]
    press(root, STEP)
    at(root, 2)
    assert rules(root) == ["t", "e", "e", "e", "e", "root"]
    part = root.locator(".lmx-part-stack")
    pushed = part.locator("li.pushed")
    assert pushed.count() == 4
    assert pushed.first.get_by_role("button").get_attribute("aria-label") == (
        "pushed, waits: e, t (\"+\" t)*; has read 1; goes on with '+', or ends; "
        "no symbol of its own on the stack"
    )
    caption = part.locator("header + p")
    assert caption.inner_text() == "6 open rules, 3 symbols on the stack, pushed 4"
    for k in (3, 4, 5):
        press(root, STEP)
        at(root, k)
    assert caption.inner_text() == "2 open rules, 0 symbols on the stack, popped 4"
    assert part.locator("li.popped b").all_inner_texts() == ["e"] * 4
    shot(root, "popped")
    press(root, BACK)
    at(root, 4)
    assert rules(root) == ["t", "e", "e", "e", "e", "root"]


@pytest.mark.long
def test_a_row_lights_its_rule_in_the_editor_by_keyboard(root: Locator) -> None:
    go_to(root, 2)
    stack, lit = root.locator(".lmx-stack"), root.locator(".behind .expect")
    stack.get_by_role("button").first.focus()
    assert lit.all_inner_texts() == ["[0-9]+"] or lit.first.wait_for() is None
    for wanted in ('t ("+" t)*', '"(" e ")"'):
        root.page.keyboard.press("ArrowDown")
        root.page.wait_for_function(
            "([root, wanted]) => [...root.querySelectorAll('.behind .expect')]"
            ".map((e) => e.textContent).join() === wanted",
            arg=[root.element_handle(), wanted],
        )
    shot(root, "rule-in-focus")
    assert root.locator(".where").inner_text().startswith("position 2")
    root.page.keyboard.press("ArrowUp")
    focused = root.page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("pushed, waits: e, t (")
    # A step by key goes on from there, and the row in focus stays one.
    root.page.keyboard.press("ArrowRight")
    at(root, 3)
    assert root.page.evaluate("!!document.activeElement.closest('.lmx-stack')")


@pytest.mark.long
def test_slow_motion_shows_every_byte(root: Locator) -> None:
    go_to(root, 1)
    slow = root.get_by_label("slow motion")
    slow.check()
    for byte, wanted in enumerate((["e", "e", "root"], ["e", "e", "e", "root"]), 1):
        press(root, STEP)
        root.locator(".where", has_text=f"byte {byte} of 3").wait_for()
        root.page.wait_for_function(
            "([root, n]) => root.querySelectorAll('.lmx-stack li:not(.popped) b').length === n",
            arg=[root.element_handle(), len(wanted)],
        )
        assert rules(root) == wanted
        assert root.locator(".lmx-stack li.pushed").count() == 1
    press(root, BACK)
    root.locator(".where", has_text="byte 1 of 3").wait_for()
    slow.uncheck()


@pytest.mark.long
def test_the_tree_and_a_narrow_page(root: Locator) -> None:
    go_to(root, 4)
    press(root, "Stack: as a tree")
    lines = root.locator(".lmx-tree li")
    assert lines.all_inner_texts() == [
        "root\n(((1+12", "e\n(((1+12", "e\n((1+12", "e\n(1+12", "e\n1+12", "t\n1", "t\n12",
    ]  # fmt: skip
    closed = [e.get_attribute("class") or "" for e in lines.all()]
    assert closed == ["open", "open", "open", "open", "open", "", "open"]
    shot(root, "tree")
    press(root, "Stack: as a tree")
    page = root.page
    page.set_viewport_size({"width": 420, "height": 900})
    page.wait_for_timeout(300)
    part, machines = root.locator(".lmx-part-stack"), root.locator(".lmx-part-machines")
    below, above = part.bounding_box(), machines.bounding_box()
    assert below is not None and above is not None
    assert below["y"] >= above["y"] + above["height"] - 1
    assert root.evaluate("(el) => el.scrollWidth <= el.clientWidth + 1")
    shot(root, "narrow")
    page.set_viewport_size({"width": 1100, "height": 900})


def test_the_automaton_and_the_reason_are_lit_with_the_stack(root: Locator) -> None:
    go_to(root, 4)
    graph = root.locator(".lmx-pushdown")  # A small one is shown at once.
    graph.locator(".n.now").wait_for()
    # The node that is lit is the state, and each symbol of the stack is a node of that number.
    symbols = {*root.locator(".lmx-stack .symbol").all_inner_texts()}
    assert symbols and {*graph.locator(".n.past text").all_text_contents()} == symbols
    label = graph.locator("svg").get_attribute("aria-label") or ""
    assert label.startswith("push-down automaton, in state ") and "on the stack: " in label
    shot(root, "automaton")
    press(root, "Stack: the push-down automaton")
    # ``((1`` is masked after ``(((1+12``: three rules could have gone on, and are lit.
    root.locator(".lmx-cell", has_text="((1").first.click()
    root.locator(".lmx-why .longer summary").click()  # The reason comes first, the rest on demand.
    said = root.locator(".lmx-why .onstack")
    said.wait_for()
    assert said.inner_text().startswith(
        "After '(((1+12' the rule e → \"(\" e \")\" on the stack expects ')', '+' or 0-9: "
    )
    lit = root.locator(".lmx-stack li.lit b")
    assert lit.all_inner_texts() == ["t", "e", "e"]
    assert root.locator(".behind .expect").all_inner_texts() == [")", "+", "[0-9]"]
    shot(root, "reason")
    root.page.keyboard.press("Escape")
