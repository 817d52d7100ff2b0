"""The rows of the next tokens: each cell is one line, cut where it is longer than its column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import explorer
from widgets import Explorer
from widgets.toy import ToyModel

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

SPACES, EMOJI = b" " * 64, "\N{GRINNING FACE}".encode()
LONG = {
    SPACES: 30.0,
    "漢字仮名交じり文".encode() * 3: 20.0,
    EMOJI[:3] + EMOJI[:2]: 16.0,
    EMOJI[3:]: 12.0,
    b"sesquipedalian_identifier": 10.0,
    b"qq": 9.0,
    b"q": 8.0,
    b"1": 4.0,
}

CELLS = """() => [...document.querySelectorAll('.lmx-rows .lmx-row:not(.head)')].flatMap((row) => {
    const box = row.getBoundingClientRect();
    const boxes = [...row.children].filter((one) => one.checkVisibility())
        .map((one) => [one, one.getBoundingClientRect()]);
    return boxes.flatMap(([cell, at]) => [cell, ...cell.querySelectorAll('.lmx-tok')].map((one) => {
        const style = getComputedStyle(one);
        const own = one.getBoundingClientRect();
        return {
            what: one.className + ': ' + one.textContent.slice(0, 30),
            fits: one.scrollWidth <= one.clientWidth + 1 || style.overflowX === 'visible' ||
                style.textOverflow === 'ellipsis',
            inside: own.left >= at.left - 1 && own.right <= at.right + 1 &&
                at.right <= box.right + 1,
            lines: own.height / parseFloat(style.lineHeight),
            apart: boxes.every(([other, its]) => other === cell ||
                at.right <= its.left + 1 ||
                its.right <= at.left + 1 || at.bottom <= its.top + 1 ||
                its.bottom <= at.top + 1),
        };
    }));
})"""


def test_no_cell_runs_into_the_next_or_takes_two_lines(chromium: Browser, tmp_path: Path) -> None:
    made = Explorer(ToyModel(LONG), explorer.regex(r"[ \"a-p0]*q[0-9]?(sesqui|1)?"))
    path = made.to_html(tmp_path / "rows.html")
    made.close()
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    page.locator(".lmx-rows .lmx-row.masked").first.wait_for()
    for width in (360, 460, 640, 720, 860, 1024, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(150)
        cells: list[dict[str, Any]] = page.evaluate(CELLS)
        assert len(cells) >= 5 * len(LONG)  # A masked row has no number of its own.
        heads = page.locator(".lmx-row.head .num").all()
        assert not any(one.evaluate("(el) => el.scrollWidth > el.clientWidth") for one in heads)
        wrong = [c for c in cells if not (c["fits"] and c["inside"] and c["apart"])]
        assert wrong == [], width
        assert [c for c in cells if c["what"].startswith("why") and c["lines"] > 1.5] == [], width
    # The bytes of each character that is not whole stand together.
    token = page.locator(".lmx-rows .lmx-tok", has_text="<F0>").first
    assert token.locator(".lmx-char").all_text_contents() == ["<F0><9F><98>", "<F0><9F>"]
    page.close()
