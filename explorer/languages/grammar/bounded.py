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
from explorer.automata.construction.operations import dfa_to_nfa
from explorer.automata.machine import Dfa, Network, Nfa
from explorer.automata.stacks.of_grammar import decided
from explorer.automata.tree.nodes import Deferred, Node, Source, inside
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, ConstraintError, NotRegular
from explorer.languages.schema.text.sketch import Sketch
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
        except NotRegular:  # Its own remedy is true: no depth bounds what it names.
            raise
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
    below: list[Nfa] | None = None
    for _ in range(depth):
        rules = range(len(network.entry))
        below = [dfa_to_nfa(_of_rule(network, rule, below, meter)) for rule in rules]
    return _of_rule(network, 0, below, meter)


def _of_rule(network: Network, rule: int, below: list[Nfa] | None, meter: Meter) -> Dfa:
    """The machine of a rule, its calls replaced by the machines of the depth below.

    A call that ends the rule needs no stack: it goes to the start of the called rule.
    """
    sketch = Sketch(meter, stage=STAGE)
    number = {network.entry[rule]: sketch.state()}
    waiting = [network.entry[rule]]

    def numbered(state: int) -> int:
        if state not in number:
            number[state] = sketch.state()
            waiting.append(state)
        return number[state]

    classes = network.symbol_class
    runs = np.flatnonzero(np.diff(classes, prepend=-1)).tolist()
    ends = [*(begin - 1 for begin in runs[1:]), NUM_BYTES - 1]
    for state in waiting:  # The list grows while it is read.
        here = number[state]
        for low, high in zip(runs, ends, strict=True):
            target = network.arcs(state).get(int(classes[low]))
            if target is not None:
                sketch.interval(here, low, high, numbered(target))
        for callee, after in network.calls[state]:
            if network.only_exits[after]:
                sketch.epsilon(here, numbered(network.entry[callee]))
            elif below is not None:
                sketch.nfa(here, below[callee], numbered(after))
            elif network.arrays.empty[network.entry[callee]]:
                sketch.epsilon(here, numbered(after))
    return sketch.finish(0, [here for state, here in number.items() if network.exits[state]])
