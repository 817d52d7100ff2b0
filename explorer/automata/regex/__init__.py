"""Python's regular expressions as byte machines: text in, minimal DFA out.

Read in this order: `charset` (sets of characters), `tree` (a pattern with its spans), `parser`
(with `escapes`, `flags`, `width`), `unicode_sets` (what ``\\w`` and IGNORECASE mean; `cache` keeps
it), `utf8` (a set over bytes), `build` (a tree as an NFA), `classes` and `lookaround` (anchors,
boundaries and lookarounds, the only part that is not a textbook construction).

The language of a pattern is the set of texts that `re.fullmatch` accepts, in UTF-8.
"""

from __future__ import annotations

from explorer.automata.machine import Dfa
from explorer.automata.operations import minimal_dfa
from explorer.automata.regex.build import build_nfa
from explorer.automata.regex.lookaround import resolve
from explorer.automata.regex.parser import UnsupportedSyntax, parse
from explorer.automata.regex.tree import Tree
from explorer.budget import Meter

__all__ = ["Tree", "UnsupportedSyntax", "compile_pattern", "compile_tree", "parse"]


def compile_tree(tree: Tree, meter: Meter) -> Dfa:
    """The machine of a parsed pattern.

    Args:
        tree: The pattern.
        meter: Watches every limit on the way.

    Returns:
        The minimal machine over the 256 bytes, in canonical form; it accepts the UTF-8 codes of
        exactly the texts that `re.fullmatch` accepts. It has no state if there are none.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    nfa = resolve(tree.root, meter) if tree.has_assertions else build_nfa(tree, meter).nfa
    return minimal_dfa(nfa, meter)


def compile_pattern(pattern: str, meter: Meter) -> tuple[Tree, Dfa]:
    """Parse and compile.

    Args:
        pattern: Python `re` syntax; flags can be given inline.
        meter: Watches every limit on the way.

    Returns:
        The tree with its spans, and the machine (see `compile_tree`).

    Raises:
        RegexError: The pattern cannot be read, or no automaton can express it.
        BudgetExceeded: A limit was reached.

    Example:
        >>> tree, dfa = compile_pattern("(?i)(foo)+d", Meter())
        >>> dfa.accepts(b"FoofooD")
        True
    """
    tree = parse(pattern)
    return tree, compile_tree(tree, meter)
