"""A grammar with a stack of bounded depth: a regular language, and so a table.

For each depth the rules are built again, with the machines of the depth below in the place of
calls; at the last depth a call can only derive the empty text. Rules that were merged into others,
and calls that are the last thing a rule does, put nothing on the stack
(`explorer.automata.rules.network`), so they do not count: in a grammar of JSON with depth 3
a value lies in at most three arrays or objects. (Koo et al. 2024, section 3.)

Every machine is minimised before it is copied into others. Its states still multiply with each
depth by the number of calls in a rule: two calls double them at every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Self

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.arguments import whole_number
from explorer.automata.construction.minimize import empty_dfa
from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import NO_ARC, Dfa, Int32, Network
from explorer.automata.program import Program
from explorer.automata.stacks.of_grammar import decided
from explorer.automata.tree.nodes import Deferred, Node, Source, inside
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, ConstraintError
from explorer.languages.sources.registry import register

STAGE: Final = "Writing out a grammar to a depth"


@register("grammar to a depth")
@dataclass(frozen=True)
class BoundedGrammar(Source):
    """The words of a grammar that need a stack of at most ``depth`` entries."""

    kind: ClassVar[str] = "bounded-grammar"
    plain_text: ClassVar[bool] = False

    inner: Source
    depth: int

    @property
    def text(self) -> str:
        """The text of the grammar."""
        return self.inner.text

    def lower(self) -> Node:
        """One machine, built later."""
        return Deferred(0, len(self.text), self._build, written=lambda: inside(self.inner.tree))

    def _build(self, meter: Meter) -> Dfa:
        try:
            return bounded_dfa(self.inner.tree, self.depth, meter)
        except BudgetExceeded as error:
            limit = f"Budget({error.resource}=...)"
            remedy = f"Choose a smaller depth than {self.depth:,}, or raise the limit with {limit}."
            raise error.advising(remedy) from None

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The depth that was saved."""
        return cls.of(children[0], whole_number("depth", fields["depth"]))

    @classmethod
    def of(cls, inner: Source, depth: int) -> Self:
        """A grammar to a depth.

        Raises:
            ConstraintError: The depth is not a whole number from 0, or a part speaks about tokens.
        """
        if inner.over_tokens:
            raise ConstraintError(
                "A part of this constraint speaks about tokens (a limit, TEXT_TOKEN), and a table "
                "of its texts to a depth would forget that.",
                remedy="Bound the grammar alone, grammar(...).bounded(depth=...), then combine.",
            )
        return cls(inner, whole_number("depth", depth, 0, error=ConstraintError))

    def __str__(self) -> str:
        return f"{self.inner}.bounded(depth={self.depth})"


def bounded_dfa(node: Node, depth: int, meter: Meter) -> Dfa:
    """The minimal machine of a syntax tree with grammars inside, for a stack of bounded depth.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    known = decided(node, meter)
    if known is None:
        return empty_dfa(NUM_BYTES)
    network, _ = known
    below: list[Program] | None = None
    for _ in range(depth):
        rules = range(len(network.entry))
        below = [dfa_to_nfa(_of_rule(network, rule, below, meter)) for rule in rules]
    return _of_rule(network, 0, below, meter)


def _of_rule(network: Network, rule: int, below: list[Program] | None, meter: Meter) -> Dfa:
    """The machine of a rule, its calls replaced by the machines of the depth below.

    A call that ends the rule needs no stack: it goes to the start of the called rule.
    """
    number = {network.entry[rule]: 0}
    waiting = [network.entry[rule]]
    arcs: list[tuple[int, int, int, int]] = []
    blocks: list[Int32] = []
    epsilons: list[tuple[int, int]] = []
    fresh = 1

    def numbered(state: int) -> int:
        nonlocal fresh
        if state not in number:
            number[state] = fresh
            fresh += 1
            waiting.append(state)
        return number[state]

    classes = network.symbol_class
    runs = np.flatnonzero(np.diff(classes, prepend=-1)).tolist()
    ends = [*(begin - 1 for begin in runs[1:]), NUM_BYTES - 1]
    accepting: list[int] = []
    while waiting:
        state = waiting.pop()
        here = number[state]
        if network.exits[state]:
            accepting.append(here)
        for low, high in zip(runs, ends, strict=True):
            target = network.arcs(state).get(int(classes[low]))
            if target is not None:
                arcs.append((here, low, high, numbered(target)))
        for callee, after in network.calls[state]:
            if network.only_exits[after]:
                epsilons.append((here, numbered(network.entry[callee])))
            elif below is None:
                if network.arrays.empty[network.entry[callee]]:
                    epsilons.append((here, numbered(after)))
            else:
                nfa, target = below[callee], numbered(after)
                if nfa.start == NO_ARC:
                    continue
                blocks.append(nfa.arcs + np.array([fresh, 0, 0, fresh], np.int32))
                epsilons.append((here, nfa.start + fresh))
                epsilons += [(end + fresh, target) for end in nfa.accepting.tolist()]
                fresh += nfa.num_states
        meter.check(STAGE, states=fresh, arcs=len(arcs) + sum(map(len, blocks)))
    rows = np.array(arcs, np.int32).reshape(-1, 4)
    nfa = Program(
        fresh, 0, np.concatenate([rows, *blocks]).astype(np.int32),
        np.array(epsilons, np.int32).reshape(-1, 2), np.array(accepting, np.int32),
    )  # fmt: skip
    return minimal_dfa(nfa, meter)
