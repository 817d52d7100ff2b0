"""GitHub's Markdown as mkdocs reads it.

The texts are written for GitHub. Python's Markdown library, which mkdocs uses, differs in two
points that they meet: a list needs an empty line before it, and a ``\\|`` inside a code span of a
table keeps its backslash.
"""

from __future__ import annotations

import re
from typing import Final

from tools.site.pages import lines_and_fences

_ITEM: Final = re.compile(r"^(?:[-*+]|\d+\.) ")
_INSIDE: Final = re.compile(r"^\s")
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def as_mkdocs_reads(text: str) -> str:
    """The text with an empty line before each list, and with plain bars in the code of tables.

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
        found.append(line)
        before = line
    return "".join(found)


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
