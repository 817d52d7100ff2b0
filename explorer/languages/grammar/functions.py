"""The function `grammar`, which users call."""

from __future__ import annotations

from os import PathLike
from typing import Final

from explorer.arguments import flag, instance, plain, shown, whole_number, wrong
from explorer.budget import Budget
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.grammar.notations.imports import with_files
from explorer.languages.grammar.source import INDENT, MOST_INDENT, NOTATIONS

_BYTE_ORDER_MARK: Final = "\ufeff"
"""The mark with which some editors begin a file."""


def grammar(
    text: str,
    syntax: str = "gbnf",
    *,
    start: str | None = None,
    indent: int = INDENT,
    folder: str | PathLike[str] | None = None,
    ambiguous: bool | None = None,
    budget: Budget | None = None,
) -> Constraint:
    """The texts that a context-free grammar derives.

    Args:
        text: The grammar.
        syntax: The notation of the text: ``"gbnf"``, that of llama.cpp, and of xgrammar, which
            calls it EBNF; or ``"lark"``. `explorer.languages.grammar.notations` lists the syntax.
        start: The rule with which a text begins; by default ``root`` in GBNF and ``start`` in Lark.
        indent: The most columns of a block, where a grammar in Lark declares ``_INDENT`` and
            ``_DEDENT``. Its machine grows with this number.
        folder: The folder of the files that a grammar in Lark imports (``%import .file.rule``).
        ambiguous: By default every way to read a text is followed, with one stack where one is
            enough; if a text can be read in two ways, a remark of the report shows a shortest one
            and a rewrite. ``False`` refuses such a grammar (Koo et al. 2024, section 3.1), and
            ``True`` says nothing.
        budget: Limits for reading and checking the grammar, which takes some microseconds a
            character.

    Raises:
        GrammarError: The grammar cannot be read, or with ``ambiguous=False`` a text can be read
            in two ways; with line and column.
        ConstraintError: The text is not a text, or the notation is not known.
        BudgetExceeded: A limit was reached.

    Example:
        >>> nested = grammar('root ::= "a" root "b" | ""')
        >>> nested.accepts("aabb"), nested.accepts("aab")
        (True, False)
    """
    several = None if ambiguous is None else flag("ambiguous", ambiguous)
    syntax = plain(syntax)
    kind = NOTATIONS.get(syntax) if isinstance(syntax, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if kind is None:
        known = ", ".join(f'"{name}"' for name in NOTATIONS)
        raise ConstraintError(
            f"syntax={shown(syntax)} is not a notation of grammars.", remedy=f"Use {known}."
        )
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - From users.
        raise wrong(
            "text", text, "the text of a grammar", error=ConstraintError,
            remedy="Write the grammar in quotes.",
        )  # fmt: skip
    begins = None if start is None else instance(
        "start", start, str, "the name of a rule", error=ConstraintError
    )  # fmt: skip
    most = whole_number("indent", indent, 1, MOST_INDENT, error=ConstraintError)
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if syntax == "lark":
        text = with_files(text, folder)
    elif folder is not None:
        raise ConstraintError(
            "GBNF has no imports, so there is nothing to read in a folder.",
            remedy="Leave folder out.",
        )
    return Constraint(kind.of(text, ambiguous=several, start=begins, indent=most, budget=budget))
