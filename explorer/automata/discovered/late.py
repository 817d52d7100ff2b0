"""The parts of a net that are laid out when some text first comes to them.

A schema of a hundred members is a net of a hundred names at first: the machine of a member's value
is made when a text has read the name. What may wait is said by the tree (`Deferred.is_late`): a
part that surely has words, and whose source has nothing wrong with it, so that the only thing that
can happen later is that a budget is exceeded.

A part cannot be sent to another process, because it holds a compiler. What is sent is the tree and
the order in which parts were laid out: they are laid out again in the same order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from explorer.automata.discovered.net import Net, extended, net_of
from explorer.automata.tree.build import build
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Call, Deferred, Node, Rules
from explorer.automata.tree.repeats import Counters
from explorer.budget import Meter
from explorer.errors import ExplorerError


class HoldsGrammar(Exception):
    """The tree holds a grammar, which takes a stack and not a net."""


def _grammar_met(_: Call | Rules) -> int:
    raise HoldsGrammar


class LateParts:
    """The late parts of the net of a tree.

    Args:
        root: The tree.
    """

    def __init__(self, root: Node) -> None:
        self._root = root
        self._waiting: dict[int, Deferred] = {}
        self._order: list[int] = []

    def net(self, meter: Meter) -> Net | None:
        """The net of the tree, its late parts left out; ``None`` if there are no words.

        Raises:
            BudgetExceeded: A limit was reached.
            HoldsGrammar: There is a grammar inside.
        """
        counters = Counters(late=[])
        built = lay_out(
            self._root, meter, machine=lambda it: build(it, meter), counters=counters,
            call=_grammar_met,
        )  # fmt: skip
        self._note(counters, 0)
        return net_of(built.nfa, counters, meter)

    def laid(self, net: Net, at: int, meter: Meter) -> Net:
        """A net with one more of its parts.

        Args:
            net: The net so far.
            at: The state where the part begins.
            meter: Watches what is made.

        Raises:
            BudgetExceeded: A limit was reached; the part can still be laid out later.
        """
        self.settle(net)
        counters = Counters(late=[])
        node = replace(self._waiting[at], is_late=False)
        built = lay_out(node, meter, machine=lambda it: build(it, meter), counters=counters)
        larger = extended(net, at, built.nfa, counters, meter)
        self._note(counters, net.num_states)
        self._order.append(at)
        return larger

    def settle(self, net: Net) -> None:
        """Forget a part that was laid out, but whose net was not taken because of an interrupt.

        Args:
            net: The net so far; only the last part can be missing there.
        """
        if self._order and net.late[self._order[-1]]:
            del self._order[-1]
        elif self._order:
            self._waiting.pop(self._order[-1], None)

    def again(self, meter: Meter) -> tuple[Net, LateParts]:
        """The net of the tree with the parts that have been laid out, made anew.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        parts = LateParts(self._root)
        net = parts.net(meter)
        if net is None:
            raise ExplorerError("A machine that had words has none when it is made again.")
        for at in self._order:
            net = parts.laid(net, at, meter)
        return net, parts

    def _note(self, counters: Counters, shift: int) -> None:
        for before, _, node in counters.late or ():
            self._waiting[before + shift] = node

    def __getstate__(self) -> dict[str, Any]:
        return {"_root": self._root, "_order": self._order, "_waiting": {}}
