"""The function `grammar`, which users call."""

from __future__ import annotations

from explorer.arguments import flag, plain, shown
from explorer.automata.constraint import Constraint
from explorer.automata.grammar.source import NOTATIONS
from explorer.errors import ConstraintError


def grammar(text: str, syntax: str = "gbnf", *, ambiguous: bool = False) -> Constraint:
    """The texts that a context-free grammar derives.

    Args:
        text: The grammar.
        syntax: Its notation: ``"gbnf"``, that of llama.cpp; ``"lark"``; or ``"ebnf"``, that of the
            W3C or of ISO. `explorer.automata.grammar.notations.gbnf`, ``lark`` and ``ebnf`` say
            what is read.
        ambiguous: Follow every stack that a text can lead to. By default a text leads to one stack,
            and a grammar for which that is not so is an error that shows a shortest such text and
            what to rewrite.

    Raises:
        GrammarError: It cannot be read, or its rules cannot be followed; with line and column.

    Example:
        >>> nested = grammar('root ::= "a" root "b" | ""')
        >>> nested.accepts("aabb"), nested.accepts("aab")
        (True, False)
    """
    syntax = plain(syntax)
    kind = NOTATIONS.get(syntax) if isinstance(syntax, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if kind is None:
        known = ", ".join(f'"{name}"' for name in NOTATIONS)
        raise ConstraintError(
            f"syntax={shown(syntax)} is not a notation of grammars.", remedy=f"Use {known}."
        )
    return Constraint(kind.of(text, ambiguous=flag("ambiguous", ambiguous)))
