"""The measured tables of a model card: writes them between its marks, and reads them back."""

from __future__ import annotations

import re
from typing import Final

Table = list[tuple[str, ...]]


_SECTION: Final = re.compile(
    r"(<!-- measured: (?P<name>\w+) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL
)


def filled(card: str, tables: dict[str, Table]) -> str:
    """The card with new tables between its marks.

    Raises:
        ValueError: The card has no marks for some table.

    Example:
        >>> card = "<!-- measured: a -->\\nold\\n<!-- end -->"
        >>> print(filled(card, {"a": [("x", "y"), ("1", "2")]}))
        <!-- measured: a -->
        | x | y |
        |---|---|
        | 1 | 2 |
        <!-- end -->
    """
    names = [match["name"] for match in _SECTION.finditer(card)]
    if missing := set(tables) - set(names):
        raise ValueError(f"the card has no section {sorted(missing)}; it has {names}")

    def replace(match: re.Match[str]) -> str:
        if match["name"] not in tables:
            return match[0]
        head, *body = tables[match["name"]]
        rule = "|" + "---|" * len(head)
        lines = ["| " + " | ".join(row) + " |" for row in (head, *body)]
        return "\n".join([match[1] + lines[0], rule, *lines[1:], match[4]])

    return _SECTION.sub(replace, card)


def card_tables(card: str) -> dict[str, Table]:
    """The measured tables of a card, headings left out, cells as written.

    Example:
        >>> card_tables("<!-- measured: a -->\\n| x | y |\\n|---|---|\\n| 1 | 2 |\\n<!-- end -->")
        {'a': [('1', '2')]}
    """
    return {
        match["name"]: [
            tuple(cell.strip() for cell in line.strip("|").split("|"))
            for line in match["body"].splitlines()[2:]
        ]
        for match in _SECTION.finditer(card)
    }
