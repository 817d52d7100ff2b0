"""Grammars that are shipped.

`shipped_grammar` returns a grammar by name, one of `SHIPPED`, and `shipped_text` its text, to read
and to change.

    >>> from explorer import grammars
    >>> grammars.shipped_grammar("arithmetic").accepts("(1 + 2) * 3")
    True
"""

from __future__ import annotations

from explorer.languages.grammar.shipped import SHIPPED, shipped_grammar, shipped_text

__all__ = [
    "SHIPPED",
    "shipped_grammar",
    "shipped_text",
]
