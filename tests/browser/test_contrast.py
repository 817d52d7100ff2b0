"""Contrast: text at least 4.5 : 1 against its ground, marks at least 3 : 1."""

from __future__ import annotations

import pytest

from tests.browser.acting import FOR, STEP, TOY, at, drawer, press, rest
from tests.browser.conftest import Lab, Notebook
from tests.evidence import few

PARTS_WITH_TEXT = (
    ".lmx-head", ".lmx-group", ".lmx-part-reasons .total", ".lmx-traps", ".lmx-trap",
    ".lmx-time .chart", ".lmx-time svg", ".lmx-legend", ".lmx-why",
    ".lmx-act", ".lmx-menu", ".lmx-compare .lmx-agree", ".lmx-compare .lmx-column > header",
)  # fmt: skip


@pytest.mark.parametrize("theme", few(["JupyterLab Light", "JupyterLab Dark"], 1))
def test_text_has_contrast(theme: str, notebook: Notebook, lab: Lab) -> None:
    page = notebook.page
    page.set_viewport_size({"width": 1280, "height": 2400})
    compare = (
        "import explorer\nfrom widgets import Compare\n"
        "Compare(None, explorer.regex('(foo)+d'), explorer.regex('foo(foo)?'))"
    )
    notebook.open(lab.code("contrast.ipynb", TOY, compare))
    assert notebook.run_all()
    notebook.theme(theme)
    toy, both = notebook.explorer(), page.locator(".lmx-compare")
    for root in (toy, both):
        press(root, STEP)
        at(root, 1)
    drawer(toy, "reasons", "time", "traps").locator(".lmx-trap").first.wait_for()
    toy.locator(".lmx-groups:not(.old) .lmx-group").first.wait_for()
    page.locator(".lmx-air > *").first.wait_for(state="detached")
    seen = page.evaluate(CONTRAST, list(PARTS_WITH_TEXT))
    toy.locator(f'.lmx-row[data-token="{FOR}"]').click()
    toy.locator(".lmx-why .lmx-act").wait_for()
    rest(toy)
    page.locator(".lmx-air > *").first.wait_for(state="detached")  # What moves has come and gone.
    seen += page.evaluate(CONTRAST, list(PARTS_WITH_TEXT))
    marks = page.evaluate(MARKS)
    assert [one for one in seen if one["ratio"] < 4.5] == []
    assert {part for one in seen for part in one["parts"]} == set(PARTS_WITH_TEXT)
    assert [one for one in marks if one["ratio"] is None or one["ratio"] < 3] == []


COLOURS = """
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const rgba = (c) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = c;
        canvas.fillRect(0, 0, 1, 1);
        const d = canvas.getImageData(0, 0, 1, 1).data;
        return [d[0], d[1], d[2], d[3] / 255];
    };
    const lum = ([r, g, b]) => {
        const f = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
    };
    const ground = (el) => {
        for (; el; el = el.parentElement) {
            const c = rgba(getComputedStyle(el).backgroundColor);
            if (c[3] > 0.99) return c;
        }
        return [255, 255, 255, 1];
    };
    const opacity = (el) => el ? getComputedStyle(el).opacity * opacity(el.parentElement) : 1;
    const contrast = (colour, el, under) => {
        const share = rgba(colour)[3] * opacity(el);
        const mixed = rgba(colour).map((v, i) => share * v + (1 - share) * under[i]);
        const [a, b] = [lum(mixed), lum(under)];
        return Math.round(100 * (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)) / 100;
    };
"""

# Of each part the text that is hardest to read, and of all the hardest ones.
CONTRAST = f"""(parts) => {{
    {COLOURS}
    const out = [];
    for (const root of document.querySelectorAll('.lmx-root')) {{
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {{
            const el = walker.currentNode.parentElement;
            if (!walker.currentNode.data.trim() || !el.checkVisibility()) continue;
            if (el.closest('svg title, :disabled, .behind, .lmx-live, .ghost, option')) continue;
            const svg = el.closest('svg');
            const style = getComputedStyle(el);
            if (svg && rgba(style.fill)[3] === 0) continue;
            const ratio = contrast(svg ? style.fill : style.color, el, ground(svg ? svg.parentElement : el));
            const text = walker.currentNode.data.slice(0, 30);
            out.push({{text, ratio, parts: parts.filter((part) => el.closest(part))}});
        }}
    }}
    out.sort((x, y) => x.ratio - y.ratio);
    const worst = parts.map((part) => out.find((one) => one.parts.includes(part)));
    return [...out.slice(0, 8), ...worst.filter(Boolean)];
}}"""  # noqa: E501 - One thought a line.

MARKS = f"""() => {{
    {COLOURS}
    return [
        ['.lmx-time .after', 'stroke'], ['.lmx-time .before', 'stroke'],
        ['.lmx-time .now', 'stroke'],
        ['.lmx-time .here', 'fill'], ['.lmx-legend .after', 'stroke'],
        ['.lmx-legend .before', 'stroke'],
        ['.lmx-graph .n.now circle', 'stroke'],
        ['.lmx-graph .n.past circle', 'stroke'], ['.lmx-graph .a .line', 'stroke'],
        ['.lmx-row .pair b', 'backgroundColor'], ['.lmx-row .pair u', 'backgroundColor'],
        ['.lmx-cell.on', 'borderTopColor'], ['.lmx-why .ko', 'borderTopColor'],
        ['.lmx-why .lmx-act', 'borderTopColor'], ['.lmx-trap', 'borderLeftColor'],
        ['.expect', 'borderBottomColor'], ['.lmx-compare .lmx-tok.last', 'color'],
    ].map(([mark, property]) => {{
        const el = document.querySelector(mark);
        const around = el && (el.closest('svg') || el).parentElement;
        return {{mark, ratio: el && contrast(getComputedStyle(el)[property], el, ground(around))}};
    }});
}}"""
