"""A tree becomes its minimal byte machine.

What Thompson's construction can express is laid out as one NFA and determinized once.
Intersections, differences and complements are products of the machines of their parts; a pattern
with assertions goes through `lookaround`. Each gives a machine, which is laid into the NFA around
it.
"""

from __future__ import annotations

from explorer.automata.construction import operations
from explorer.automata.machine import Dfa
from explorer.automata.tree.assertions.lookaround import resolve
from explorer.automata.tree.nfa.layout import lay_out
from explorer.automata.tree.nodes import (
    Deferred,
    Group,
    Intersect,
    Machine,
    Negate,
    Node,
    Rules,
    Subtract,
    TokenLimit,
    TokenPiece,
    Whole,
    Written,
)
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter


def build(node: Node, meter: Meter) -> Dfa:
    """The machine of a tree.

    Args:
        node: The root.
        meter: Watches every limit on the way.

    Returns:
        The minimal machine over the 256 bytes, in canonical form. It has no state if there are no
        words.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> from explorer.languages.regex import parse
        >>> build(parse("(?i)(foo)+d").whole(), Meter()).accepts(b"FoofooD")
        True
    """
    while isinstance(node, Group | Written | TokenLimit):
        node = node.body
    match node:
        case Machine():
            return node.dfa
        case Deferred():
            return node.make(meter)
        case Rules():
            return node.make(node, meter)
        case TokenPiece():
            return node.text()
        case Whole():
            return operations.minimal_dfa(resolve(node.body, meter), meter)
        case Intersect():
            return operations.intersection(build(node.left, meter), build(node.right, meter), meter)
        case Subtract():
            return operations.difference(build(node.left, meter), build(node.right, meter), meter)
        case Negate():
            return operations.difference(any_text(), build(node.body, meter), meter)
        case _:
            laid = lay_out(node, meter, machine=lambda inner: build(inner, meter))
            return operations.minimal_dfa(laid.nfa, meter)
