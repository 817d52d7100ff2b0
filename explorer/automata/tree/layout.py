"""A tree becomes an NFA: Thompson's construction with few ε-arcs, over bytes or other symbols.

Every node is laid *between two states*: it adds arcs that leave the first and arcs that arrive
at the second, never the other way round. So a sequence is a chain, alternatives lie side by
side between the same two states, and only loops and optional parts need ε-arcs.

Bounded repeats are where an automaton can explode: ``(a{1,500}b){1,500}`` has 250,000 states. One
copy of the body is laid first; then the size of all copies is known, is compared with the
budget, and the copies are made as one array operation (`repeats`). Cost: about 0.5 µs per character
of an ordinary pattern.

The same code builds over another alphabet: a caller may say how a set of characters is written
(`lookaround` writes it as intervals of symbol classes) and which symbol an assertion is.

A node that only a machine can express (an intersection, a difference, a pattern with assertions)
is built first, by the function ``machine``, and its machine is laid between the two states.

With ``counters`` such a repeat is counted instead.
With ``with_origin`` each arc also remembers where it came from: which source, which span of its
text, so that a run of the NFA can be shown on the source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, cast

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.operations import dfa_to_nfa
from explorer.automata.machine import Dfa, Int32, Nfa
from explorer.automata.tree.charset import CharSet
from explorer.automata.tree.nodes import (
    Assertion,
    Branch,
    Call,
    Class,
    Closed,
    Concat,
    Deferred,
    Dot,
    Empty,
    Group,
    Leaf,
    Literal,
    Node,
    Outline,
    Repeat,
    Rules,
    Source,
    Texts,
    TokenLimit,
    Whole,
    Written,
)
from explorer.automata.tree.origin import Built, Origin
from explorer.automata.tree.repeats import COUNTED_FROM, Copies, Counters, flattened, joined
from explorer.automata.tree.utf8 import Arc, Fragment, utf8_fragment
from explorer.automata.tree.walking import width
from explorer.budget import Meter
from explorer.errors import ExplorerError

STAGE: Final = "Writing out the pattern as an automaton"

MANY: Final = 4096
"""The pieces of a sequence between two looks at the clock."""


def foreseen(node: Concat, write: Callable[[CharSet], Fragment], meter: Meter) -> tuple[int, int]:
    """The fewest states and arcs that a sequence takes: those of its leaves, each once."""
    states, arcs = len(node.items), 0
    for k, item in enumerate(node.items):
        if k % MANY == 0:
            meter.check_time(STAGE)
        leaf = item
        while isinstance(leaf, Group) or (isinstance(leaf, Repeat) and leaf.maximum != 0):
            leaf = leaf.body
        if isinstance(leaf, Literal | Class | Dot):
            fragment = write(leaf.chars)
            states += fragment.num_inner
            arcs += len(fragment.arcs)
    return states, arcs


_BYTES_PER_ARC: Final = 64
_BYTES_PER_STATE: Final = 32
_TILE_FROM: Final = 200
"""Copies of more arcs than this are made by numpy; below, a Python loop is quicker."""


def lay_out(
    root: Node,
    meter: Meter,
    *,
    num_symbols: int = NUM_BYTES,
    write: Callable[[CharSet], Fragment] = utf8_fragment,
    mark: Callable[[Assertion], int] | None = None,
    machine: Callable[[Node], Dfa] | None = None,
    with_origin: bool = False,
    relax_assertions: bool = False,
    counters: Counters | None = None,
    call: Callable[[Call | Rules], int] | None = None,
) -> Built:
    """The NFA of a node, over the 256 bytes or any other alphabet, from state 0 to state 1.

    Args:
        write: The machine of a set of characters in this alphabet.
        machine: Builds the nodes that must be machines first; over another alphabet also the texts
            of choices.
        relax_assertions: Read every assertion as if it always held: more texts than the pattern's.
        counters: Takes down what is counted and what is left for later; by default nothing is.
        call: The symbol of a call of a rule, and of a grammar inside; by default a grammar is one
            of the nodes that ``machine`` builds, and a call is refused.

    Raises:
        BudgetExceeded: The automaton would be too large.
        ExplorerError: There are assertions, and neither ``mark`` nor ``relax_assertions``.

    Example:
        >>> from explorer.languages.regex import parse
        >>> built = lay_out(parse("ab").root, Meter(), with_origin=True)
        >>> built.nfa.arcs.tolist()
        [[0, 97, 97, 2], [2, 98, 98, 1]]
        >>> [built.origins[k].start for k in built.arc_origin]
        [0, 1]
    """
    layout = _NfaLayout(
        meter, num_symbols, write, mark, machine, [] if with_origin else None, relax_assertions,
        counters, call,
    )  # fmt: skip
    layout.lay(root, 0, 1)
    return layout.built()


@dataclass(slots=True)
class _NfaLayout:
    """Arcs and ε-arcs so far: short pieces in lists, copies of long ones as arrays."""

    meter: Meter
    num_symbols: int
    write: Callable[[CharSet], Fragment]
    mark: Callable[[Assertion], int] | None
    builder: Callable[[Node], Dfa] | None
    origin: list[int] | None
    """Per arc the place of its origin in `origin_index`; ``None`` where nobody asks."""
    relax: bool
    counters: Counters | None
    call: Callable[[Call | Rules], int] | None

    num_states: int = 2
    num_block_arcs: int = 0
    arcs: list[Arc] = field(default_factory=list[Arc])
    arc_blocks: list[Int32] = field(default_factory=list[Int32])
    epsilons: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    epsilon_blocks: list[Int32] = field(default_factory=list[Int32])
    origin_blocks: list[Int32] = field(default_factory=list[Int32])
    origin_index: dict[tuple[int, bytes, str], tuple[int, Origin]] = field(
        default_factory=dict[tuple[int, bytes, str], tuple[int, Origin]]
    )
    source: Source | None = None
    label: str = ""
    # By the identity of what the tree holds: a repeat lays its body often.
    fragments: dict[int, Fragment] = field(default_factory=dict[int, Fragment])
    arc_of: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """Low and high, of the sets that are one arc."""
    outlines: dict[int, Outline] = field(default_factory=dict[int, Outline])
    machines: dict[int, Nfa] = field(default_factory=dict[int, Nfa])

    def built(self) -> Built:
        arcs = joined(self.arcs, self.arc_blocks, 4)
        epsilons = joined(self.epsilons, self.epsilon_blocks, 2)
        accepting = np.ones(1, np.int32)
        nfa = Nfa(self.num_states, 0, arcs, epsilons, accepting, self.num_symbols)
        self.meter.check(STAGE, states=self.num_states, arcs=len(arcs) + len(epsilons))
        if self.origin is None:
            return Built(nfa)
        # Blocks of arcs and of origins are added side by side, so their orders are the same.
        origins = tuple(origin for _, origin in self.origin_index.values())
        return Built(nfa, origins, self.origin_from(0, 0))

    def fresh(self) -> int:
        state = self.num_states
        self.num_states = state + 1
        return state

    # One method per kind of node: lay it between two states.

    def lay(self, node: Node, source: int, target: int) -> None:
        # The frequent kinds first, and by their types: `isinstance` takes its time where it fails.
        if type(node) is Repeat:
            self.repeat(*flattened(node), source, target)
        elif type(node) is Group:
            self.lay(node.body, source, target)
        elif type(node) is Concat:
            self.sequence(node, source, target)
        elif type(node) is Branch:
            for k, option in enumerate(node.options):
                if k % MANY == 0 and k:
                    self.announce(0, 0)
                self.lay(option, source, target)
        elif type(node) is Literal or type(node) is Class or type(node) is Dot:
            self.leaf(node, source, target)
        else:
            self.rare(node, source, target)

    def sequence(self, node: Concat, source: int, target: int) -> None:
        """Pieces one after the other."""
        if len(node.items) >= MANY:
            self.announce(*foreseen(node, self.write, self.meter))
        arc_of, append, plain = self.arc_of, self.arcs.append, self.origin is None
        for k, item in enumerate(node.items[:-1]):
            if k % MANY == 0 and k:
                self.announce(0, 0)
            state = self.num_states
            self.num_states = state + 1
            if type(item) is Literal and plain and (arc := arc_of.get(id(item.chars))):
                append((source, *arc, state))  # As `leaf` would.
            else:
                self.lay(item, source, state)
            source = state
        self.lay(node.items[-1], source, target)

    def rare(self, node: Node, source: int, target: int) -> None:
        """Lay a node of the kinds that a pattern has few of."""
        match node:
            case TokenLimit() if self.num_symbols == NUM_BYTES:  # It says nothing about texts.
                self.lay(node.body, source, target)
            case Empty():
                self.epsilons.append((source, target))
            case Written():
                self.written(node, source, target)
            case Texts() if self.num_symbols == NUM_BYTES:
                self.texts(node, source, target)
            case Whole():
                if self.relax:
                    self.lay(node.body, source, target)
                else:
                    self.closed(node, source, target)
            case Call() | Rules() if self.call is not None:
                self.called(self.call(node), node, source, target)
            case Call():
                raise ExplorerError("A call of a rule stands outside its grammar.")
            case Assertion():
                if self.mark is None:
                    if not self.relax:
                        raise ExplorerError(
                            "The pattern has assertions, which are not arcs of an NFA.",
                            remedy="Put the pattern into a Whole node, or lay it out with "
                            "relax_assertions=True.",
                        )
                    self.epsilons.append((source, target))
                else:
                    symbol = self.mark(node)
                    self.arcs.append((source, symbol, symbol, target))
                    if self.origin is not None:
                        self.origin.append(-1)
            case _:  # The frequent kinds do not come here.
                self.closed(cast("Closed", node), source, target)

    def leaf(self, leaf: Leaf, source: int, target: int) -> None:
        fragment = self.fragments.get(id(leaf.chars))
        if fragment is None:  # Hashing a set of characters takes longer than laying it.
            fragment = self.fragments[id(leaf.chars)] = self.write(leaf.chars)
            if fragment.num_inner == 0 and len(fragment.arcs) == 1:
                self.arc_of[id(leaf.chars)] = fragment.arcs[0][1:3]
        append = self.arcs.append
        if fragment.num_inner == 0:
            for _, low, high, _ in fragment.arcs:
                append((source, low, high, target))
            if self.origin is None:
                return
        elif fragment.rows is not None:
            rows = fragment.rows.copy()
            rows[:, 0] = np.where(rows[:, 0] == 0, source, rows[:, 0] + self.num_states - 2)
            rows[:, 3] = np.where(rows[:, 3] == 1, target, rows[:, 3] + self.num_states - 2)
            self.num_states += fragment.num_inner
            self.arc_blocks.append(rows)
            self.num_block_arcs += len(rows)
        else:
            # Fragment states 0 and 1 are the two given; the others come after all we have.
            shift = self.num_states - 2
            self.num_states += fragment.num_inner
            for start, low, high, end in fragment.arcs:
                begin = start + shift if start else source
                append((begin, low, high, end + shift if end != 1 else target))
        if self.origin is not None:
            index = self.origin_of(leaf)
            if fragment.rows is None:
                self.origin.extend([index] * len(fragment.arcs))
            else:
                self.origin_blocks.append(np.full(len(fragment.arcs), index, np.int32))

    def called(self, symbol: int, node: Call | Rules, source: int, target: int) -> None:
        """A call, as an arc over its symbol."""
        self.arcs.append((source, symbol, symbol, target))
        if self.origin is not None:
            self.origin.append(self.origin_of(node))

    def origin_of(self, node: Leaf | Texts | Closed | Call, before: bytes = b"") -> int:
        """The number of the origin of a node that is laid now."""
        key = (id(node), before, self.label)
        known = self.origin_index.get(key)
        if known is None:
            origin = Origin(node, self.source, self.label, before)
            known = self.origin_index[key] = (len(self.origin_index), origin)
        return known[0]

    def written(self, node: Written, source: int, target: int) -> None:
        outside = self.source, self.label
        self.source, self.label = node.source or self.source, node.label or self.label
        self.lay(node.body, source, target)
        self.source, self.label = outside

    def texts(self, node: Texts, source: int, target: int) -> None:
        """A prefix tree: its leaves are the target, and its inner ends lead there by ε."""
        words = sorted(text.encode() for text in node.texts)
        total = sum(map(len, words))
        self.announce(total, total)
        if self.origin is not None:  # Each origin holds what stands before it.
            held = sum(len(word) * len(word) // 2 for word in words)
            self.meter.check(STAGE, bytes=held)
        states: dict[tuple[int, int], int] = {}
        # In byte order a word that others go on from comes before them.
        for k, word in enumerate(words):
            if k % MANY == 0:
                self.meter.check_time(STAGE)
            goes_on = k + 1 < len(words) and words[k + 1].startswith(word)
            here = source
            for at, byte in enumerate(word):
                there = states.get((here, byte))
                if there is None:
                    last = at + 1 == len(word) and not goes_on
                    there = target if last else self.fresh()
                    if not last:
                        states[here, byte] = there
                    self.arcs.append((here, byte, byte, there))
                    if self.origin is not None:
                        self.origin.append(self.origin_of(node, word[:at]))
                here = there
            if goes_on or not word:
                self.epsilons.append((here, target))

    @property
    def may_outline(self) -> bool:
        """Whether the parts of an outline may be laid: nobody asks where they come from."""
        return self.origin is None and (self.counters is not None or self.builder is None)

    def outlined(self, outline: Outline, source: int, target: int) -> None:
        """An automaton with nodes for arcs."""
        shift = self.num_states
        self.between(outline.nfa, source, target)
        for before, part, after in outline.parts:
            self.lay(part, before + shift, after + shift)

    def between(self, nfa: Nfa, source: int, target: int) -> None:
        """The states and arcs of an NFA, between ε-arcs."""
        shift = self.num_states
        self.announce(nfa.num_states, len(nfa.arcs))
        self.num_states += nfa.num_states
        self.arc_blocks.append(nfa.arcs + np.array([shift, 0, 0, shift], np.int32))
        self.num_block_arcs += len(nfa.arcs)
        self.epsilons.append((source, nfa.start + shift))
        ends = np.column_stack([nfa.accepting + shift, np.full(len(nfa.accepting), target)])
        self.epsilon_blocks += [ends.astype(np.int32), nfa.epsilons + np.int32(shift)]

    def closed(self, node: Whole | Texts | Closed, source: int, target: int) -> None:
        """A node as its machine, between ε-arcs."""
        late = None if self.counters is None else self.counters.late
        if isinstance(node, Deferred) and node.is_late and self.may_outline and late is not None:
            late.append((self.fresh(), target, node))
            self.epsilons.append((source, late[-1][0]))
            return
        may_outline = self.may_outline or (isinstance(node, Deferred) and node.calls)
        if isinstance(node, Deferred) and node.outline is not None and may_outline:
            if id(node) not in self.outlines:
                self.outlines[id(node)] = node.outline(self.meter)
            self.outlined(self.outlines[id(node)], source, target)
            return
        nfa = self.machines.get(id(node))
        if nfa is None:
            if self.builder is None:
                raise ExplorerError("Nodes with machines of their own cannot be laid out here.")
            nfa = self.machines[id(node)] = dfa_to_nfa(self.builder(node))
        self.between(nfa, source, target)
        if self.origin is not None:
            # The assertions of a pattern are relaxed where origins are asked for.
            index = -1 if isinstance(node, Whole) else self.origin_of(node)
            self.origin_blocks.append(np.full(len(nfa.arcs), index, np.int32))

    def repeat(
        self, body: Node, minimum: int, maximum: int | None, source: int, target: int
    ) -> None:
        if maximum == 1:
            self.lay(body, source, target)
            if minimum == 0:
                self.epsilons.append((source, target))
        elif maximum == 0:
            self.epsilons.append((source, target))
        elif maximum is None and minimum == 0:
            # The loop needs a state of its own: an arc back into `source` would also serve
            # whatever else begins there.
            loop = self.fresh()
            self.epsilons += [(source, loop), (loop, target)]
            self.lay(body, loop, loop)
        elif maximum is None and minimum == 1:
            first, last = self.fresh(), self.fresh()
            self.epsilons += [(source, first), (last, first), (last, target)]
            self.lay(body, first, last)
        else:
            self.copies(body, minimum, maximum, source, target)

    def copies(
        self, body: Node, minimum: int, maximum: int | None, source: int, target: int
    ) -> None:
        """A chain of copies of the body, with ε-arcs to the target from the ``minimum``-th on."""
        if width(body)[1] == 0:
            # What reads nothing holds at a place or does not; to ask again changes nothing.
            if minimum:
                self.lay(body, source, target)
            else:
                self.epsilons.append((source, target))
            return
        count = minimum if maximum is None else maximum
        if self.counters is not None and count >= COUNTED_FROM:
            self.counted(self.counters, body, minimum, maximum, source, target)
            return
        # Cheapest possible body first: if even that is too large, stop before laying anything.
        self.announce(count, 0)
        arcs, blocks = len(self.arcs), len(self.arc_blocks)
        epsilons, epsilon_blocks = len(self.epsilons), len(self.epsilon_blocks)
        block_arcs = self.num_block_arcs
        first_end = self.fresh()
        states = self.num_states
        noted = 0 if self.counters is None else self.counters.noted
        self.lay(body, source, first_end)
        counting = self.counters is not None and self.counters.noted > noted
        size = len(self.arcs) - arcs + self.num_block_arcs - block_arcs
        inner = self.num_states - states
        self.announce((count - 1) * (inner + 1), (count - 1) * size)
        if counting or size * (count - 1) <= _TILE_FROM:  # Counters are not copied as arrays.
            chain = [source, first_end]
            for _ in range(count - 1):
                chain.append(self.fresh())
                self.lay(body, chain[-2], chain[-1])
            self.epsilons += [(state, target) for state in chain[minimum:]]
            if maximum is None:
                self.epsilons.append((chain[-1], chain[-2]))
            return
        numbers = np.arange(1, count, dtype=np.int64)
        copies = Copies(source, first_end, states, states + inner + (numbers - 1) * (inner + 1))
        chain_states = copies.chain
        self.num_states += (count - 1) * (inner + 1)
        origins = self.origin_from(arcs, blocks)
        rows = copies.rows(joined(self.arcs[arcs:], self.arc_blocks[blocks:], 4))
        self.arc_blocks.append(rows)
        self.num_block_arcs += len(rows)
        if origins is not None:
            self.origin_blocks.append(np.tile(origins, count - 1))
        empties = joined(self.epsilons[epsilons:], self.epsilon_blocks[epsilon_blocks:], 2)
        if len(empties):
            self.epsilon_blocks.append(copies.pairs(empties))
        leaving = chain_states[minimum:]
        exits = np.column_stack([leaving, np.full(len(leaving), target)])
        self.epsilon_blocks.append(exits.astype(np.int32))
        if maximum is None:
            self.epsilons.append((int(chain_states[-1]), int(chain_states[-2])))

    def counted(
        self, counters: Counters, body: Node, minimum: int, maximum: int | None, source: int,
        target: int,
    ) -> None:  # fmt: skip
        """One copy of the body, and a counter."""
        first = self.fresh()
        scope = counters.open(first, minimum, maximum)
        last = self.fresh()
        self.lay(body, first, last)
        counters.close(scope, self.num_states, (source, first, last, target))
        if minimum == 0:
            self.epsilons.append((source, target))

    def origin_from(self, arcs: int, blocks: int) -> Int32 | None:
        """The origins of the arcs laid since, in the order of the arcs."""
        if self.origin is None:
            return None
        recent = np.array(self.origin[arcs:], np.int32)
        return np.concatenate([recent, *self.origin_blocks[blocks:]]).astype(np.int32)

    def announce(self, states: int, arcs: int) -> None:
        """Compare the sizes that are about to be reached with the budget."""
        states += self.num_states
        arcs += len(self.arcs) + self.num_block_arcs
        held = states * _BYTES_PER_STATE + arcs * _BYTES_PER_ARC
        self.meter.check(STAGE, states=states, arcs=arcs, bytes=held)
