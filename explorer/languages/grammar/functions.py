"""The function `grammar`, which users call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from explorer.arguments import flag, listed, plain, shown, wrong
from explorer.budget import Budget
from explorer.errors import ConstraintError, GrammarError
from explorer.languages.constraint import Constraint
from explorer.languages.grammar.diagnosis import rewrite_of
from explorer.languages.grammar.parts import GrammarRule, RulePart
from explorer.languages.grammar.source import NOTATIONS, EmbeddingGrammar, GbnfGrammar
from explorer.languages.grammar.writing import written_rules

_BYTE_ORDER_MARK: Final = "\ufeff"
"""The mark with which some editors begin a file."""


def grammar(
    text: str | GrammarRule | Sequence[GrammarRule],
    syntax: str = "gbnf",
    *,
    ambiguous: bool = False,
    budget: Budget | None = None,
) -> Constraint:
    """The texts that a context-free grammar derives.

    Args:
        text: The grammar as text; or a rule made with `explorer.grammars.rule`, or several of them,
            of which the first is the start.
        syntax: The notation of the text: ``"gbnf"``, that of llama.cpp, and of xgrammar, which
            calls it EBNF; ``"lark"``; or ``"ebnf"``, that of the W3C or of ISO, without escapes.
            `explorer.languages.grammar.notations` lists the syntax.
        ambiguous: Follow every stack that a text can lead to. By default every text must lead to
            one stack; if not, the error shows a shortest text that does not and a rewrite.
        budget: Limits for reading and checking the grammar, which takes some microseconds a
            character.

    Raises:
        GrammarError: The grammar cannot be read, or its rules cannot be followed; with line and
            column.
        ConstraintError: A rule is named and has no body, or two rules have one name.
        BudgetExceeded: A limit was reached.

    Example:
        >>> nested = grammar('root ::= "a" root "b" | ""')
        >>> nested.accepts("aabb"), nested.accepts("aab")
        (True, False)
    """
    several = flag("ambiguous", ambiguous)
    if isinstance(text, RulePart | list | tuple):
        return _of_rules(text, several, budget)
    syntax = plain(syntax)
    kind = NOTATIONS.get(syntax) if isinstance(syntax, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if kind is None:
        known = ", ".join(f'"{name}"' for name in NOTATIONS)
        raise ConstraintError(
            f"syntax={shown(syntax)} is not a notation of grammars.", remedy=f"Use {known}."
        )
    if not isinstance(text, str):
        raise wrong(
            "text", text, "the text of a grammar, or a rule", error=ConstraintError,
            remedy="Write the grammar in quotes, or rules with explorer.grammars.rule.",
        )  # fmt: skip
    return Constraint(
        kind.of(text.removeprefix(_BYTE_ORDER_MARK), ambiguous=several, budget=budget)
    )


def _of_rules(given: object, ambiguous: bool, budget: Budget | None) -> Constraint:
    """The constraint of rules that are Python objects, written out in GBNF."""
    one = isinstance(given, RulePart)
    rules = [given] if one else listed("text", given, "rules", error=ConstraintError)
    for each in rules:
        if not isinstance(each, GrammarRule):
            raise ConstraintError(
                f"{shown(each)} is not a rule, and a grammar begins with one.",
                remedy='Give it a name: rule("root", ...).',
            )
    if not rules:
        raise ConstraintError("There is no rule.", remedy="Give the rule with which texts begin.")
    made = written_rules(cast("list[GrammarRule]", rules))
    try:
        kind = EmbeddingGrammar if made.terminals else GbnfGrammar
        return Constraint(kind.of(made.text, made.terminals, ambiguous=ambiguous, budget=budget))
    except GrammarError as error:
        line = made.text.splitlines()[error.line - 1]
        kind = error.evidence.get("rewrite")
        remedy = rewrite_of(kind, "python") if isinstance(kind, str) else error.remedy
        raise error.in_rule(line.partition("::=")[0].strip(), remedy) from error
