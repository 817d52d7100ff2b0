"""The explorer without a mouse and without eyes: by keyboard alone, and what a screen reader finds.

The rules are those of axe-core (WCAG 2.1, levels A and AA), which comes with a package and runs in
the page; nothing is fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.acting import TOY, at, quiet, rest
from tests.browser.conftest import Lab, Notebook
from tests.browser.test_pipeline import CELL

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
MOST_TABS = 60
"""More presses of Tab than an explorer has places to stop."""


def violations(page: Page, selector: str) -> list[str]:
    """The faults that axe-core finds in a part of the page: the rule, its words, and the place."""
    sync = pytest.importorskip("axe_playwright_python.sync_playwright")
    answer: Any = sync.Axe().run(page, context=[[selector]], options=RULES)
    return [
        f"{one['id']}: {one['help']}: {node['html'][:200]}"
        for one in answer.response["violations"]
        for node in one["nodes"]
    ]


def focused(root: Locator) -> dict[str, str]:
    """The element that has the focus: its tag and its name."""
    return root.page.evaluate(
        """() => {
            const at = document.activeElement;
            const name = at.getAttribute('aria-label') || at.textContent || at.title || '';
            return {tag: at.tagName, name: name.trim().slice(0, 60), kind: at.type || '',
                inside: String(Boolean(at.closest('.lmx-root')))};
        }"""
    )


def tab_to(root: Locator, wanted: str, tag: str = "", key: str = "Tab") -> None:
    """Press Tab until something with these words has the focus; fail where the focus is lost."""
    passed: list[str] = []
    for _ in range(MOST_TABS):
        now = focused(root)
        if wanted in now["name"] and tag in now["tag"]:
            return
        assert now["inside"] == "true", f"the focus left the explorer before {wanted}: {passed}"
        passed.append(f"{now['tag']} {now['name']}")
        root.page.keyboard.press(key)
    raise AssertionError(f"Tab does not reach {wanted}: {passed}")


def test_it_is_used_with_the_keyboard_alone_and_read_aloud(notebook: Notebook, lab: Lab) -> None:
    page = notebook.page
    notebook.open(lab.code("keys.ipynb", CELL, TOY))
    assert notebook.run_all()
    toy, root = notebook.explorer(1), notebook.explorer(0)
    at(root, 0)
    at(toy, 0)
    found = violations(page, ".lmx-root")
    assert found == []
    # Step.
    root.focus()
    page.keyboard.press("ArrowRight")
    at(root, 1)
    said = " ".join(root.locator(".lmx-live").all_text_contents())
    assert "position 1" in said.casefold()
    page.keyboard.press("Home")
    at(root, 0)
    # A stage is switched off.
    tab_to(root, "stage canonical", "INPUT")
    page.keyboard.press("Space")
    root.locator(".lmx-pipeline .off").wait_for()
    rest(root)
    # Explain: the reason of a masked token.
    toy.focus()
    tab_to(toy, "foo: model", "DIV")  # The rows are one stop; the arrows go on.
    tab_to(toy, "for: model", "DIV", key="ArrowDown")
    page.keyboard.press("Enter")
    toy.locator(".lmx-why .lmx-act").wait_for()
    rest(toy)
    assert "constraint expects" in toy.locator(".lmx-why").inner_text()
    found = violations(page, ".lmx-root")
    assert found == []
    quiet(notebook)
