"""The front end for Python's regular expressions, which parses a text to a tree with spans.

Reading order: `parser` (with `terminal_groups`), `characters` (escapes, sets and flags, and the
meaning of ``\\w`` and IGNORECASE), `properties` (the meaning of ``\\p{L}``), `tables` (the cache on
disk), `source` (the kind of source).

The language of a pattern is the set of texts that `re.fullmatch` accepts, in UTF-8.
"""

from __future__ import annotations

from explorer.automata.machine import Dfa
from explorer.automata.tree.build import build
from explorer.budget import Meter
from explorer.languages.regex.parser import Tree, UnsupportedSyntax, parse

__all__ = ["Tree", "UnsupportedSyntax", "compile_pattern", "parse"]


def compile_pattern(pattern: str, meter: Meter) -> tuple[Tree, Dfa]:
    """Parse and compile a pattern.

    Args:
        pattern: Python `re` syntax; flags can be given inline.

    Returns:
        The tree with its spans, and the machine (see `explorer.automata.tree.build.build`).

    Raises:
        RegexError: The pattern cannot be read, or no automaton can express it.
        BudgetExceeded: A limit was reached.

    Example:
        >>> tree, dfa = compile_pattern("(?i)(foo)+d", Meter())
        >>> dfa.accepts(b"FoofooD")
        True
    """
    tree = parse(pattern)
    return tree, build(tree.whole(), meter)
