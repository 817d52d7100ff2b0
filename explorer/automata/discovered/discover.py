"""From a tree to a discovered byte machine: the program, the net of its arcs, and their kind.

A tree that can be laid out as one program becomes a *net*: the program's arcs and moves by source,
over the classes of symbols that it tells apart, without what cannot end. Its kind of configuration
is `Sets`. A *late part* is laid out and joined to the net when a text first comes to it.

Intersections, differences and complements become pairs of discovered machines, unless their closed
form is small: then that is used, because it is minimal. A part of a sequence that needs a machine
of its own is built first.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

import numpy as np
from msgspec import structs

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.minimize import empty_dfa
from explorer.automata.construction.rows import (
    FINISHED,
    NEEDS_PART,
    NODE,
    PART,
    PAUSED,
    QUANTUM,
    STATES,
    Net,
    SetRows,
    visit,
)
from explorer.automata.construction.subset import (
    MOST_BITS,
    bytes_held,
    bytes_read,
    counts_of,
    grown,
    indexed,
    net_of,
    none_met,
    row_filled,
    waiting,
    with_room,
)
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.discovered.letters import (
    BEGINNING,
    COMPLETE,
    GOING_ON,
    NEEDS_LETTERS,
    NEEDS_ROOM,
    walk_filling,
    walk_words,
)
from explorer.automata.machine import (
    UNKNOWN,
    Bool,
    ByteMachine,
    Dfa,
    Int32,
    UInt32,
    WordTrie,
    WordWalk,
)
from explorer.automata.program import PLAIN, Program
from explorer.automata.tree.build import build
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import (
    Call,
    Deferred,
    Group,
    Intersect,
    Literal,
    Machine,
    Negate,
    Node,
    Remembered,
    Rules,
    Subtract,
    TokenLimit,
    Whole,
    Written,
    children,
    walk,
    with_children,
)
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Budget, Meter
from explorer.errors import (
    REPORT_IT,
    BudgetExceeded,
    ExplorerError,
    NotRegular,
    nested_too_deep,
)
from explorer.jit import jit


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
    if (remembered := _remembered(node)) is not None:
        marked = discover(_with_part(node, "marked"), budget, meter)
        if not remembered.waits and not marked.read[[*remembered.marks]].any():
            return marked
        free = discover(_with_part(node, "body"), budget, meter)
        return Discovered(remembered.kind(marked, free), budget)
    if isinstance(node, Whole):
        from explorer.automata.tree.lookaround import resolve  # Most patterns have none.

        return _over_net(net_of(resolve(node.body, meter), meter, _STAGE), budget)
    parts = LateParts(node)
    try:
        net = parts.net(meter)
    except (HoldsGrammar, NotRegular):  # NotRegular if the grammar is inside a combination.
        from explorer.automata.stacks.of_grammar import of_grammar

        return of_grammar(node, budget, meter)
    return _over_net(net, budget, parts)


def on_stack(node: Node, budget: Budget, meter: Meter) -> ByteMachine | None:
    """The machine with a stack of a tree in which some part nests without end, though `discover`
    needs no stack for it; ``None`` for any other tree.

    Args:
        budget, meter: As for `discover`.

    Raises:
        BudgetExceeded: A limit was reached, or there is no such machine.
    """
    if not any(isinstance(each, Deferred) and each.rules and each.rules() for each in walk(node)):
        return None
    from explorer.automata.stacks.of_grammar import of_grammar

    return of_grammar(node, budget, meter)


def _remembered(node: Node) -> Remembered | None:
    """A part that has to be remembered, outside of combinations."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Remembered):
            return here
        if not isinstance(here, Intersect | Subtract | Negate):
            waiting += [each for each in children(here) if type(each) is not Literal]
    return None


def _with_part(node: Node, part: str) -> Node:
    """A tree with one of their parts in place of those that have to be remembered."""
    if isinstance(node, Remembered):
        return getattr(node, part)
    if isinstance(node, Intersect | Subtract | Negate):
        return node
    below = children(node)
    return with_children(node, tuple(_with_part(each, part) for each in below)) if below else node


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
    from explorer.automata.discovered.token_counts import NotCounted, limited_parts

    try:
        return limited_parts(node, meter, lambda part: discover(part, meter.budget, meter))
    except NotCounted:
        return None


PAIRED: Final = Budget(states=20_000, arcs=1_000_000, bytes=100_000_000, seconds=2.0)
"""The limits for the closed form of a combination; a larger one is discovered."""

_SIZES: Final = ("states", "arcs", "bytes", "seconds")

SMALL: Final = Budget(states=200_000, arcs=20_000_000, seconds=10.0)
"""The limits for an optional closed form."""


def small_or_discovered(node: Node, budget: Budget | None = None) -> ByteMachine:
    """The closed form of a tree if it is small, otherwise its discovered machine.

    A tree with a part that has an outline, such as a schema, is discovered at once: its closed form
    takes longer than reading thousands of texts.

    Args:
        budget: Limits on the discovered machine; by default `Budget()`.

    Raises:
        BudgetExceeded: It cannot even be laid out.
    """
    budget = budget or Budget()
    if any(isinstance(each, Deferred) and each.outline is not None for each in walk(node)):
        return discover(node, budget)
    try:
        return build(node, Meter(SMALL))
    except BudgetExceeded:
        return discover(node, budget)


def _pair(node: Intersect | Subtract | Negate, budget: Budget, meter: Meter) -> ByteMachine:
    """The closed form of an intersection, difference or complement if small, otherwise a pair."""
    from explorer.automata.discovered.paired import STAGE, paired, regrouped

    limits = Budget(**{name: min(getattr(budget, name), getattr(PAIRED, name)) for name in _SIZES})

    def closed(part: Node) -> Dfa | None:
        try:
            return build(part, Meter(limits))
        except BudgetExceeded:
            meter.check_time(STAGE)
            return None

    whole = closed(node)
    if whole is not None:
        return whole
    if isinstance(node, Negate):
        return paired(any_text(), discover(node.body, budget, meter), "left only", budget)
    left, right, operation = regrouped(node, closed)
    return paired(discover(left, budget, meter), discover(right, budget, meter), operation, budget)


def _over_net(net: Net | None, budget: Budget, parts: LateParts | None = None) -> ByteMachine:
    return empty_dfa(NUM_BYTES) if net is None else Discovered(Sets(net, parts), budget)


_STAGE: Final = "Making a machine that is discovered"


def extended(net: Net, at: int, part: Program, meter: Meter) -> Net:
    """The net with one more of its late parts built.

    Args:
        at: The state where the part begins.
        part: The program of the part; its start is state 0, its end state 1.
        meter: The limits on the size of the result.

    Raises:
        BudgetExceeded: The net becomes too large, or the part counts too far.
    """
    shift, outside = net.num_states, int(net.scope[at])
    around = int(net.sizes[outside, 3]) if outside >= 0 else 1
    epsilons, scope, sizes = counts_of(part, around, meter, _STAGE)
    states = shift + part.num_states
    bits = int(net.bits[0])
    counts = int(sizes[:, 3].max(initial=1))
    if (counts - 1).bit_length() > bits or bits + states.bit_length() > MOST_BITS:
        raise BudgetExceeded("states", limit=2**MOST_BITS, reached=counts * states, stage=_STAGE)
    meter.check(_STAGE, states=states, arcs=len(net.arcs) + len(part.arcs))
    accepting = np.zeros(part.num_states, np.bool_)
    accepting[1] = True
    epsilons = np.concatenate((epsilons, _END_TO_ITSELF))
    _, arc_start, arcs, move_start, moves, useful, alive = indexed(
        part.num_states, NUM_BYTES, part.arcs, epsilons, part.counts, accepting, True
    )
    if not alive[0]:
        raise ExplorerError("A part that was left for later has no words.", remedy=REPORT_IT)
    joined = _joined(
        net.arc_start, net.arcs, net.move_start, net.moves, net.useful, net.accepting, net.scope,
        net.late, arc_start, arcs, move_start, moves, useful, scope, waiting(part), at,
        len(net.sizes),
    )  # fmt: skip
    sizes = np.concatenate((net.sizes, sizes))
    return Net(net.start, net.symbol_class, *joined, sizes, net.bits)


_END_TO_ITSELF: Final = np.array([[1, 1]], np.int32)


@jit
def _joined(
    arc_start: Int32, arcs: Int32, move_start: Int32, moves: Int32, useful: Bool, accepting: Bool,
    scope: Int32, late: Bool, more_arc_start: Int32, more_arcs: Int32, more_move_start: Int32,
    more_moves: Int32, more_useful: Bool, more_scope: Int32, more_late: Bool, at: int, scopes: int,
) -> tuple[Int32, Int32, Int32, Int32, Bool, Bool, Int32, Bool]:  # fmt: skip
    """The arrays of a net with those of a part, which begins at a state of the net.

    Args:
        scopes: The number of scopes of the net.
    """
    shift = accepting.shape[0]
    into = move_start[at]
    more_useful[1] = False
    more_arcs[:, 2] += shift
    more_moves[:, 0] += shift
    more_moves[:, 2] += scopes
    joined = np.concatenate((moves, more_moves))
    # The state before the part had a move to the one after it, and its end one to itself.
    joined[moves.shape[0] + more_move_start[1]] = moves[into]
    joined[into, 0], joined[into, 1], joined[into, 2] = shift, PLAIN, 0
    for state in range(more_scope.shape[0]):
        more_scope[state] = scope[at] if more_scope[state] < 0 else more_scope[state] + scopes
    waits = np.concatenate((late, more_late))
    waits[at] = False
    return (
        np.concatenate((arc_start, more_arc_start[1:-1] + arc_start[-1])),
        np.concatenate((arcs, more_arcs)),
        np.concatenate((move_start, more_move_start[1:-1] + move_start[-1])),
        joined,
        np.concatenate((useful, more_useful)),
        np.concatenate((accepting, np.zeros(more_scope.shape[0], np.bool_))),
        np.concatenate((scope, more_scope)),
        waits,
    )


class HoldsGrammar(Exception):
    """The tree holds a grammar, which needs a stack instead of a net."""


def _grammar_met(_: Call | Rules) -> int:
    raise HoldsGrammar


class LateParts:
    """The builder of a tree's net and of its late parts."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._waiting: dict[int, Deferred] = {}
        self._order: list[int] = []

    def net(self, meter: Meter) -> Net | None:
        """The net of the tree without its late parts; ``None`` if there are no words.

        Raises:
            BudgetExceeded: A limit was reached.
            HoldsGrammar: There is a grammar inside.
        """
        try:
            program = lay_out(
                self._root, meter, machine=lambda it: build(it, meter), late=True,
                call=_grammar_met,
            )  # fmt: skip
        except RecursionError as error:
            raise nested_too_deep(_STAGE) from error
        self._note(program, 0)
        return net_of(program, meter, _STAGE)

    def laid(self, net: Net, at: int, meter: Meter) -> Net:
        """The net with one more of its late parts built.

        Args:
            at: The state where the part begins.

        Raises:
            BudgetExceeded: A limit was reached; the part can still be built later.
        """
        self.settle(net)
        node = structs.replace(self._waiting[at], is_late=False)
        part = lay_out(node, meter, machine=lambda it: build(it, meter), late=True)
        larger = extended(net, at, part, meter)
        self._note(part, net.num_states)
        self._order.append(at)
        return larger

    def settle(self, net: Net) -> None:
        """Forget a built part whose net was lost to an interrupt.

        Args:
            net: The net so far; only the last part can be missing in it.
        """
        if self._order and net.late[self._order[-1]]:
            del self._order[-1]
        elif self._order:
            self._waiting.pop(self._order[-1], None)

    def again(self, meter: Meter) -> tuple[Net, LateParts]:
        """Build the net of the tree anew, with the same parts built.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        parts = LateParts(self._root)
        net = parts.net(meter)
        if net is None:
            raise ExplorerError(
                "A machine that had words has none when it is made again.", remedy=REPORT_IT
            )
        for at in self._order:
            net = parts.laid(net, at, meter)
        return net, parts

    def apart(self) -> LateParts:
        """A copy that builds further parts by itself."""
        parts = LateParts(self._root)
        parts._waiting, parts._order = dict(self._waiting), list(self._order)
        return parts

    def _note(self, program: Program, shift: int) -> None:
        for before, _, node in program.late:
            self._waiting[before + shift] = node

    def __getstate__(self) -> dict[str, Any]:
        return {"_root": self._root, "_order": self._order, "_waiting": {}}


class Sets:
    """The kind of a `Discovered` machine over a net.

    Args:
        net: The automaton.
        parts: Builds the late parts of the net.
        rows: The rows discovered before.
    """

    stage = "The discovery of states"
    stacks = None

    def __init__(
        self, net: Net, parts: LateParts | None = None, rows: SetRows | None = None
    ) -> None:
        self._net = net
        self._parts = parts
        self._read: tuple[Net, Bool] | None = None
        self._begun = rows is not None
        self._rows = none_met(net) if rows is None else rows
        self.symbol_class = net.symbol_class

    @property
    def table(self) -> Int32:
        """int32[room, classes], the rows so far."""
        return self._rows.table

    @property
    def num_states(self) -> int:
        """The number of states met so far."""
        return int(self._rows.progress[STATES])

    @property
    def held(self) -> int:
        """The bytes of memory used so far."""
        return bytes_held(self._rows)

    @property
    def num_waiting(self) -> int:
        """The number of late parts of the net that have not been built yet."""
        return int(self._net.late.sum())

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        if (
            self._read is None or self._read[0] is not self._net
        ):  # Cached, because it is asked often.
            self._read = self._net, bytes_read(self._net)
        return self._read[1]

    def begin(self, meter: Meter) -> int:
        """Make the start state."""
        return FINISHED if self._begun else row_filled(tuple(self._net), tuple(self._rows), -1)

    def can_start(self, meter: Meter) -> bool:
        """True, because every state can finish."""
        return True

    def fill(self, state: int, symbol: int, meter: Meter) -> int:
        """Fill a row."""
        return row_filled(tuple(self._net), tuple(self._rows), state)

    def visit(self, trie: WordTrie, stack: Int32, again: bool, meter: Meter) -> int:
        """Fill the rows along the words of a trie."""
        if not again:
            self._rows.progress[NODE] = 0
        return visit(self._net, self._rows, trie.byte, trie.depth, trie.skip, stack, QUANTUM)

    def set_words(self, walk: WordWalk, state: int, words: UInt32, again: bool) -> int:
        """Set the bits of words, most of them by the letters that states read."""
        how, reason = GOING_ON if again else BEGINNING, NEEDS_ROOM
        if not again and self.table[state, -1] != UNKNOWN:  # All needed rows may be known.
            here = self.table, self.symbol_class
            reason = walk_words(*walk.arrays, *here, state, words, how)
            how = GOING_ON
        while reason != COMPLETE:
            if reason == NEEDS_LETTERS:
                walk.set_letters(state, words)
            walk.make_room(self.num_states)
            reason = walk_filling(*walk.arrays, state, words, how, QUANTUM, *self._net, *self._rows)
            how = GOING_ON
            if reason > 0:
                return reason
        return FINISHED

    def make_room(self, reason: int, most: int, meter: Meter) -> None:
        """Enlarge arrays, or build a part."""
        if reason == NEEDS_PART:
            if self._parts is not None:
                self._net = self._parts.laid(self._net, int(self._rows.progress[PART]), meter)
        elif reason != PAUSED:
            states, classes = self._rows.table.shape
            ahead = max(2 * states, min(32 * states, RESERVED // (4 * classes)))
            self._rows = grown(self._rows, reason, max(states + 2 * classes, min(ahead, most)))

    def accepting(self, state: int) -> bool:
        """Whether the text may end."""
        return bool(self._rows.accepting[state])

    def least(self, state: int, meter: Meter) -> None:
        """``None``: its states can be searched."""
        return

    def wider(self, state: int) -> None:
        """``None``: its states can be searched."""
        return

    def apart(self, meter: Meter) -> Sets:
        """A copy; the net is shared, as a part that is built makes a new one."""
        parts = None if self._parts is None else self._parts.apart()
        return Sets(self._net, parts, deepcopy(with_room(self._rows, self.num_states + 1)))

    def sent(self) -> tuple[Callable[..., Sets], tuple[Any, ...]]:
        """The net, or with unbuilt parts the tree, and the discovered rows."""
        rows = with_room(self._rows, self.num_states + 1)
        if self._parts is not None and self._net.late.any():
            self._parts.settle(self._net)
            return _laid_again, (self._parts, rows)
        return Sets, (self._net, None, rows)


def _laid_again(parts: LateParts, rows: SetRows) -> Sets:
    """Rebuild the kind in another process, with the same parts of the net built."""
    return Sets(*parts.again(Meter()), rows)


RESERVED: Final = 64_000_000
"""The bytes of a table reserved at once, so that growth rarely copies; unused pages are free."""
