"""The glossary as a table, and links to it from the words of a notebook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tools.site.pages import ROOT

GLOSSARY: Final = "docs/glossary.md"
_ENTRY: Final = re.compile(r"^### (.+)$", re.MULTILINE)
_SAID: Final = re.compile(r"^Words: .*$", re.MULTILINE)
_WORD: Final = re.compile(r"(?<![*\w\[])\*([^*\n]+)\*(?![*\w])")


def glossary(root: Path = ROOT) -> dict[str, str]:
    """Every word of the glossary in small letters, and its place on the page.

    Args:
        root: The repository.
    """
    words = _ENTRY.findall((root / GLOSSARY).read_text("utf-8"))
    return {word.casefold(): _anchor(word) for word in words}


def words_of(text: str) -> list[str]:
    """The words that the line ``Words:`` of a notebook explains, as they are written.

    Args:
        text: Markdown.
    """
    return [word for line in _SAID.findall(text) for word in _WORD.findall(line)]


def with_words(text: str, known: Mapping[str, str], page: str) -> str:
    """The text with the words of its line ``Words:`` as links to the glossary.

    Args:
        text: Markdown.
        known: The words and their places, as `glossary` gives them.
        page: The relative link to the page of the glossary.
    """

    def linked(word: re.Match[str]) -> str:
        place = known.get(word[1].casefold())
        return word[0] if place is None else f"[{word[0]}]({page}#{place})"

    return _SAID.sub(lambda line: _WORD.sub(linked, line[0]), text)


def _anchor(word: str) -> str:
    """The place of a heading, as both GitHub and mkdocs name it."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", word.casefold()).strip())


__all__ = ["GLOSSARY", "glossary", "with_words", "words_of"]
