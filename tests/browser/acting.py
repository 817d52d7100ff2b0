"""The actions of a user in the explorer and the resulting page, for all tests in a browser."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.browser.conftest import Notebook
    from widgets.kinds import Preset


TOY = "from widgets import Explorer\ntoy = Explorer()\ntoy"
MACHINES = ("character_fsa", "detokenizing_fst", "token_dfa")
F, FOO, FOR, FOOD = 0, 2, 3, 4


QUIET = {"Fork", "Reset", "Sampler", "Keys"}
"""The buttons that are in the menu of the explorer."""


def press(root: Locator, name: str) -> None:
    """Click a button, by its whole name; one of the explorer's menu where it is."""
    if name in QUIET:
        root.locator(".lmx-top > .lmx-menu:not([open]) > summary").last.click()
    root.get_by_role("button", name=name, exact=True).click()
    if name in QUIET:
        root.page.keyboard.press("Escape")


def opened(machine: Locator) -> Locator:
    """A machine whose menu is open."""
    closed = machine.locator(".lmx-menu:not([open]) > summary")
    if closed.count():
        closed.click()
    return machine


def drawer(root: Locator, *names: str) -> Locator:
    """The explorer, with some of its drawers open: mask, reasons, time, traps, engines."""
    for name in names:
        head = root.locator(f'[data-drawer="{name}"]')
        if head.get_attribute("aria-expanded") == "false":
            head.click()
    return root


def choose(root: Locator, name: str) -> None:
    """Begin with a preset that the editor shows, by the name that the kernel has for it."""
    root.locator(".lmx-edit .lmx-menu:not([open]) > summary").click()
    root.locator(".lmx-presets button").and_(
        root.locator(f"[data-preset={json.dumps(name)}]")
    ).click()


def write(root: Locator, preset: Preset) -> None:
    """Write the constraint and the prompt of any preset into the editor."""
    root.get_by_role("combobox", name="kind of constraint").select_option(preset.kind)
    root.get_by_role("textbox", name="prompt").fill(preset.prompt)
    root.get_by_role("textbox", name="constraint").fill(preset.text)


STEP, BACK, START, END = "step (→)", "back (←)", "to the start (Home)", "to the end (End)"


def at(root: Locator, position: int, more: str = "") -> None:
    """Wait until the page shows a position, with everything that follows the numbers."""
    root.locator(".where", has_text=re.compile(rf"^position {position}\b.*{more}")).wait_for()
    rest(root, position)


def rest(root: Locator, position: int | None = None) -> None:
    """Wait until the page has come to rest: figures, reasons and traps come after the numbers.

    Without a position, at the one that it tells itself, if it tells one.
    """
    root.page.wait_for_function(
        """([el, wanted]) => {
            const root = el.closest('[data-rest]');
            const where = root.querySelector('.where');
            const k = wanted ?? (where && Number(where.textContent.match(/[0-9]+/)[0]));
            const rest = root.dataset.rest;
            return rest && (k === null || Number(rest.split(' ')[0]) === k);
        }""",
        arg=[root.element_handle(), position],
    )
    settle(root.page)


def allowed(root: Locator) -> list[int]:
    """The ids that the toy's mask shows as allowed."""
    root.locator(".lmx-cell").first.wait_for()
    rest(root)
    return root.evaluate(
        "(root) => [...root.querySelectorAll('.lmx-cell.on')].map((e) => Number(e.dataset.token))"
    )


def classes(root: Locator, machine: str, selector: str, name: str) -> set[str]:
    """The names of the nodes or arcs of a machine that have a class."""
    found = root.locator(f'[data-machine="{machine}"] {selector}').all()
    return {one.get_attribute(name) or "" for one in found}


def picture(root: Locator) -> dict[str, object]:
    """Everything that the page shows of a position."""
    return {
        "allowed": allowed(root),
        "facts": root.locator(".lmx-facts").inner_text(),
        "rows": root.locator(".lmx-rows").first.inner_text(),
        "strip": root.locator(".lmx-strip").inner_text(),
        "lit": [
            (machine, sorted(classes(root, machine, ".n.now", "data-node")),
             sorted(classes(root, machine, ".n.past", "data-node")),
             sorted(classes(root, machine, ".a.past", "data-arc")))
            for machine in MACHINES
        ],
    }  # fmt: skip


def settle(page: Page) -> None:
    """Two frames: the page repaints once per frame."""
    page.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


def quiet(notebook: Notebook) -> None:
    assert notebook.errors == []
    # Blobs and data are of the page itself.
    asked = {urlsplit(url) for url in notebook.requests}
    assert {url.hostname for url in asked if url.scheme not in ("blob", "data")} == {"127.0.0.1"}
