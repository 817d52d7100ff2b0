"""Grammars to use and to learn from: each leads to one stack after every text.

``json`` (RFC 8259), ``arithmetic`` (sums, products and powers), ``characters`` (an array of
characters of a story), ``gbnf`` (the notation itself), ``sql`` (a subset, as SQLite reads it),
``xml`` (elements of given names, each closed under the name with which it was opened), ``c`` (a
language like C), ``python`` (a subset; blocks nest three deep, because a stack loses the number of
blanks when it first reads it, so each depth has rules of its own). The texts are files beside this
one.
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
