"""Grammars that are shipped.

`shipped_grammar` returns a grammar by name, one of `SHIPPED`, and `shipped_text` its text, to read
and to change; `xml_text` and `python_text` generate the two that have a parameter.

    >>> from explorer import grammars
    >>> grammars.shipped_grammar("arithmetic").accepts("(1 + 2) * 3")
    True
"""

from __future__ import annotations

from explorer.languages.grammar.shipped import SHIPPED, shipped_grammar, shipped_text
from explorer.languages.grammar.shipped.python import python_text
from explorer.languages.grammar.shipped.xml import xml_text

__all__ = [
    "SHIPPED",
    "python_text",
    "shipped_grammar",
    "shipped_text",
    "xml_text",
]
