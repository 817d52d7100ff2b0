"""Grammars to use and to learn from: each leads to one stack after every text.

``json`` (RFC 8259), ``arithmetic`` (sums, products and powers), ``characters`` (an array of
characters of a story), ``gbnf`` (the notation itself), ``sql`` (a subset, as SQLite reads it),
``xml`` (elements of given names; `xml.xml_text` writes it for other names), ``c`` (a language like
C), ``python`` (a subset, blocks to a depth; `python.python_text` writes it for another depth).

Read in this order: this file (the names; the texts are files beside it), `xml`, `python`.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from explorer.arguments import instance, shown
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.grammar.functions import grammar

SHIPPED: Final = ("json", "arithmetic", "characters", "gbnf", "sql", "xml", "c", "python")
"""The names of the grammars."""


def shipped_text(name: str) -> str:
    """The text of a grammar, in GBNF.

    Args:
        name: One of `SHIPPED`.

    Raises:
        ConstraintError: There is no such grammar.
    """
    remedy = f"Use one of {', '.join(SHIPPED)}."
    name = instance(
        "name", name, str, "the name of a grammar", remedy=remedy, error=ConstraintError
    )
    if name not in SHIPPED:
        raise ConstraintError(f"There is no grammar {shown(name)}.", remedy=remedy)
    return (files(__name__) / f"{name}.gbnf").read_text("utf-8")


def shipped_grammar(name: str) -> Constraint:
    """A grammar that ships with the explorer, as a constraint.

    Args:
        name: One of `SHIPPED`.

    Raises:
        ConstraintError: There is no such grammar.

    Example:
        >>> shipped_grammar("json").accepts('{"a": [1, 2]}')
        True
    """
    return grammar(shipped_text(name))
