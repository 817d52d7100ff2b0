"""Every picture has words: in the README, on the pages, and in the notebooks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.site.test_pages import texts_of
from tools.animation import main
from tools.site.pages import ROOT, lines_and_fences, pages

MARKDOWN = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)", re.DOTALL)
TAG = re.compile(r"<img\b[^>]*>", re.DOTALL)
ALT = re.compile(r'\balt="([^"]*)"')
TEXTS = [source for source in pages() if source.endswith((".md", ".ipynb"))]
FEWEST_WORDS = 3


def without_words(text: str) -> list[str]:
    """The pictures of a Markdown text whose alternative text is missing or says too little."""
    plain = "".join(line for line, fenced in lines_and_fences(text) if not fenced)
    found = [(words, target) for words, target in MARKDOWN.findall(plain)]
    for tag in TAG.findall(plain):
        words = ALT.search(tag)
        found.append((words[1] if words else "", tag))
    return [target for words, target in found if len(words.split()) < FEWEST_WORDS]


@pytest.mark.parametrize("source", TEXTS)
def test_every_picture_of_a_text_has_words(source: str) -> None:
    assert [one for text in texts_of(source) for one in without_words(text)] == []


def test_a_picture_without_words_is_noticed() -> None:
    assert without_words("![](a.png) ![one two three](b.png)") == ["a.png"]
    assert without_words('<img src="c.png" alt="no">') == ['<img src="c.png" alt="no">']
    assert without_words('<img src="d.png">') == ['<img src="d.png">']
    assert without_words("```text\n![](a.png)\n```\n") == []


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.svg")), ids=lambda path: path.name)
def test_a_drawing_has_a_title(path: object) -> None:
    text = (ROOT / str(path)).read_text("utf-8")
    assert re.search(r"<title>[^<]{10,}</title>", text) and 'role="img"' in text


def test_the_animation_is_small_and_has_frames(tmp_path: Path) -> None:
    path = ROOT / "docs" / "images" / "explorer-steps.svg"
    assert path.stat().st_size < 300_000
    # A position, and each byte of foo and of food; the code of today writes the same.
    moving = path.read_text("utf-8")
    assert moving.count('class="frame ') == 4 + 3 + 4
    main(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text("utf-8") == moving
    # Who wants no motion is shown the still.
    for page in ("README.md", "docs/index.md"):
        text = (ROOT / page).read_text("utf-8")
        assert re.search(r'media="\(prefers-reduced-motion: reduce\)"\s+srcset="[^"]+\.png"', text)
        assert "explorer-steps.svg" in text
