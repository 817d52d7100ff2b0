"""Turns a tree into a discovered byte machine.

A tree that can be laid out as an NFA becomes one, with counters for long repeats, and is
determinized on demand. Intersections, differences and complements become pairs of discovered
machines, unless their closed form is small: then that is used, because it is minimal. A part of a
sequence that needs a machine of its own is built first.
"""

from __future__ import annotations

from typing import Final

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.minimize import empty_dfa
from explorer.automata.discovered.discovered import Discovered, Sets
from explorer.automata.discovered.limited_parts import NotCounted, limited_parts
from explorer.automata.discovered.net import HoldsGrammar, LateParts, Net, net_of
from explorer.automata.discovered.paired import STAGE, paired
from explorer.automata.machine import ByteMachine
from explorer.automata.tree.build import build
from explorer.automata.tree.lookaround import resolve
from explorer.automata.tree.nodes import (
    Deferred,
    Group,
    Intersect,
    Machine,
    Negate,
    Node,
    Subtract,
    TokenLimit,
    Whole,
    Written,
)
from explorer.automata.tree.walking import walk
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, NotRegular


def discover(node: Node, budget: Budget, meter: Meter | None = None) -> ByteMachine:
    """The machine of a tree, which numbers its states as it discovers them.

    Args:
        node: The root.
        budget: Limits on the machine while it is used.
        meter: The limits on building it; by default a new meter of the same budget.

    Returns:
        A machine with exactly the words of `explorer.automata.tree.build.build`. Its start is
        `NO_ARC` if there are none.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> from explorer.languages.regex import parse
        >>> machine = discover(parse("[ab]{2,100000}").root, Budget())
        >>> state = machine.step(machine.start, ord("a"))
        >>> machine.is_accepting(state), machine.is_accepting(machine.step(state, ord("b")))
        (False, True)
    """
    meter = meter or Meter(budget)
    while isinstance(node, Group | Written | TokenLimit):
        node = node.body
    if isinstance(node, Machine):
        return node.dfa
    if isinstance(node, Deferred) and node.outline is None and not node.is_late:
        return node.make(meter)
    if isinstance(node, Intersect | Subtract | Negate):
        return _pair(node, budget, meter)
    if isinstance(node, Whole):
        return _over_net(net_of(resolve(node.body, meter), meter), budget)
    parts = LateParts(node)
    try:
        net = parts.net(meter)
    except (HoldsGrammar, NotRegular):  # NotRegular if the grammar is inside a combination.
        from explorer.automata.stacks.of_grammar import of_grammar

        return of_grammar(node, budget, meter)
    return _over_net(net, budget, parts)


def discover_limits(node: Node, meter: Meter) -> ByteMachine | None:
    """The discovered machine of a tree over bytes and the ends of tokens.

    Args:
        node: The root.
        meter: The limits on building it; its budget also limits the machine while it is used.

    Returns:
        ``None`` if the tree constrains tokens by more than limits on consecutive parts: then there
        is only the closed form (`explorer.automata.tree.build`).

    Raises:
        BudgetExceeded: A limit was reached.
    """
    try:
        return limited_parts(node, meter, lambda part: discover(part, meter.budget, meter))
    except NotCounted:
        return None


PAIRED: Final = Budget(states=20_000, arcs=1_000_000, bytes=100_000_000, seconds=2.0)
"""The limits for the closed form of a combination; a larger one is discovered."""

_SIZES: Final = ("states", "arcs", "bytes", "seconds")

SMALL: Final = Budget(states=200_000, arcs=20_000_000, seconds=10.0)
"""The limits for an optional closed form."""


def small_or_discovered(node: Node) -> ByteMachine:
    """The closed form of a tree if it is small, otherwise its discovered machine.

    A tree with a part that has an outline, such as a schema, is discovered at once: its closed form
    takes longer than reading thousands of texts.

    Raises:
        BudgetExceeded: It cannot even be laid out.
    """
    if any(isinstance(each, Deferred) and each.outline is not None for each in walk(node)):
        return discover(node, Budget())
    try:
        return build(node, Meter(SMALL))
    except BudgetExceeded:
        return discover(node, Budget())


def _pair(node: Intersect | Subtract | Negate, budget: Budget, meter: Meter) -> ByteMachine:
    """The closed form of an intersection, difference or complement if small, otherwise a pair."""
    limits = {name: min(getattr(budget, name), getattr(PAIRED, name)) for name in _SIZES}
    try:
        return build(node, Meter(Budget(**limits)))
    except BudgetExceeded:
        meter.check_time(STAGE)
    if isinstance(node, Negate):
        return paired(any_text(), discover(node.body, budget, meter), "left only", budget)
    operation = "both" if isinstance(node, Intersect) else "left only"
    sides = discover(node.left, budget, meter), discover(node.right, budget, meter)
    return paired(*sides, operation, budget)


def _over_net(net: Net | None, budget: Budget, parts: LateParts | None = None) -> ByteMachine:
    return empty_dfa(NUM_BYTES) if net is None else Discovered(Sets(net, parts), budget)
