"""From a tree with grammars inside to the byte machine that reads it."""

from __future__ import annotations

from explorer.alphabet import NUM_BYTES
from explorer.automata.grammar.network import network_of
from explorer.automata.grammar.stacks import StackMachine
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.minimize import empty_dfa
from explorer.automata.tree.nodes import Node
from explorer.budget import Budget, Meter


def of_grammar(node: Node, budget: Budget, meter: Meter) -> ByteMachine:
    """The machine of a tree with grammars inside.

    Args:
        node: The tree.
        budget: Limits for what the machine meets while it is used.
        meter: Watches what is made now.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    network = network_of(node, meter)
    if network.root == NO_ARC:
        return empty_dfa(NUM_BYTES)
    return StackMachine(network, budget)
