"""GitHub's Markdown as mkdocs reads it.

The texts are written for GitHub. Python's Markdown library, which mkdocs uses, differs in three
points that matter to them: a list needs an empty line before it, a ``\\|`` inside a code span of a
table keeps its backslash, and braces at the end of a heading or of a table's cell are taken for
attributes and vanish.
"""

from __future__ import annotations

import re
from typing import Final

from tools.site.pages import lines_and_fences

_ITEM: Final = re.compile(r"^(?:[-*+]|\d+\.) ")
_INSIDE: Final = re.compile(r"^\s")
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def as_mkdocs_reads(text: str) -> str:
    """The text with an empty line before each list, plain bars in tables' code, and braces kept.

    Args:
        text: GitHub's Markdown.
    """
    found: list[str] = []
    before = ""
    for line, fenced in lines_and_fences(text):
        if not fenced:
            listed = _ITEM.match(before) or _INSIDE.match(before)
            if _ITEM.match(line) and before.strip() and not listed:
                found.append("\n")
            if line.startswith("|"):
                line = _CODE.sub(lambda code: code[0].replace(r"\|", "|"), line)
            if line.startswith(("|", "#")):
                line = _without_attributes(line)
        found.append(line)
        before = line
    return "".join(found)


def _without_attributes(line: str) -> str:
    """A line whose braces outside of code are escaped, so that they stay text."""
    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(line):
        parts += [line[end : code.start()].replace("{", "&#123;"), code[0]]
        end = code.end()
    return "".join([*parts, line[end:].replace("{", "&#123;")])


def title_of(text: str) -> str:
    """The first heading of a text.

    Args:
        text: Markdown.
    """
    for line, fenced in lines_and_fences(text):
        if not fenced and line.startswith("# "):
            return line[2:].strip()
    raise ValueError(f"The text has no first heading: {text[:80]!r}.")


__all__ = ["as_mkdocs_reads", "title_of"]
