"""Words on lit arcs, by geometry, in a browser without a notebook: no word and no state is covered.

A lit arc says which token was taken, in more letters than its place was found for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import explorer
from explorer.decoding.models.load import load_model
from tests.browser.test_machines import OVERLAPS
from tests.evidence import few
from widgets.figures.machines.drawn import draw_whole
from widgets.views.bundle import script, source

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATTERNS = [
    "[a-z]{1,4}",
    r"[0-9]{1,3}(\.[0-9]{1,3}){3}",
    "(yes|yet|yellow|no|not|nothing) (now|never)",
    "[日本語]{2,5}x?",
]

LIGHT = """([figure, layout, lit]) => {
    const graph = drawMachine(figure, layout, "characters");
    const host = document.getElementById("host");
    host.replaceChildren(graph.svg);
    graph.svg.setAttribute("width", layout.width);
    const set = { words: new Map(lit), past: new Set(), pastArcs: new Set(lit.map(([arc]) => arc)),
        go: new Set(lit.slice(-1).map(([arc]) => arc)),
        open: new Set(), koArcs: new Set(), now: null,
        next: null, ko: null };
    light(graph, set, "token DFA");
    return lit.map(([arc]) => graph.arcs.get(arc).text.classList.contains("covered"));
}"""


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    opened = chromium.new_page()
    opened.set_content(
        f"<style>{source('explorer.css')}</style><style>svg text {{ font: 12px monospace }}</style>"
        f"<div class=lmx><div class='lmx-graph' id=host></div></div>"
    )
    opened.add_script_tag(content=script("explorer"))
    yield opened
    opened.close()


@pytest.mark.parametrize("word", few(["202", "nevermore", "日本語日本"], 1))
@pytest.mark.parametrize("pattern", few(PATTERNS, 1))
def test_words_of_lit_arcs_keep_off_each_other_and_off_states(
    page: Page, pattern: str, word: str
) -> None:
    vocabulary = load_model("tiny").vocabulary
    dfa = explorer.compile(explorer.regex(pattern), vocabulary)
    drawn = draw_whole(dfa, "characters")
    figure, layout = drawn.figures["token_dfa"], drawn.layouts["token_dfa"]
    edges = [edge for edge in figure.edges if edge.tokens and edge.id in layout.edges]
    assert len(edges) > 2
    lit: list[tuple[str, list[str]]] = [(edge.id, [word]) for edge in edges]
    given = json.loads(json.dumps([figure.to_dict(), layout.to_dict()]))
    for some in (lit, lit[::2], lit[1::2], *([one] for one in lit[:4])):
        page.evaluate(LIGHT, [*given, some])
        assert page.locator("#host").evaluate(OVERLAPS.replace(".lmx-graph svg", "svg")) == []
    # One arc alone is never covered.
    assert page.evaluate(LIGHT, [*given, lit[:1]]) == [False]
