"""The byte machine of a tree with grammars inside."""

from __future__ import annotations

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.minimize import empty_dfa
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.machine import ByteMachine, Network
from explorer.automata.rules.moves import Actions, Conflict, actions_of
from explorer.automata.rules.network import network_of
from explorer.automata.rules.pieces import lay_rules
from explorer.automata.rules.uniting import united
from explorer.automata.stacks.single import SingleStack
from explorer.automata.stacks.stacks import ManyStacks
from explorer.automata.tree.nodes import Node, Rules, inside
from explorer.budget import Budget, Meter
from explorer.memo import memo

Decided = tuple[Network, Actions | tuple[Conflict, ...]]
"""A network that has words, with its table of moves or its conflicts."""


@memo
def _kept(rules: Rules) -> list[Decided]:
    return []


def decided(node: Node, meter: Meter) -> Decided | None:
    """The network of a tree and its moves, cached with a grammar; ``None`` without words.

    Args:
        node: The tree.
        meter: Watches sizes and time.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    rules = inside(node)
    kept = _kept(rules) if isinstance(rules, Rules) else []
    if not kept:
        program = lay_rules(node, meter)
        network = network_of(program, meter)
        if network is None:
            return None
        actions = actions_of(network, meter)
        several = not isinstance(actions, Actions)
        kept.append((several and united(program, meter)) or (network, actions))
    return kept[0]


def of_grammar(node: Node, budget: Budget, meter: Meter) -> ByteMachine:
    """The machine of a tree with grammars inside.

    Args:
        node: The tree.
        budget: The limits of the machine while it discovers its states.
        meter: Watches the construction.

    Returns:
        A machine of one stack if the network is deterministic, else one of several stacks.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    known = decided(node, meter)
    if known is None:
        return empty_dfa(NUM_BYTES)
    network, actions = known
    if isinstance(actions, Actions):
        return Discovered(SingleStack(network, actions), budget)
    return Discovered(ManyStacks(network), budget)
