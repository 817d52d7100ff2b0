"""Rules that recurse laid into their callers, where that is what leads to one stack.

A rule such as ``sum ::= term (ws "+" ws term)*`` that may be followed by white space cannot know
whether a blank is its own, or that of the rule that called it; and where two rules begin alike it
is not known which to call. Both go away where the rule is a part of its callers, as their automata
are determinized. So the rules that have such conflicts are laid into their callers, the smallest
first, as long as that is possible: not a rule that calls itself. What is left to be called is what
stands between brackets, as a rule. The language does not change.
"""

from __future__ import annotations

from typing import Final

from explorer.automata.grammar.moves import Actions, Conflict, Looks, actions_of, looks_of
from explorer.automata.grammar.network import (
    Network,
    SmallRules,
    as_piece,
    determinized,
    laid_in,
    side_by_side,
    small_rules,
)
from explorer.automata.tree.nodes import Node
from explorer.budget import Meter

STAGE: Final = "Uniting rules of a grammar"

MOST_ROUNDS: Final = 12
"""How often rules are laid into their callers at most."""

MOST: Final = 20_000
"""The most states of all rules together for which this is tried, and of each afterwards."""


def united(node: Node, meter: Meter) -> tuple[Network, Looks, Actions] | None:
    """The network of a tree with one stack; ``None`` where this does not lead there.

    Args:
        node: A grammar that has words, or anything with such grammars inside.
        meter: Watches sizes and time.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    rules = small_rules(node, meter, lay_in=False)
    for _ in range(MOST_ROUNDS):
        if rules is None or sum(machine.num_states for machine, _ in rules.made.values()) > MOST:
            break
        network, order = side_by_side(rules, meter)
        looks = looks_of(network, meter)
        found = actions_of(network, looks, meter)
        if isinstance(found, Actions):
            return network, looks, found
        rules = _with_fewer(rules, {order[k] for k in _to_unite(network, found)}, meter)
    return None


def _to_unite(network: Network, conflicts: tuple[Conflict, ...]) -> set[int]:
    """The rules that do not know whether to end, and those of which it is not known whether to
    call them.
    """
    found: set[int] = set()
    for state, _, moves in conflicts:
        found |= {move[1] for move in moves if move[0] == "call"}
        if any(move[0] == "end" for move in moves):
            found.add(network.rule[state])
    return found


def _with_fewer(rules: SmallRules, wanted: set[int], meter: Meter) -> SmallRules | None:
    """The rules with some of them laid into their callers; ``None`` if not one can be."""
    made = dict(rules.made)
    done = False
    for chosen in sorted(wanted, key=lambda k: (made[k][0].num_states, k)):
        if chosen in made[chosen][1]:
            continue
        callers = [k for k, (_, callees) in made.items() if chosen in callees]
        for k in callers:
            meter.check_time(STAGE)
            piece = laid_in(as_piece(made[k]), {chosen: made[chosen]}, MOST)
            made[k] = determinized(piece, meter)
            done = done or chosen not in made[k][1]
    return SmallRules(made, rules.names) if done else None
