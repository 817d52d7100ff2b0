"""Grammars beside `explorer.grammar`: rules as Python objects, and grammars that are shipped.

`rule` makes the rules of a grammar from Python objects; `shipped_grammar` returns a grammar by
name, one of `SHIPPED`, and `shipped_text` its text, to read and to change; `xml_text` and
`python_text` generate the two that have a parameter.

    >>> from explorer import grammar, grammars
    >>> value = grammars.rule("value", "[" + grammars.rule("value").star() + "]")
    >>> grammar(value).accepts("[[][]]")
    True
    >>> grammars.shipped_grammar("arithmetic").accepts("(1 + 2) * 3")
    True
"""

from __future__ import annotations

from explorer.languages.grammar.parts import GrammarRule, RulePart, rule
from explorer.languages.grammar.shipped import SHIPPED, shipped_grammar, shipped_text
from explorer.languages.grammar.shipped.python import python_text
from explorer.languages.grammar.shipped.xml import xml_text

__all__ = [
    "SHIPPED",
    "GrammarRule",
    "RulePart",
    "python_text",
    "rule",
    "shipped_grammar",
    "shipped_text",
    "xml_text",
]
