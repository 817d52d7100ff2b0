"""A source as it was written, as one program, and its configuration after a text: what may be read
next, where that was written, and which rules are open.

A machine that decides does not know where its arcs came from: it was minimized, and its rules were
merged. So the tree of the source is laid out once more as it was written. Each rule of a grammar is
an automaton of its own, and whatever stands around a grammar is the rule 0, which has no name; a
pattern is a program of that one rule. A state has arcs that read bytes, moves that read nothing (of
a counted repeat with what they do to its counter) and calls of rules. An arc has an *origin*: a
literal, class or dot with its span in the text of the source that it was written in; a character of
one of the texts of a choice; a call; or a whole part, for parts that are machines of their own (an
imported machine, or an intersection, difference or complement inside a sequence).

States that cannot reach the end of their rule are taken out, so that without assertions every
configuration can be finished. Assertions are read as if they held; the caller keeps only places
that agree with the exact machine.

A program is read by Earley's algorithm (1970): an *item* is a point inside a rule, the place in the
text where that rule was begun, and the first way to the point. The items after a text are its
configuration. The origins of the arcs that leave it give the *places* at which the source goes on,
the items that wait for others give the *stack*, and the ways to them give one derivation of the
text, for any grammar (`explorer.languages.written.derivation`). A pattern is a program of one rule
that no rule calls, so its configurations are sets of points: they are few, and each is worked out
once.

As in the machine, a rule is begun only if the next byte can begin it: after ``(`` in
``E → ( E )`` no inner E is open yet. So the pending calls of the innermost rule are the stack of a
push-down automaton, one symbol for each, the innermost first.

The configurations of some thousands of texts are kept for the next text, which usually begins in
the same way.

Cost: laying out as in `explorer.automata.tree.layout`; a state is looked at when a text first comes
to it. Some tens of microseconds in Python for each byte that was not read before; a list by right
recursion, in which every element ends all elements before it, costs the square of its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from explorer.alphabet import NUM_BYTES, TOKEN_END
from explorer.automata.machine import NO_ARC, Dfa
from explorer.automata.program import PLAIN, Int32
from explorer.automata.rules.pieces import alive, lay_rules
from explorer.automata.tree.nodes import Node, Origin, TokenPiece
from explorer.budget import Budget, Meter

AROUND: Final = 0
"""The number of the rule around everything."""

Point = tuple[int, int]
"""A state, and the counts of the counted repeats that it stands in, as one number."""


@dataclass(frozen=True, slots=True)
class Moves:
    """The moves from a point, after all moves that read nothing have been followed.

    Args:
        reads: Rows ``(lowest, highest, point after, origin)`` over bytes.
        calls: Rows ``(rule, point after, origin)``.
    """

    reads: tuple[tuple[int, int, Point, Origin | None], ...]
    calls: tuple[tuple[int, Point, Origin | None], ...]
    ends: bool


class WrittenProgram:
    """A tree as a program whose arcs know their origin.

    Args:
        node: The tree: a pattern, a grammar, or anything with grammars inside.
        machine: Builds the parts that are machines of their own; by default each is built anew.

    Raises:
        BudgetExceeded: It would be too large.
        NotRegular: A recursive grammar stands inside a part that needs a closed form.

    Attributes:
        names: The name of each rule; empty for what stands around a grammar.
        entry: The point at which each rule begins.
        begins: The bytes that each rule can begin with, as `first` gives them.
        may_be_empty: Whether each rule has the empty word.
        is_empty: Whether there is no text.
    """

    def __init__(
        self, node: Node, meter: Meter, machine: Callable[[Node], Dfa] | None = None
    ) -> None:
        program = lay_rules(node, meter, written=True, machine=machine)
        able, entries = alive(program), [first for _, first in program.rules]
        self.names = tuple(name for name, _ in program.rules)
        self.entry: tuple[Point, ...] = tuple((first, 0) for first in entries)
        self.is_empty = not able[entries[AROUND]]
        self._rule_of: list[int] = program.rule_of.tolist()
        self._ends: list[int] = program.accepting.tolist()
        self._origins: tuple[Origin, ...] = program.origins
        self._order = {id(each): number for number, each in enumerate(self._origins)}
        self._scopes = program.scopes
        arcs, origin = program.arcs, program.arc_origin
        kept = able[arcs[:, 3]] & able[arcs[:, 0]]
        order = np.flatnonzero(kept)[np.argsort(arcs[kept, 0], kind="stable")]
        self._arcs: Int32 = arcs[order]
        self._arc_origin: Int32 = np.zeros(0, np.int32) if origin is None else origin[order]
        first = np.searchsorted(self._arcs[:, 0], np.arange(program.num_states + 1))
        self._row_of: list[int] = first.tolist()
        moves: list[list[int]] = program.counts.tolist()
        moves += [[tail, head, PLAIN, -1] for tail, head in program.epsilons.tolist()]
        self._silent: dict[int, list[tuple[int, int, int]]] = {}
        for tail, head, action, scope in moves:
            if able[head]:
                self._silent.setdefault(tail, []).append((head, action, scope))
        called: list[list[int]] = program.calls.tolist()
        written: list[int] = [] if program.call_origin is None else program.call_origin.tolist()
        self._calls: dict[int, list[tuple[int, int, int]]] = {}
        for (tail, rule, after), of in zip(called, written, strict=True):
            if able[after] and able[entries[rule]]:
                self._calls.setdefault(tail, []).append((rule, after, of))
        self._inside = self._inside_one_token()
        self._moves: dict[Point, Moves] = {}
        self._ahead: dict[Point, tuple[int, bool]] = {}
        self.may_be_empty: list[bool] = []
        self.begins: list[int] = []
        self._look_into_rules()

    def rule(self, point: Point) -> int:
        """The number of the rule that a point is in."""
        return self._rule_of[point[0]]

    def order(self, origin: Origin) -> int:
        """The place of an origin in the order of the tree."""
        return self._order[id(origin)]

    def inside_token(self, point: Point) -> bool:
        """Whether the point is inside a terminal that is one token by itself."""
        return point[0] in self._inside

    def between_tokens(self, point: Point) -> tuple[Point, ...]:
        """The points at which a token may begin, without another byte: the point itself, or those
        after the terminal that it is in."""
        if not self.inside_token(point):
            return (point,)
        return tuple(sorted(each for each in self._near(point) if not self.inside_token(each)))

    def moves(self, point: Point) -> Moves:
        """The reads and calls of a point, and whether its rule may end there."""
        known = self._moves.get(point)
        if known is None:
            known = self._moves[point] = self._moves_of(point)
        return known

    def _moves_of(self, point: Point) -> Moves:
        reads: list[tuple[int, int, Point, Origin | None]] = []
        calls: list[tuple[int, Point, Origin | None]] = []
        near = self._near(point)
        for state, counts in sorted(near):
            rows = slice(self._row_of[state], self._row_of[state + 1])
            arcs: list[list[int]] = self._arcs[rows].tolist()
            origins: list[int] = self._arc_origin[rows].tolist()
            for (_, low, high, target), of in zip(arcs, origins, strict=True):
                reads.append((low, high, (target, counts), self._origin(of)))
            for rule, after, of in self._calls.get(state, ()):
                calls.append((rule, (after, counts), self._origin(of)))
        return Moves(tuple(reads), tuple(calls), (self._ends[self.rule(point)], 0) in near)

    def _origin(self, number: int) -> Origin | None:
        return self._origins[number] if number >= 0 else None

    def _near(self, point: Point) -> set[Point]:
        """The points that are reached from a point without reading."""
        near = {point}
        waiting = [point]
        while waiting:
            state, counts = waiting.pop()
            for target, action, scope in self._silent.get(state, ()):
                after = counts if action == PLAIN else self._scopes[scope].after(action, counts)
                if after is not None and (target, after) not in near:
                    near.add((target, after))
                    waiting.append((target, after))
        return near

    # The bytes that can come next before the rule ends.

    def first(self, point: Point) -> int:
        """The bytes that the rule can go on with, calls included: bit b for byte b."""
        return self._looked(point)[0]

    def may_end(self, point: Point) -> bool:
        """Whether the rule may end without another byte."""
        return self._looked(point)[1]

    def must_end(self, points: Iterable[Point]) -> bool:
        """Whether a rule can only end at its points."""
        return all(self.may_end(point) and not self.first(point) for point in points)

    def _looked(self, point: Point) -> tuple[int, bool]:
        known = self._ahead.get(point)
        if known is None:
            bits, rules, ends = self._look(point)
            for rule in rules:
                bits |= self.begins[rule]
            known = self._ahead[point] = bits, ends
        return known

    def _look(self, point: Point) -> tuple[int, set[int], bool]:
        """The bytes that are read here, the rules that are called, and whether the rule may end."""
        bits, rules, ends = 0, set[int](), False
        seen = {point}
        for here in (waiting := [point]):  # The list grows while it is read.
            moves = self.moves(here)
            ends |= moves.ends
            for low, high, _, _ in moves.reads:
                bits |= (1 << high + 1) - (1 << low)
            for rule, after, _ in moves.calls:
                rules.add(rule)
                if self.may_be_empty[rule] and after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return bits, rules, ends

    def _look_into_rules(self) -> None:
        """Find the rules that may be empty, and the bytes that each can begin with."""
        numbers = range(len(self.names))
        self.may_be_empty = [False for _ in numbers]
        changed = True
        while changed:
            ends = [self._look(self.entry[rule])[2] for rule in numbers]
            changed, self.may_be_empty = ends != self.may_be_empty, ends
        looked = [self._look(self.entry[rule]) for rule in numbers]
        self.begins = [bits for bits, _, _ in looked]
        changed = True
        while changed:
            changed = False
            for rule, (_, called, _) in enumerate(looked):
                bits = self.begins[rule]
                for callee in called:
                    bits |= self.begins[callee]
                changed |= bits != self.begins[rule]
                self.begins[rule] = bits

    def _inside_one_token(self) -> frozenset[int]:
        pieces = [k for k, each in enumerate(self._origins) if _is_one_token(each.node)]
        if not pieces:
            return frozenset()
        arcs = self._arcs[np.isin(self._arc_origin, pieces)]
        return frozenset(arcs[:, 0].tolist()) & frozenset(arcs[:, 3].tolist())


def _is_one_token(node: object) -> bool:
    """Whether a node is a terminal whose words are single tokens."""
    if not isinstance(node, TokenPiece):
        return False
    machine = node.tokens()
    ends = machine.table[:, machine.symbol_class[TOKEN_END]]
    return bool((machine.table[ends[ends != NO_ARC]] == NO_ARC).all())


STAGE: Final = "Deriving a text"

ANY_BYTE: Final = (1 << NUM_BYTES) - 1
"""All bytes, as bits."""

MOST_KEPT: Final = 10_000
"""The number of configurations that are kept beside those of the text itself."""

MOST_FRAMES: Final = 1000
"""The most calls of a stack that are followed from its top."""

MOST_WAYS: Final = 10_000
"""The most calls that are looked at for the ways to read a byte."""

MOST_NAMED: Final = 8
"""The most rules of a stack that a message names."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One call on a stack.

    Args:
        rule: The rule that called, and goes on afterwards.
        start, end: The span of the call in the grammar.
    """

    rule: str
    called: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LivePlace:
    """A place in a source at which a text may go on.

    Args:
        rule: The rule that the place is in; empty outside of a grammar.
        origin: The origin of the arcs that are read there.
        stack: The open calls, the innermost first; one of the stacks if there are several.
        stacks: The number of ways in which the innermost rule was called.
    """

    rule: str
    origin: Origin
    stack: tuple[Frame, ...]
    stacks: int

    def within(self, phases: tuple[str, ...]) -> LivePlace:
        """The same place within some phases, the outermost first."""
        return replace(self, origin=replace(self.origin, phases=(*phases, *self.origin.phases)))


def open_rules(places: Sequence[LivePlace]) -> str:
    """A sentence with the rules that are open at the deepest of some places, the outermost first;
    empty at the bottom. Rules whose names begin with a colon are not the user's, and are left out.
    """
    deepest = max(places, key=lambda place: len(place.stack), default=None)
    if deepest is None or not deepest.stack:
        return ""
    names = [*(frame.rule for frame in reversed(deepest.stack)), deepest.rule]
    names = [name for name in names if not name.startswith(":")]
    if len(names) < 2:
        return ""
    if len(names) > MOST_NAMED:
        between = f"… {len(names) - MOST_NAMED:,} more …"
        names = [*names[: MOST_NAMED // 2], between, *names[-(MOST_NAMED // 2) :]]
    several = "; this is one way of several" if any(p.stacks > 1 for p in places) else ""
    return f"On the stack: {' → '.join(names)}{several}."


@dataclass(slots=True, eq=False)
class Item:
    """A point inside a rule, the configuration in which the rule began, and the first way to it.

    Args:
        point: The point of the program.
        begun: The configuration in which its rule was begun; it holds the calls of the rule.
        end: The number of bytes of the text that were read.
        before: The item of the same rule before it; ``None`` at the beginning of the rule.
        closed: The last item of the rule that was read in between; ``None`` for a byte.
    """

    point: Point
    begun: Closed
    end: int
    before: Item | None = None
    closed: Item | None = None


Call = tuple[Item, Point, Origin | None]
"""The item that called a rule, the point after the call, and where the call was written."""


@dataclass(slots=True, eq=False)
class Closed:
    """A configuration with the rules that can be begun and ended before the next byte.

    Args:
        at: The number of bytes before it.
        calls: The calls of each rule that is begun here.
    """

    at: int
    items: dict[tuple[Point, int], Item] = field(default_factory=dict[tuple[Point, int], Item])
    calls: dict[int, list[Call]] = field(default_factory=dict[int, list[Call]])


class Configurations:
    """A source as it was written, and the configurations that texts lead to; thread-safe.

    Args:
        node: A tree: a pattern, a grammar, or anything with grammars inside.
        budget: Limits for laying it out, and for reading one text.
        machine: Builds the parts that are machines of their own; by default each is built anew.

    Raises:
        BudgetExceeded: A limit was reached.
        NotRegular: A recursive grammar stands inside a part that needs a closed form.

    Example:
        >>> from explorer.languages.grammar.source import GbnfGrammar
        >>> source = GbnfGrammar.of('root ::= "(" root ")" | [0-9]')
        >>> configurations = Configurations(source.lower(), Budget())
        >>> here = configurations.after(b"((1")
        >>> [source.text[place.origin.start : place.origin.end] for place in here.places()]
        [')']
    """

    def __init__(
        self, node: Node, budget: Budget, machine: Callable[[Node], Dfa] | None = None
    ) -> None:
        self._budget = budget
        self.program = WrittenProgram(node, Meter(budget), machine)
        # No rule calls the only rule of a pattern, so equal sets of points are one configuration.
        self._is_pattern = len(self.program.names) == 1
        self._targets: dict[tuple[Point, int], tuple[Point, ...]] = {}
        self._forget()

    def _forget(self) -> None:
        self._kept = 0
        self._known: dict[frozenset[Point], Configuration] = {}
        self._start = Configuration(
            self.program, 0, (Item(self.program.entry[AROUND], Closed(0), 0),)
        )

    def after(self, text: bytes, boundary: int | None = None) -> Configuration | None:
        """The configuration after a text; ``None`` if no word begins with it.

        Args:
            boundary: An offset in the text at which a token begins; ``None`` if none is known.

        Raises:
            BudgetExceeded: It took too long.
        """
        if self.program.is_empty:
            return None
        if self._kept > MOST_KEPT + 2 * len(text):
            self._forget()
        meter: Meter | None = None  # Most texts begin as others did, so little is left to read.
        here: Configuration | None = self._start
        for offset, byte in enumerate(text):
            if offset == boundary:
                here = self._cut(here)
            if byte not in here.after:
                if not here.at % 64:
                    meter = meter or Meter(self._budget)
                    meter.check_time(STAGE)
                here.after[byte] = self._step(here, byte)
            here = here.after[byte]
            if here is None:
                return None
        return self._cut(here) if len(text) == boundary else here

    def _cut(self, here: Configuration) -> Configuration:
        """The items of a configuration at which a token may begin."""
        if here.cut is None:
            kept = tuple(
                each if point == each.point else replace(each, point=point)
                for each in here.kernel
                for point in self.program.between_tokens(each.point)
            )
            same = kept == here.kernel
            here.cut = here if same else Configuration(self.program, here.at, kept)
        return here.cut

    def _step(self, here: Configuration, byte: int) -> Configuration | None:
        after: dict[tuple[Point, int], Item] = {}
        closed = here.closed(1 << byte)
        for item in closed.items.values():
            for target in self._reached(item.point, byte):
                key = target, item.begun.at
                if key not in after:
                    after[key] = Item(target, item.begun, here.at + 1, item)
        if not after:
            return None
        made = Configuration(self.program, here.at + 1, tuple(after.values()))
        if not self._is_pattern:
            self._kept += 1
            return made
        return self._known.setdefault(frozenset(point for point, _ in after), made)

    def _reached(self, point: Point, byte: int) -> tuple[Point, ...]:
        """The points after a byte."""
        known = self._targets.get((point, byte))
        if known is None:
            reads = self.program.moves(point).reads
            known = tuple(
                dict.fromkeys(target for low, high, target, _ in reads if low <= byte <= high)
            )
            self._targets[point, byte] = known
        return known


@dataclass(slots=True, eq=False)
class Configuration:
    """The configuration after a text; made by `Configurations.after`.

    Args:
        program: The source as it was written.
        at: The number of bytes that were read.
        kernel: The items that the last byte leads to.
        after: The configuration after one more byte, by that byte; ``None`` if no word begins so.
        cut: The same configuration, if the text is known to end at the end of a token.
    """

    program: WrittenProgram
    at: int
    kernel: tuple[Item, ...]
    after: dict[int, Configuration | None] = field(
        default_factory=dict[int, "Configuration | None"]
    )
    cut: Configuration | None = None

    def closed(self, wanted: int) -> Closed:
        """The configuration with the rules that can begin or end before one of the wanted bytes."""
        program, at = self.program, self.at
        closed = Closed(at)
        items = closed.items
        waiting = [*self.kernel]
        for item in waiting:
            items[item.point, item.begun.at] = item

        def add(point: Point, begun: Closed, before: Item | None, ended: Item | None) -> None:
            if (point, begun.at) not in items and (
                program.first(point) & wanted or program.may_end(point)
            ):
                item = items[point, begun.at] = Item(point, begun, at, before, ended)
                waiting.append(item)

        for item in waiting:  # The list grows while it is read.
            moves = program.moves(item.point)
            for rule, after, origin in moves.calls:
                if program.begins[rule] & wanted:
                    closed.calls.setdefault(rule, []).append((item, after, origin))
                    add(program.entry[rule], closed, None, None)
                if program.may_be_empty[rule]:  # Then it begins and ends here.
                    add(after, item.begun, item, None)
            if moves.ends and item.begun is not closed:
                for caller, after, _ in item.begun.calls.get(program.rule(item.point), ()):
                    add(after, caller.begun, caller, item)
        return closed

    @property
    def _readers(self) -> Iterable[Item]:
        return self.closed(ANY_BYTE).items.values()

    @property
    def may_end(self) -> bool:
        """Whether the text may end here."""
        moves = self.program.moves
        return any(
            self.program.rule(item.point) == AROUND and moves(item.point).ends
            for item in self._readers
        )

    @property
    def expected(self) -> bytes:
        """The bytes that can be read here, ascending."""
        read = np.zeros(NUM_BYTES, np.bool_)
        for item in self._readers:
            for low, high, _, _ in self.program.moves(item.point).reads:
                read[low : high + 1] = True
        return bytes(np.flatnonzero(read).tolist())

    def places(self, wanted: bytes | None = None) -> tuple[LivePlace, ...]:
        """The places at which the source goes on, in the order of the tree; of a grammar, in the
        order of its text.

        Args:
            wanted: Only those that read one of these bytes; ``None`` for all.
        """
        bits = -1 if wanted is None else sum(1 << byte for byte in wanted)
        reading: dict[int, tuple[Origin, Item]] = {}
        for item in self._readers:
            for low, high, _, origin in self.program.moves(item.point).reads:
                if origin is not None and bits & ((1 << high + 1) - (1 << low)):
                    reading.setdefault(id(origin), (origin, item))
        places = [self._place(origin, item) for origin, item in reading.values()]
        if len(self.program.names) == 1:
            return tuple(sorted(places, key=lambda place: self.program.order(place.origin)))
        return tuple(sorted(places, key=lambda p: (p.origin.start, p.origin.end, p.rule)))

    def _place(self, origin: Origin, item: Item) -> LivePlace:
        """A place with one stack below it, and the number of callers of its rule."""
        program, names = self.program, self.program.names
        frames: list[Frame] = []
        rule, begun = program.rule(item.point), item.begun
        name = names[rule]
        ways = {(after, caller.begun.at) for caller, after, _ in begun.calls.get(rule, ())}
        while rule != AROUND and len(frames) < MOST_FRAMES:
            caller, _, call = begun.calls[rule][0]
            around = program.rule(caller.point)
            if names[around]:
                frames.append(_frame(names[around], names[rule], call))
            rule, begun = around, caller.begun
        return LivePlace(name, origin, tuple(frames), len(ways))

    def ways(self, byte: int, most: int) -> list[LivePlace]:
        """The shortest different ways in which a byte can be read, each with its whole stack."""
        program, names = self.program, self.program.names
        queue: list[tuple[int, int, int, Closed, tuple[Frame, ...], str, Origin]] = []
        for item in self._readers:
            rule = program.rule(item.point)
            for low, high, _, origin in program.moves(item.point).reads:
                if low <= byte <= high and origin is not None:
                    queue.append((0, len(queue), rule, item.begun, (), names[rule], origin))
        heapify(queue)
        ways: list[LivePlace] = []
        count = len(queue)
        while queue and len(ways) < most and count < MOST_WAYS:
            size, _, rule, begun, frames, name, origin = heappop(queue)
            if rule == AROUND:
                ways.append(LivePlace(name, origin, frames, 1))
            for caller, _, call in begun.calls.get(rule, ()):
                around = program.rule(caller.point)
                longer = frames
                if names[around]:
                    longer = (*frames, _frame(names[around], names[rule], call))
                count += 1
                heappush(queue, (size + 1, count, around, caller.begun, longer, name, origin))
        return ways


def _frame(rule: str, called: str, call: Origin | None) -> Frame:
    start, end = (call.start, call.end) if call is not None else (0, 0)
    return Frame(rule, called, start, end)
