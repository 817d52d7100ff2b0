"""A program without calls, indexed for running: its arcs by source, over classes of bytes.

A *configuration* is a state of the program and, in the scope of a counter, the count, packed in one
int: the state in the high bits, all counts of nested scopes in the low ones. A million states of an
expanded machine are one state and a number here; users of the net see no difference.

Only arcs on a path to the end are kept. A copy of a repeat's body can always be finished and begun
again until there are enough, so whether a configuration can finish depends on its state alone, and
every reachable configuration can.

A late part (`LateParts`) is a state whose only move leads nowhere until the part is built. It
certainly has words, so configurations before it can finish. A schema of a hundred members is at
first a net of a hundred names: the program of a member's value is built when a text has read the
name. The tree marks the parts that may wait (`Deferred.is_late`): they certainly have words, and
their sources are valid, so that the only later failure is an exceeded budget. A part cannot be sent
to another process, because it holds a compiler. The tree is sent instead, with the order in which
parts were built; they are built again in that order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import LETTER
from explorer.automata.construction.minimize import by_head, steps_from
from explorer.automata.program import AGAIN, ENTER, LEAVE, PLAIN, Bool, Int32, Program
from explorer.automata.tree.build import build
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Call, Deferred, Node, Rules
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.jit import jit

STAGE: Final = "Making a machine that is discovered"

MOST_BITS: Final = 62
"""The most bits of a configuration, state and counts together."""

Int64 = NDArray[np.int64]


class Net(NamedTuple):
    """A program without calls, its arcs and moves by source, over symbol classes.

    Args:
        start: int64[configurations], those before the first byte; not closed under moves.
        symbol_class: int32[256], the class of each byte.
        arc_start: int32[states + 1], the first arc of each state.
        arcs: int32[arcs, 3], rows ``(low class, high class, target)``.
        move_start: int32[states + 1], the first move of each state.
        moves: int32[moves, 3], rows ``(target, action, scope)``.
        useful: bool[states], those with arcs, and those that accept.
        accepting: bool[states].
        scope: int32[states], the innermost scope; −1 outside all.
        late: bool[states], those where an unbuilt part begins.
        sizes: int64[scopes, 4], rows ``(counts, fewest copies, whether there is no most, counts of
            this scope and all around it together)``.
        bits: int64[1], the number of bits of the counts.
    """

    start: Int64
    symbol_class: Int32
    arc_start: Int32
    arcs: Int32
    move_start: Int32
    moves: Int32
    useful: Bool
    accepting: Bool
    scope: Int32
    late: Bool
    sizes: Int64
    bits: Int64

    @property
    def num_states(self) -> int:
        """The number of states."""
        return len(self.accepting)

    @property
    def num_classes(self) -> int:
        """The number of classes of bytes."""
        return int(self.symbol_class[-1]) + 1  # Classes are numbered in the order of bytes.

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some arc reads, and those that a late part may read."""
        hit = np.zeros(self.num_classes + 1, np.int64)
        np.add.at(hit, self.arcs[:, 0], 1)
        np.add.at(hit, self.arcs[:, 1] + 1, -1)
        read = hit.cumsum()[self.symbol_class] > 0
        if self.late.any():
            read[:LETTER] = True  # A late part is text.
        return read


@jit
def _indexed(
    states: int, arcs: Int32, moves: Int32, accepting: Bool, every: bool
) -> tuple[Int32, Int32, Int32, Int32, Int32, Bool, bool]:
    """The byte classes, arcs and moves by source, useful states, and whether there are words.

    ``every`` asks for a class of its own for every byte.
    """
    tails = np.concatenate((arcs[:, 0], moves[:, 0]))
    heads = np.concatenate((arcs[:, 3], moves[:, 1]))
    offset, source = by_head(tails, heads, states)
    alive = steps_from(offset, source, accepting) > 0
    boundary = np.full(257, every)
    arc_start = np.zeros(states + 2, np.int32)
    move_start = np.zeros(states + 2, np.int32)
    kept_arcs, kept_moves = 0, 0
    for k in range(arcs.shape[0]):
        if alive[arcs[k, 3]]:
            boundary[arcs[k, 1]] = True
            boundary[arcs[k, 2] + 1] = True
            arc_start[arcs[k, 0] + 2] += 1
            kept_arcs += 1
    for k in range(moves.shape[0]):
        if alive[moves[k, 1]]:
            move_start[moves[k, 0] + 2] += 1
            kept_moves += 1
    for s in range(states):
        arc_start[s + 2] += arc_start[s + 1]
        move_start[s + 2] += move_start[s + 1]
    symbol_class = np.empty(256, np.int32)
    current = 0
    for symbol in range(256):
        if symbol > 0 and boundary[symbol]:
            current += 1
        symbol_class[symbol] = current
    by_source = np.empty((kept_arcs, 3), np.int32)
    for k in range(arcs.shape[0]):
        if alive[arcs[k, 3]]:
            place = arc_start[arcs[k, 0] + 1]
            by_source[place, 0] = symbol_class[arcs[k, 1]]
            by_source[place, 1] = symbol_class[arcs[k, 2]]
            by_source[place, 2] = arcs[k, 3]
            arc_start[arcs[k, 0] + 1] += 1
    moves_by_source = np.empty((kept_moves, 3), np.int32)
    for k in range(moves.shape[0]):
        if alive[moves[k, 1]]:
            place = move_start[moves[k, 0] + 1]
            moves_by_source[place, 0] = moves[k, 1]
            moves_by_source[place, 1] = moves[k, 2]
            moves_by_source[place, 2] = moves[k, 3]
            move_start[moves[k, 0] + 1] += 1
    useful = accepting.copy()
    for s in range(states):
        if arc_start[s + 1] > arc_start[s]:
            useful[s] = True
    return (
        symbol_class, arc_start, by_source, move_start, moves_by_source, useful, alive[0],
    )  # fmt: skip


def net_of(program: Program, meter: Meter) -> Net | None:
    """The net of a program without calls.

    Returns:
        ``None`` if there are no words. With late parts each byte is a class of its own, because the
        classes of the parts are not known yet.

    Raises:
        BudgetExceeded: It has too many arcs, or nested counts that 62 bits cannot hold.
    """
    moves, scope, sizes = _counted(program, 1, meter)
    bits = (int(sizes[:, 3].max(initial=1)) - 1).bit_length()
    if program.late:
        bits += LATE_BITS
    if bits + program.num_states.bit_length() > MOST_BITS:
        raise BudgetExceeded("states", limit=2**MOST_BITS, reached=1 << bits, stage=STAGE)
    accepting = np.zeros(program.num_states, np.bool_)
    accepting[program.accepting] = True
    symbol_class, arc_start, arcs, move_start, by_source, useful, begins = _indexed(
        program.num_states, program.arcs, moves, accepting, bool(program.late)
    )
    if not begins:
        return None
    return Net(
        np.array([program.start << bits], np.int64), symbol_class, arc_start[:-1], arcs,
        move_start[:-1], by_source, useful, accepting, scope, _waiting(program), sizes,
        np.array([bits], np.int64),
    )  # fmt: skip


LATE_BITS: Final = 30
"""The bits of a configuration that are reserved for counts inside late parts."""


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
    moves, scope, sizes = _counted(part, around, meter)
    states = shift + part.num_states
    bits = int(net.bits[0])
    counts = int(sizes[:, 3].max(initial=1))
    if (counts - 1).bit_length() > bits or bits + states.bit_length() > MOST_BITS:
        raise BudgetExceeded("states", limit=2**MOST_BITS, reached=counts * states, stage=STAGE)
    meter.check(STAGE, states=states, arcs=len(net.arcs) + len(part.arcs))
    accepting = np.zeros(part.num_states, np.bool_)
    accepting[1] = True
    moves = np.append(moves, np.array([[1, 1, PLAIN, 0]], np.int32), axis=0)
    _, arc_start, arcs, move_start, by_source, useful, begins = _indexed(
        part.num_states, part.arcs, moves, accepting, True
    )
    if not begins:
        raise ExplorerError("A part that was left for later has no words.")
    useful[1] = False
    arcs[:, 2] += shift
    by_source[:, 0] += shift
    by_source[:, 2] += len(net.sizes)
    # The state before the part had a move to the one after it, and its end one to itself.
    before = net.moves.copy()
    into = int(net.move_start[at])
    by_source[move_start[1]] = before[into]
    before[into] = shift, PLAIN, 0
    late = net.late.copy()
    late[at] = False
    return net._replace(
        arc_start=np.concatenate([net.arc_start, arc_start[1:-1] + net.arc_start[-1]]),
        arcs=np.concatenate([net.arcs, arcs]),
        move_start=np.concatenate([net.move_start, move_start[1:-1] + net.move_start[-1]]),
        moves=np.concatenate([before, by_source]),
        useful=np.concatenate([net.useful, useful]),
        accepting=np.concatenate([net.accepting, np.zeros(part.num_states, np.bool_)]),
        scope=np.concatenate([net.scope, np.where(scope < 0, outside, scope + len(net.sizes))]),
        late=np.concatenate([late, _waiting(part)]),
        sizes=np.concatenate([net.sizes, sizes]),
    )  # fmt: skip


def _counted(program: Program, around: int, meter: Meter) -> tuple[Int32, Int32, Int64]:
    """The moves of a program, the scope of each state, and the sizes of the scopes.

    Args:
        around: The number of combined counts of the scopes around it.
    """
    plain, late = program.epsilons, program.late
    given = len(program.arcs) + len(plain) + len(late)
    meter.check(STAGE, states=program.num_states, arcs=given,
                bytes=48 * (program.num_states + given))  # fmt: skip
    moves = np.zeros((len(plain) + len(late), 4), np.int32)
    moves[:, 2] = PLAIN
    moves[: len(plain), :2] = plain
    if late:
        moves[len(plain) :, :2] = [(before, after) for before, after, _ in late]
    scope = np.full(program.num_states, -1, np.int32)
    rows: list[tuple[int, int, int, int]] = []
    for number, each in enumerate(program.scopes):
        scope[each.first : each.end] = number
        total = each.size * (rows[each.parent][3] if each.parent >= 0 else around)
        rows.append((each.size, each.fewest, int(each.endless), total))
    most = max((row[3] for row in rows), default=1)
    if most.bit_length() > MOST_BITS:
        raise BudgetExceeded("states", limit=2**MOST_BITS, reached=most, stage=STAGE)
    sizes = np.array(rows, np.int64).reshape(-1, 4)
    return np.concatenate([moves, program.counts]), scope, sizes


def _waiting(program: Program) -> Bool:
    """Flags of the states where late parts begin, bool[states]."""
    waiting = np.zeros(program.num_states, np.bool_)
    waiting[[before for before, _, _ in program.late]] = True
    return waiting


@jit
def closed(
    move_start: Int32, moves: Int32, late: Bool, sizes: Int64, bits: int, members: Int64,
    count: int, seen: Int64, stamps: Int64, now: int,
) -> int:  # fmt: skip
    """Close ``members[:count]``, all of which are in ``seen``, under moves, in place.

    Args:
        move_start, moves, late, sizes: As in `Net`.
        bits: The number of bits of a configuration's counts.
        members: The configurations, with room for half as many as ``seen``.
        seen, stamps: A hash table of this set; its entries have the stamp ``now``.

    Returns:
        The new count; −1 without room; −2 minus a state whose part must be built first.
    """
    mask = (np.int64(1) << bits) - 1
    done = 0
    while done < count:
        state = members[done] >> bits
        value = members[done] & mask
        done += 1
        if late[state]:
            return -2 - state
        for k in range(move_start[state], move_start[state + 1]):
            action = moves[k, 1]
            after = value
            if action != PLAIN:
                size = sizes[moves[k, 2], 0]
                if action == ENTER:
                    after = value * size
                elif action == AGAIN:
                    if value % size + 1 < size:
                        after = value + 1
                    elif sizes[moves[k, 2], 2] == 0:
                        continue
                elif action == LEAVE:
                    if value % size + 1 < sizes[moves[k, 2], 1]:
                        continue
                    after = value // size
            count = entered((np.int64(moves[k, 0]) << bits) | after, members, count, seen,
                            stamps, now)  # fmt: skip
            if count < 0:
                return -1
    return count


@jit
def entered(code: int, members: Int64, count: int, seen: Int64, stamps: Int64, now: int) -> int:
    """Add a configuration to a set; return the new count, or −1 without room."""
    mask = seen.shape[0] - 1
    slot = np.int64((np.uint64(code) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask
    while stamps[slot] == now:
        if seen[slot] == code:
            return count
        slot = (slot + 1) & mask
    if count >= members.shape[0]:
        return -1
    stamps[slot] = now
    seen[slot] = code
    members[count] = code
    return count + 1


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
        program = lay_out(
            self._root, meter, machine=lambda it: build(it, meter), late=True,
            call=_grammar_met,
        )  # fmt: skip
        self._note(program, 0)
        return net_of(program, meter)

    def laid(self, net: Net, at: int, meter: Meter) -> Net:
        """The net with one more of its late parts built.

        Args:
            at: The state where the part begins.

        Raises:
            BudgetExceeded: A limit was reached; the part can still be built later.
        """
        self.settle(net)
        node = replace(self._waiting[at], is_late=False)
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
            raise ExplorerError("A machine that had words has none when it is made again.")
        for at in self._order:
            net = parts.laid(net, at, meter)
        return net, parts

    def _note(self, program: Program, shift: int) -> None:
        for before, _, node in program.late:
            self._waiting[before + shift] = node

    def __getstate__(self) -> dict[str, Any]:
        return {"_root": self._root, "_order": self._order, "_waiting": {}}
