"""White space between the tokens of JSON, given as a pattern by the user."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from explorer.automata.construction.operations import difference
from explorer.automata.machine import Dfa
from explorer.automata.words import has_no_word, shortest_word
from explorer.budget import Budget, Meter
from explorer.errors import ConstraintError
from explorer.languages.regex import compile_pattern

BLANK: Final = r"[ \t\n\r]*"
"""All white space that JSON has between its tokens (RFC 8259, section 2)."""
LIMITS: Final = Budget(states=2_000, seconds=10)
"""The budget for the machine of a pattern, which is copied to every place of white space."""


@lru_cache(maxsize=64)
def blank_machine(pattern: str) -> Dfa:
    """The machine of a pattern of white space.

    Args:
        pattern: As `explorer.regex` reads it.

    Raises:
        RegexError: The pattern cannot be read.
        ConstraintError: The pattern matches nothing, or something that is not white space of JSON.
        BudgetExceeded: The machine takes more than `LIMITS`.

    Example:
        >>> blank_machine("[ ]?").accepts(b" "), blank_machine("[ ]?").accepts(b"\\n")
        (True, False)
    """
    meter = Meter(LIMITS)
    _, machine = compile_pattern(pattern, meter)
    if has_no_word(machine):
        raise ConstraintError(
            f"whitespace_pattern={pattern!r} matches nothing, so no object or array could be "
            "written.",
            remedy='Give a pattern such as r"[ \\n]?", or "" for no white space.',
            evidence={"pattern": pattern},
        )
    others = difference(machine, compile_pattern(BLANK, meter)[1], meter)
    if not has_no_word(others):
        text = shortest_word(others).decode()
        raise ConstraintError(
            f"whitespace_pattern={pattern!r} matches {text!r}, which is not white space of JSON.",
            remedy=r"Use space, \t, \n and \r alone; write [ \t\n\r] for \s, which has others.",
            evidence={"pattern": pattern, "text": text},
        )
    return machine
