"""The program of a tree: Thompson's construction with few ε-arcs, over bytes or other symbols.

Every node is laid *between two states*: it adds arcs that leave the first and arcs that arrive
at the second, never the other way round. So a sequence is a chain, alternatives lie side by
side between the same two states, and only loops and optional parts need ε-arcs.

Bounded repeats are where an automaton can explode: ``(a{1,500}b){1,500}`` has 250,000 states. One
copy of the body is laid first; then the size of all copies is known, is compared with the
budget, and the copies are made as one array operation. Cost: about 0.5 µs per character of an
ordinary pattern. Nested repeats are multiplied first: ``(x{a,b}){c,d}`` is ``x{ac,bd}`` where the
counts leave no gap (`flattened`), so 500 copies of 500 copies are one repeat of a short body.

Options of the caller: count a long repeat instead of copying it, leave parts for later, keep calls
of rules as calls, and record the origin of each arc and call: a source and a span of its text, so
that a run of the program can be shown on the source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.operations import dfa_to_nfa
from explorer.automata.machine import Dfa
from explorer.automata.program import AGAIN, ENTER, LEAVE, Int32, LatePart, Program, Scope
from explorer.automata.tree.charset import CharSet, Fragment, utf8_fragment
from explorer.automata.tree.nodes import (
    MAX_REPEAT,
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
    Origin,
    Outline,
    Remembered,
    Repeat,
    Rules,
    Source,
    Texts,
    TokenLimit,
    Whole,
    Written,
)
from explorer.budget import Meter
from explorer.errors import REPORT_IT, ExplorerError

STAGE: Final = "Writing out the pattern as an automaton"

_MANY: Final = 4096
"""The number of pieces of a sequence between two looks at the clock."""

COUNTED_FROM: Final = 9
"""The number of copies from which a repeat is counted; fewer copies are faster written out."""

_BYTES_PER_ARC: Final = 64
_BYTES_PER_STATE: Final = 32
_TILE_FROM: Final = 200
"""The number of arcs above which numpy copies them faster than a Python loop."""


@dataclass(frozen=True, slots=True)
class Symbols:
    """The alphabet of a program: how it writes a set of characters, and an assertion."""

    count: int = NUM_BYTES
    write: Callable[[CharSet], Fragment] = utf8_fragment
    mark: Callable[[Assertion], int] | None = None


BYTES: Final = Symbols()


def lay_out(
    root: Node,
    meter: Meter,
    *,
    symbols: Symbols = BYTES,
    machine: Callable[[Node], Dfa] | None = None,
    with_origin: bool = False,
    relax_assertions: bool = False,
    late: bool = False,
    call: Callable[[Call | Rules], int] | None = None,
) -> Program:
    """The program of a node, from state 0 to state 1.

    Args:
        machine: Builds the nodes that only a machine can express (an intersection, a pattern with
            assertions), which is laid between the two states; over another alphabet also texts.
        relax_assertions: Read every assertion as if it always held: more texts than the pattern's.
        late: Whether to count long repeats, and to leave parts that may wait for later.
        call: The rule that is called, by its number, and the one of a grammar inside; by default a
            grammar is one of the nodes that ``machine`` builds, and a call is refused.

    Raises:
        BudgetExceeded: The program would be too large.
        ExplorerError: The pattern has an assertion, and assertions are not relaxed.

    Example:
        >>> from explorer.languages.regex import parse
        >>> laid = lay_out(parse("ab").root, Meter(), with_origin=True)
        >>> laid.arcs.tolist()
        [[0, 97, 97, 2], [2, 98, 98, 1]]
        >>> [laid.origins[k].start for k in laid.arc_origin]
        [0, 1]
    """
    layout = ProgramLayout(
        meter, symbols, machine, with_origin, relax_assertions, late,
        [] if late else None, call,
    )  # fmt: skip
    layout.rule("", root)
    return layout.program()


@dataclass(slots=True)
class ProgramLayout:
    """A program under construction; the arguments are those of `lay_out`."""

    meter: Meter
    symbols: Symbols = BYTES
    builder: Callable[[Node], Dfa] | None = None
    with_origin: bool = False
    relax: bool = False
    counts: bool = False
    late: list[LatePart] | None = None
    call: Callable[[Call | Rules], int] | None = None

    rules: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    num_states: int = 0
    arcs: _GrowingRows = field(default_factory=lambda: _GrowingRows(4))
    epsilons: _GrowingRows = field(default_factory=lambda: _GrowingRows(2))
    calls: _GrowingRows = field(default_factory=lambda: _GrowingRows(3))
    counting: _GrowingRows = field(default_factory=lambda: _GrowingRows(4))
    scopes: list[Scope] = field(default_factory=list[Scope])
    scope: int = -1
    """The current scope; −1 outside all."""

    arc_origins: _GrowingRows = field(default_factory=lambda: _GrowingRows(1))
    call_origins: _GrowingRows = field(default_factory=lambda: _GrowingRows(1))
    origins: list[Origin] = field(default_factory=list[Origin])
    origin_index: dict[tuple[object, ...], int] = field(
        default_factory=dict[tuple[object, ...], int]
    )
    whole: int | None = None
    """The one origin of all arcs added now, for rules that are in no source."""
    source: Source | None = None
    label: str = ""
    phases: tuple[str, ...] = ()
    # By the identity of the tree's objects: a repeat lays its body many times.
    fragments: dict[int, Fragment] = field(default_factory=dict[int, Fragment])
    arc_of: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """The lowest and the highest symbol of each set that is one arc."""
    outlines: dict[int, Outline] = field(default_factory=dict[int, Outline])
    machines: dict[int, Program] = field(default_factory=dict[int, Program])

    def rule(self, name: str, body: Node) -> None:
        """Lay out one more rule, from its first state to its second."""
        self.rules.append((name, self.num_states))
        self.origin_index.clear()  # The places of a rule are its own.
        start, end = self.fresh(), self.fresh()
        self._lay(body, start, end)

    def program(self) -> Program:
        """The program that was laid out."""
        arcs, epsilons, calls = self.arcs.since(), self.epsilons.since(), self.calls.since()
        given = len(arcs) + len(epsilons) + len(calls)
        self.meter.check(STAGE, states=self.num_states, arcs=given)
        ends = np.array([start + 1 for _, start in self.rules], np.int32)
        # Arcs and their origins are added side by side, so their orders are the same.
        return Program(
            self.num_states, 0, arcs, epsilons, ends, self.symbols.count, self.counting.since(),
            tuple(self.scopes), calls, tuple(self.late or ()), tuple(self.rules),
            tuple(self.origins), self.arc_origins.since()[:, 0] if self.with_origin else None,
            self.call_origins.since()[:, 0] if self.with_origin else None,
        )  # fmt: skip

    def fresh(self) -> int:
        """A new state."""
        state = self.num_states
        self.num_states = state + 1
        return state

    # One method per kind of node; each lays it out between two states.

    def _lay(self, node: Node, source: int, target: int) -> None:
        # The frequent kinds first, and by type: a failing `isinstance` is slow.
        if type(node) is Repeat:
            self._repeat(*flattened(node), source, target)
        elif type(node) is Group:
            self._lay(node.body, source, target)
        elif type(node) is Concat:
            self.sequence(node, source, target)
        elif type(node) is Branch:
            for k, option in enumerate(node.options):
                if k % _MANY == 0 and k:
                    self.announce(0, 0)
                self._lay(option, source, target)
        elif type(node) is Literal or type(node) is Class or type(node) is Dot:
            self._leaf(node, source, target)
        else:
            self.rare(node, source, target)

    def sequence(self, node: Concat, source: int, target: int) -> None:
        """Lay out pieces one after the other."""
        if len(node.items) >= _MANY:
            self.announce(*_foreseen(node, self.symbols.write, lambda: self.announce(0, 0)))
        arc_of, append, plain = self.arc_of, self.arcs.rows.append, not self.with_origin
        for k, item in enumerate(node.items[:-1]):
            if k % _MANY == 0 and k:
                self.announce(0, 0)
            state = self.num_states
            self.num_states = state + 1
            if type(item) is Literal and plain and (arc := arc_of.get(id(item.chars))):
                append((source, *arc, state))  # As `leaf` would.
            else:
                self._lay(item, source, state)
            source = state
        self._lay(node.items[-1], source, target)

    def rare(self, node: Node, source: int, target: int) -> None:
        """Lay out a node of a rare kind."""
        match node:
            case TokenLimit() if (
                self.symbols.count == NUM_BYTES
            ):  # A limit on tokens does not limit texts.
                self._lay(node.body, source, target)
            case Empty():
                self.epsilons.rows.append((source, target))
            case Written():
                self._written(node, source, target)
            case Remembered() if self.with_origin:
                self._lay(node.body, source, target)
            case Texts() if self.symbols.count == NUM_BYTES:
                self.texts(node, source, target)
            case Whole():
                if self.relax:
                    self._lay(node.body, source, target)
                else:
                    self.closed(node, source, target)
            case Call() | Rules() if self.call is not None:
                self.calls.rows.append((source, self.call(node), target))
                if self.with_origin:
                    self.call_origins.rows.append((self.origin_of(node),))
            case Deferred() if (
                self.call is not None
                and self.late is None
                and node.rules
                and (rules := node.rules())
            ):
                self.rare(rules, source, target)
            case Call():
                raise ExplorerError(
                    "A call of a rule stands outside its grammar.", remedy=REPORT_IT
                )
            case Assertion():
                if self.symbols.mark is None:
                    if not self.relax:
                        raise ExplorerError(
                            "The pattern has assertions, which are not arcs of an NFA.",
                            remedy="Put the pattern into a Whole node, or relax them.",
                        )
                    self.epsilons.rows.append((source, target))
                else:
                    symbol = self.symbols.mark(node)
                    self.arcs.rows.append((source, symbol, symbol, target))
                    if self.with_origin:
                        self.arc_origins.rows.append((-1,))
            case _:  # The frequent kinds do not come here.
                self.closed(cast("Closed", node), source, target)

    def _leaf(self, leaf: Leaf, source: int, target: int) -> None:
        fragment = self.fragments.get(id(leaf.chars))
        if fragment is None:  # Hashing a set of characters takes longer than laying it.
            fragment = self.fragments[id(leaf.chars)] = self.symbols.write(leaf.chars)
            if fragment.num_inner == 0 and len(fragment.arcs) == 1:
                self.arc_of[id(leaf.chars)] = fragment.arcs[0][1:3]
        append = self.arcs.rows.append
        if fragment.num_inner == 0:
            for _, low, high, _ in fragment.arcs:
                append((source, low, high, target))
            if not self.with_origin:
                return
        elif fragment.rows is not None:
            rows = fragment.rows.copy()
            rows[:, 0] = np.where(rows[:, 0] == 0, source, rows[:, 0] + self.num_states - 2)
            rows[:, 3] = np.where(rows[:, 3] == 1, target, rows[:, 3] + self.num_states - 2)
            self.num_states += fragment.num_inner
            self.arcs.add(rows)
        else:
            # Fragment states 0 and 1 are the two given; the others come after all we have.
            shift = self.num_states - 2
            self.num_states += fragment.num_inner
            for start, low, high, end in fragment.arcs:
                begin = start + shift if start else source
                append((begin, low, high, end + shift if end != 1 else target))
        if self.with_origin:
            index = self.origin_of(leaf)
            if fragment.rows is None:
                self.arc_origins.rows.extend([(index,)] * len(fragment.arcs))
            else:
                self.arc_origins.add(np.full((len(fragment.arcs), 1), index, np.int32))

    def origin_of(self, node: Leaf | Texts | Closed | Call, before: bytes = b"") -> int:
        """The number of the origin of the current node."""
        if self.whole is not None:
            return self.whole
        key = (id(node), before, self.label, self.phases)
        number = self.origin_index.get(key)
        if number is None:
            number = self.origin_index[key] = len(self.origins)
            self.origins.append(Origin(node, self.source, self.label, before, self.phases))
        return number

    def _written(self, node: Written, source: int, target: int) -> None:
        outside = self.source, self.label, self.phases
        self.source, self.label = node.source or self.source, node.label or self.label
        if node.part is not None:
            self.phases = (*self.phases, *node.part.phases)
        self._lay(node.body, source, target)
        self.source, self.label, self.phases = outside

    def texts(self, node: Texts, source: int, target: int) -> None:
        """Lay out texts as a prefix tree; a leaf is the target, an inner end has an ε-arc to it."""
        words = sorted(text.encode() for text in node.texts)
        total = sum(map(len, words))
        self.announce(total, total)
        if self.with_origin:  # Each origin holds what stands before it.
            held = sum(len(word) * len(word) // 2 for word in words)
            self.meter.check(STAGE, bytes=held)
        states: dict[tuple[int, int], int] = {}
        # In byte order a prefix comes before the words that extend it.
        for k, word in enumerate(words):
            if k % _MANY == 0:
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
                    self.arcs.rows.append((here, byte, byte, there))
                    if self.with_origin:
                        self.arc_origins.rows.append((self.origin_of(node, word[:at]),))
                here = there
            if goes_on or not word:
                self.epsilons.rows.append((here, target))

    def outlined(self, outline: Outline, source: int, target: int) -> None:
        """Lay out an automaton whose arcs are nodes."""
        nfa, shift = outline.nfa, self.num_states
        if (shift, source, target) == (2, 0, 1) and (nfa.start, *nfa.accepting.tolist()) == (0, 1):
            shift = 0  # Nothing was laid, so its states are those of the program.
            self.announce(nfa.num_states, len(nfa.arcs))
            self.num_states = nfa.num_states
            self.arcs.add(nfa.arcs)
            self.epsilons.add(nfa.epsilons)
        else:
            self.between(nfa, source, target)
        for before, part, after in outline.parts:
            self._lay(part, before + shift, after + shift)

    def between(self, nfa: Program, source: int, target: int) -> None:
        """Add the states and arcs of an NFA, between ε-arcs."""
        shift = self.num_states
        self.announce(nfa.num_states, len(nfa.arcs))
        self.num_states += nfa.num_states
        self.arcs.add(nfa.arcs + np.array([shift, 0, 0, shift], np.int32))
        self.epsilons.rows.append((source, nfa.start + shift))
        self.epsilons.rows += [(end + shift, target) for end in nfa.accepting.tolist()]
        self.epsilons.add(nfa.epsilons + np.int32(shift))

    def closed(self, node: Whole | Texts | Closed, source: int, target: int) -> None:
        """Lay out a node as its machine, between ε-arcs."""
        # The parts of an outline have no origins.
        may_outline = not self.with_origin and (self.counts or self.builder is None)
        late = self.late if may_outline else None
        if isinstance(node, Deferred) and node.is_late and late is not None:
            late.append((self.fresh(), target, node))
            self.epsilons.rows.append((source, late[-1][0]))
            return
        may_outline |= isinstance(node, Deferred) and node.calls
        if isinstance(node, Deferred) and node.outline is not None and may_outline:
            if id(node) not in self.outlines:
                self.outlines[id(node)] = node.outline(self.meter)
            if self.with_origin:  # Its parts lay theirs out themselves.
                self.arc_origins.add(self._origins(node, len(self.outlines[id(node)].nfa.arcs)))
            self.outlined(self.outlines[id(node)], source, target)
            return
        nfa = self.machines.get(id(node))
        if nfa is None:
            if self.builder is None:
                raise ExplorerError(
                    "Nodes with machines of their own cannot be laid out here.", remedy=REPORT_IT
                )
            nfa = self.machines[id(node)] = dfa_to_nfa(self.builder(node))
        self.between(nfa, source, target)
        if self.with_origin:
            self.arc_origins.add(self._origins(node, len(nfa.arcs)))

    def _origins(self, node: Whole | Texts | Closed, count: int) -> Int32:
        """The origin of the arcs of a node that is laid out as a machine."""
        # With origins, the assertions of a pattern are relaxed.
        written = self.whole is not None or not isinstance(node, Whole)
        index = self.origin_of(cast("Closed", node)) if written else -1
        return np.full((count, 1), index, np.int32)

    def _repeat(
        self, body: Node, minimum: int, maximum: int | None, source: int, target: int
    ) -> None:
        if maximum == 1:
            self._lay(body, source, target)
            if minimum == 0:
                self.epsilons.rows.append((source, target))
        elif maximum == 0:
            self.epsilons.rows.append((source, target))
        elif maximum is None and minimum == 0:
            # The loop needs a state of its own: an arc back into `source` would also serve
            # whatever else begins there.
            loop = self.fresh()
            self.epsilons.rows += [(source, loop), (loop, target)]
            self._lay(body, loop, loop)
        elif maximum is None and minimum == 1:
            first, last = self.fresh(), self.fresh()
            self.epsilons.rows += [(source, first), (last, first), (last, target)]
            self._lay(body, first, last)
        else:
            self.copies(body, minimum, maximum, source, target)

    def copies(
        self, body: Node, minimum: int, maximum: int | None, source: int, target: int
    ) -> None:
        """Lay out a chain of copies with ε-arcs to the target from the ``minimum``-th copy on."""
        if width(body)[1] == 0:
            # A body that reads nothing either holds at a place or not; repetition changes nothing.
            if minimum:
                self._lay(body, source, target)
            else:
                self.epsilons.rows.append((source, target))
            return
        count = minimum if maximum is None else maximum
        if self.counts and count >= COUNTED_FROM:
            self.counted(body, minimum, maximum, source, target)
            return
        # Assume the smallest body first: if that is too large already, stop before any work.
        self.announce(count, 0)
        grown = self.arcs, self.epsilons, self.calls
        ends, before = [rows.end for rows in grown], len(self.arcs) + len(self.calls)
        origins = self.arc_origins.end, self.call_origins.end
        noted = len(self.scopes), len(self.late or ())
        first_end = self.fresh()
        states = self.num_states
        self._lay(body, source, first_end)
        size = len(self.arcs) + len(self.calls) - before
        inner = self.num_states - states
        self.announce((count - 1) * (inner + 1), (count - 1) * size)
        # Counters and late parts cannot be copied as arrays.
        by_hand = noted != (len(self.scopes), len(self.late or ()))
        if by_hand or size * (count - 1) <= _TILE_FROM:
            chain = [source, first_end]
            for _ in range(count - 1):
                chain.append(self.fresh())
                self._lay(body, chain[-2], chain[-1])
            self.epsilons.rows += [(state, target) for state in chain[minimum:]]
            if maximum is None:
                self.epsilons.rows.append((chain[-1], chain[-2]))
            return
        numbers = np.arange(1, count, dtype=np.int64)
        copies = _Copies(source, first_end, states, states + inner + (numbers - 1) * (inner + 1))
        self.num_states += (count - 1) * (inner + 1)
        for rows, end in zip(grown, ends, strict=True):
            rows.add(copies.rows(rows.since(end)))
        for rows, end in zip((self.arc_origins, self.call_origins), origins, strict=True):
            rows.add(np.tile(rows.since(end), (count - 1, 1)))
        leaving = copies.chain[minimum:]
        exits = np.column_stack([leaving, np.full(len(leaving), target)])
        self.epsilons.add(exits.astype(np.int32))
        if maximum is None:
            self.epsilons.rows.append((int(copies.chain[-1]), int(copies.chain[-2])))

    def counted(
        self, body: Node, minimum: int, maximum: int | None, source: int, target: int
    ) -> None:
        """Lay out one copy of the body, with a counter."""
        first = self.fresh()
        number, around = len(self.scopes), self.scope
        size = max(minimum, 1) if maximum is None else maximum
        scope = Scope(first, first, around, size, minimum, maximum is None)
        self.scopes.append(scope)
        self.scope = number
        last = self.fresh()
        self._lay(body, first, last)
        self.scopes[number] = replace(scope, end=self.num_states)
        self.scope = around
        self.counting.rows += [
            (source, first, ENTER, number), (last, first, AGAIN, number),
            (last, target, LEAVE, number),
        ]  # fmt: skip
        if minimum == 0:
            self.epsilons.rows.append((source, target))

    def announce(self, states: int, arcs: int) -> None:
        """Check the sizes to be reached next against the budget."""
        states += self.num_states
        arcs += len(self.arcs) + len(self.calls)
        held = states * _BYTES_PER_STATE + arcs * _BYTES_PER_ARC
        self.meter.check(STAGE, states=states, arcs=arcs, bytes=held)


@dataclass(frozen=True, slots=True)
class _Copies:
    """The numbers of the states in copies of a body.

    Args:
        states: The first state inside of it; those inside follow each other.
        ends: int64[copies], where each copy ends; the states inside of it follow.
    """

    source: int
    first_end: int
    states: int
    ends: NDArray[np.int64]

    @property
    def chain(self) -> NDArray[np.int64]:
        """int64[copies + 2], the start of the body, its end, and the end of each copy."""
        return np.concatenate([[self.source, self.first_end], self.ends])

    def rows(self, rows: Int32) -> Int32:
        """The arcs, moves or calls of all copies, from those of the body; the first and the last
        number of a row are states."""
        width = rows.shape[1]
        copied = np.empty((len(self.ends), len(rows), width), np.int32)
        copied[:, :, 0] = self._renamed(rows[:, 0])
        copied[:, :, 1:-1] = rows[None, :, 1:-1]
        copied[:, :, -1] = self._renamed(rows[:, -1])
        return copied.reshape(-1, width)

    def _renamed(self, old: Int32) -> NDArray[np.int64]:
        wide = old.astype(np.int64)[None, :]
        new = wide + (self.ends + 1 - self.states)[:, None]
        new = np.where(wide == self.source, self.chain[1:-1, None], new)
        return np.where(wide == self.first_end, self.ends[:, None], new)


class _GrowingRows:
    """A growing table of numbers: single rows in a list, blocks of rows as arrays.

    Args:
        width: The numbers in a row.
    """

    __slots__ = ("blocks", "in_blocks", "rows", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows: list[tuple[int, ...]] = []
        self.blocks: list[Int32] = []
        self.in_blocks = 0

    def __len__(self) -> int:
        return len(self.rows) + self.in_blocks

    def add(self, block: Int32) -> None:
        """Add an array of rows."""
        self.blocks.append(block)
        self.in_blocks += len(block)

    @property
    def end(self) -> tuple[int, int]:
        """The current end of the rows, an argument for `since`."""
        return len(self.rows), len(self.blocks)

    def since(self, place: tuple[int, int] = (0, 0)) -> Int32:
        """The rows from a place on: int32[rows, width]."""
        rows, blocks = self.rows[place[0] :], self.blocks[place[1] :]
        if len(blocks) == 1 and not rows:
            return blocks[0]
        # One flat iterator: given rows, numpy would first inspect the length and type of each.
        numbers = np.fromiter(chain.from_iterable(rows), np.int32, self.width * len(rows))
        first = numbers.reshape(-1, self.width)
        return np.concatenate([first, *blocks]) if blocks else first


def flattened(node: Repeat) -> tuple[Node, int, int | None]:
    """Body, minimum and maximum of a repeat, with nested repeats multiplied where that is exact.

    ``(x{a,b}){c,d}`` reads ``k·a`` to ``k·b`` copies for some ``k`` in ``c .. d``. Those intervals
    leave no gap if the first two touch, because the later ones overlap more.

    Example:
        >>> from explorer.languages.regex import parse
        >>> flattened(parse("(x{1,500}){1,500}").root)[1:]
        (1, 250000)
        >>> flattened(parse("(x{2}){0,3}").root)[1:]  # Only 0, 2, 4 and 6: left as it is.
        (0, 3)
    """
    body, low, high = node.body, node.minimum, node.maximum
    while True:
        inner = body
        while isinstance(inner, Group):
            inner = inner.body
        if not isinstance(inner, Repeat):
            return body, low, high
        a, b = inner.minimum, inner.maximum
        if high == 0:
            return inner.body, 0, 0
        # No gap between low and low + 1 repetitions; a single count has none.
        endless_from_first = b is None and low > 0
        touching = low * (b or 0) + 1 >= (low + 1) * a
        if not (low == high or endless_from_first or touching):
            return body, low, high
        endless = b != 0 if high is None else b is None
        body, low, high = inner.body, low * a, None if endless else (high or 0) * (b or 0)


_UNLIMITED: Final = 2**64


def width(node: Node) -> tuple[int, int]:
    """The fewest and the most characters that a node can take, as `re` counts them.

    It decides whether a lookbehind is legal: `re` steps back a fixed number of characters, so it
    demands that all matches of a lookbehind have one length. The automata need no such rule; it is
    kept because the syntax is Python's.

    Returns:
        Two lengths in characters; 2**64 stands for no limit.
    """
    match node:
        case Empty() | Assertion():
            return 0, 0
        case Group() | Whole() | Written() | TokenLimit():
            return width(node.body)
        case Texts():
            lengths = [len(text) for text in node.texts]
            return min(lengths, default=0), max(lengths, default=0)
        case Literal() | Class() | Dot():
            return 1, 1
        case Concat():
            widths = [width(item) for item in node.items]
            fewest, most = sum(low for low, _ in widths), sum(high for _, high in widths)
        case Branch():
            widths = [width(option) for option in node.options]
            fewest, most = min(low for low, _ in widths), max(high for _, high in widths)
        case Repeat():
            low, high = width(node.body)
            fewest = low * node.minimum
            if node.maximum is None and high:
                most = _UNLIMITED
            else:
                most = high * (MAX_REPEAT if node.maximum is None else node.maximum)
        case _:
            return 0, _UNLIMITED  # Not worked out.
    return min(fewest, _UNLIMITED), min(most, _UNLIMITED)


def _foreseen(
    node: Concat, write: Callable[[CharSet], Fragment], look: Callable[[], None]
) -> tuple[int, int]:
    """A lower bound for the states and arcs of a sequence: those of its leaves, each once.

    Args:
        look: Called at regular intervals, to check the time.
    """
    states, arcs = len(node.items), 0
    for k, item in enumerate(node.items):
        if k % _MANY == 0:
            look()
        leaf = item
        while isinstance(leaf, Group) or (isinstance(leaf, Repeat) and leaf.maximum != 0):
            leaf = leaf.body
        if isinstance(leaf, Literal | Class | Dot):
            fragment = write(leaf.chars)
            states += fragment.num_inner
            arcs += len(fragment.arcs)
    return states, arcs
