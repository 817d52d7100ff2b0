"""The rules of a grammar as one program, as one program per rule, and inlined into their callers.

A rule's body is a tree like any other; it is laid out like any other
(`explorer.automata.tree.layout`), beside the others. A grammar inside another one, such as a part
of a sequence, is one more rule, and so is whatever stands around it: the `Root` of every tree is a
rule without a name.

A *piece* is one rule alone: a program from state 0, whose calls name rules of the whole. All of it
is arrays, as a large grammar lays hundreds of machines into each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.minimize import by_head
from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import Dfa
from explorer.automata.program import Bool, Int32, Program
from explorer.automata.tree.build import build
from explorer.automata.tree.layout import ProgramLayout
from explorer.automata.tree.nodes import Call, Group, Node, Rules, Written
from explorer.budget import Meter
from explorer.errors import REPORT_IT, ExplorerError
from explorer.jit import jit

STAGE: Final = "Laying out a grammar"

SmallRule = tuple[Dfa, tuple[int, ...]]
"""A rule as a machine over bytes and calls, and the called rule of each call symbol."""


def lay_rules(
    node: Node,
    meter: Meter,
    *,
    written: bool = False,
    machine: Callable[[Node], Dfa] | None = None,
) -> Program:
    """The program of all rules that a tree needs; the first rule is the tree itself.

    Args:
        node: The tree: a grammar, or anything with grammars inside.
        meter: Watches sizes and time.
        written: Also tell where each arc was written; then repeats are counted, assertions count
            as if they held, the first rule stands around the tree, and rules that nobody wrote
            (those of a schema) have the call of them for origin.
        machine: Builds the parts that are machines of their own; default: builds each anew.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    numbers: dict[tuple[int, str], int] = {}
    waiting: list[tuple[str, Node, Rules | None]] = []
    here: Rules | None = None

    def number(rules: Rules, name: str) -> int:
        key = (id(rules), name)
        if key not in numbers:
            numbers[key] = len(waiting)
            waiting.append((name, rules.rules[name], rules))
        return numbers[key]

    def called(call: Call | Rules) -> int:
        if isinstance(call, Rules):
            return number(call, call.root)
        if here is None:
            raise ExplorerError("A call of a rule stands outside its grammar.", remedy=REPORT_IT)
        return number(here, call.name)

    around, inner = None, node
    while isinstance(inner, Group | Written):
        around, inner = inner, inner.body
    if isinstance(inner, Rules) and not written:
        number(inner, inner.root)
    else:
        waiting.append(("", node if written else around or node, None))
    layout = ProgramLayout(
        meter, builder=machine or (lambda inner: build(inner, meter)), call=called,
        with_origin=written, relax=written, counts=written,
    )  # fmt: skip
    whole: dict[int, int] = {}  # The one origin of unwritten rules, by identity.
    for name, body, rules in waiting:  # The list grows while it is read.
        here = rules
        nobody_s = written and rules is not None and rules.locate is not None
        layout.whole = whole.get(id(rules), -1) if nobody_s else None
        before = len(layout.call_origins.rows)
        layout.rule(name, body)
        recent = layout.calls.rows[before:], layout.call_origins.rows[before:]
        for (_, rule, _), (origin,) in zip(*recent, strict=False):
            whole.setdefault(id(waiting[rule][2]), origin)
        states, arcs = layout.num_states, len(layout.arcs) + len(layout.calls)
        meter.check(STAGE, states=states, arcs=arcs, bytes=100 * arcs)
    apart = frozenset(
        k for k, (name, _, rules) in enumerate(waiting) if rules is not None and name in rules.apart
    )
    made = layout.program()
    return structs.replace(made, apart=apart) if apart else made


@jit
def _able(
    offset: NDArray[np.int64], source: Int32, by_target: NDArray[np.int64], to_target: Int32,
    by_entry: NDArray[np.int64], to_entry: Int32, calls: Int32, entry: Int32, ends: Int32,
    states: int,
) -> Bool:  # fmt: skip
    """The states from which their rule can end, by a search backwards over arcs and calls."""
    alive = np.zeros(states, np.bool_)
    queue = np.empty(states, np.int32)
    size = 0
    for end in ends:
        if not alive[end]:
            alive[end] = True
            queue[size] = end
            size += 1
    at = 0
    while at < size:
        here = queue[at]
        at += 1
        for k in range(offset[here], offset[here + 1]):
            before = source[k]
            if not alive[before]:
                alive[before] = True
                queue[size] = before
                size += 1
        for k in range(by_target[here], by_target[here + 1]):
            before = calls[to_target[k], 0]
            if not alive[before] and alive[entry[calls[to_target[k], 1]]]:
                alive[before] = True
                queue[size] = before
                size += 1
        for k in range(by_entry[here], by_entry[here + 1]):
            before = calls[to_entry[k], 0]
            if not alive[before] and alive[calls[to_entry[k], 2]]:
                alive[before] = True
                queue[size] = before
                size += 1
    return alive


def alive(program: Program) -> Bool:
    """bool[states], whether the end of its rule can be reached from each state."""
    moves = program.arcs[:, [0, 3]], program.epsilons, program.counts[:, :2]
    tail, head = np.ascontiguousarray(np.concatenate(moves).T)
    entry = np.array([first for _, first in program.rules], np.int32)
    numbers, states = np.arange(len(program.calls), dtype=np.int32), program.num_states
    after, begun = np.ascontiguousarray(program.calls[:, 2]), entry[program.calls[:, 1]]
    return _able(
        *by_head(tail, head, states), *by_head(numbers, after, states),
        *by_head(numbers, begun, states), program.calls, entry, program.accepting, states,
    )  # fmt: skip


def pieces_of(program: Program, most: int) -> tuple[Program | None, ...]:
    """One program for each rule that has words; a rule called in one place only is inlined there.

    Args:
        most: The most states of a rule with its inlined rules; 0 to inline none.

    Returns:
        The program of each rule; ``None`` for a rule without words or an inlined one.
    """
    able = alive(program)[[first for _, first in program.rules]]
    calls, rule_of = program.calls, program.rule_of
    into = np.arange(len(able)) if most == 0 else _into(program, rule_of, most)
    inside = (into != np.arange(len(into)))[calls[:, 1]]
    entry = np.array([first for _, first in program.rules], np.int32)
    begun = entry[calls[inside, 1]]
    epsilons = np.concatenate([
        program.epsilons, np.column_stack([calls[inside, 0], begun]),
        np.column_stack([begun + 1, calls[inside, 2]]),
    ])  # fmt: skip
    rule_of = into[rule_of]
    sizes = np.bincount(rule_of, minlength=len(able))
    order = np.argsort(rule_of, kind="stable")
    local = np.empty(program.num_states, np.int32)
    local[order] = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[rule_of[order]]

    def split(rows: Int32) -> list[Int32]:
        """The rows of each rule, with local state numbers in the first and the last column."""
        of = rule_of[rows[:, 0]]
        by = np.argsort(of, kind="stable")
        rows = rows[by]
        rows[:, 0], rows[:, -1] = local[rows[:, 0]], local[rows[:, -1]]
        return np.split(rows, np.searchsorted(of[by], np.arange(1, len(able))))

    parts = split(program.arcs), split(epsilons), split(calls[~inside & able[calls[:, 1]]])
    end = np.ones(1, np.int32)
    return tuple(
        Program(int(size), 0, arcs, silent, end, calls=calling) if size and words else None
        for size, words, arcs, silent, calling in zip(sizes, able, *parts, strict=True)
    )


def _into(program: Program, rule_of: Int32, most: int) -> NDArray[np.int64]:
    """The rule into which each rule is finally inlined; the rule itself if it stays."""
    called: list[int] = program.calls[:, 1].tolist()
    calling: list[int] = rule_of[program.calls[:, 0]].tolist()
    callers: dict[int, list[int]] = {}
    for caller, rule in zip(calling, called, strict=True):
        callers.setdefault(rule, []).append(caller)
    parent = {r: c[0] for r, c in callers.items() if len(c) == 1 and c[0] != r and r != 0}
    inner: dict[int, list[int]] = {}
    for caller, rule in zip(calling, called, strict=True):
        if parent.get(rule) == caller:
            inner.setdefault(caller, []).append(rule)
    rules = range(len(program.rules))
    sizes: list[int] = np.bincount(rule_of, minlength=len(rules)).tolist()
    into = [*rules]
    # The innermost first. Rules that only call each other are never reached.
    order = [k for k in rules if k not in parent]
    for k in order:  # The list grows while it is read.
        order += inner.get(k, ())
    for k in reversed(order):
        for rule in inner.get(k, ()):
            if sizes[k] + sizes[rule] <= most:
                sizes[k] += sizes[rule]
                into[rule] = k
    for k in order:  # The outermost first.
        into[k] = into[into[k]]
    return np.array(into)


def with_loops(piece: Program, number: int) -> Program:
    """Replace the calls of a rule to itself by jumps to its start, if all of them are last calls.

    Args:
        number: The number of the rule.
    """
    own = piece.calls[:, 1] == number
    if not own.any():
        return piece
    going_on = {*piece.arcs[:, 0].tolist(), *piece.calls[:, 0].tolist()}
    silent: dict[int, list[int]] = {}
    for source, target in piece.epsilons.tolist():
        silent.setdefault(source, []).append(target)
    after: set[int] = {*piece.calls[own, 2].tolist()}
    if not all(going_on.isdisjoint(reached([target], silent)) for target in after):
        return piece
    sources = piece.calls[own, 0]
    back = np.column_stack([sources, np.zeros_like(sources)])
    silent_too = np.concatenate([piece.epsilons, back])
    return structs.replace(piece, calls=piece.calls[~own], epsilons=silent_too)


def piece_of(rule: SmallRule) -> Program:
    """A machine over bytes and calls as a piece: state s becomes s + 1, and the one ε-arc goes from
    state 0 to its start.
    """
    nfa = dfa_to_nfa(rule[0])
    one_more = np.array([1, 0, 0, 1], np.int32)
    reading = nfa.arcs[nfa.arcs[:, 1] < NUM_BYTES] + one_more
    reading[:, 2] = np.minimum(reading[:, 2], NUM_BYTES - 1)
    calling = nfa.arcs[nfa.arcs[:, 2] >= NUM_BYTES] + one_more
    low = np.maximum(calling[:, 1], NUM_BYTES) - NUM_BYTES
    many = calling[:, 2] - NUM_BYTES - low + 1
    rows = np.repeat(np.arange(len(calling)), many)
    # The symbols of each row, one after the other.
    nth = np.arange(len(rows)) - np.repeat(np.cumsum(many) - many, many)
    callees = np.array(rule[1], np.int32)[low[rows] + nth]
    calls = np.column_stack([calling[rows, 0], callees, calling[rows, 3]]).astype(np.int32)
    begins = np.array([[0, nfa.start + 1]], np.int32)
    return Program(nfa.num_states + 1, 0, reading, begins, nfa.accepting + 1, calls=calls)


def laid_in(
    piece: Program, machines: Mapping[int, SmallRule], limit: int | None = None,
    places: Set[tuple[int, int]] | None = None,
) -> Program:  # fmt: skip
    """A rule with some of its calls replaced by machines.

    Args:
        machines: The machines of some of the rules that it calls, by number.
        limit: The most states; a call that would exceed it stays.
        places: The calls to replace, as pairs of a state (minus 1) and the called rule; default
            all.
    """
    arcs, epsilons = [piece.arcs], [piece.epsilons]
    calls: list[Int32] = []
    made: dict[int, Program] = {}
    staying: list[int] = []
    states = piece.num_states
    rows: list[list[int]] = piece.calls.tolist()
    for k, (source, callee, target) in enumerate(rows):
        size = machines[callee][0].num_states if callee in machines else 0
        elsewhere = callee not in machines or (
            places is not None and (source - 1, callee) not in places
        )
        if elsewhere or (limit is not None and states + size > limit):
            staying.append(k)
            continue
        if callee not in made:
            made[callee] = piece_of(machines[callee])
        inner = made[callee]
        ends = inner.accepting + states
        arcs.append(inner.arcs + np.array([states, 0, 0, states], np.int32))
        calls.append(inner.calls + np.array([states, 0, states], np.int32))
        begin = np.array([[source, int(inner.epsilons[0, 1]) + states]], np.int32)
        epsilons += [begin, np.column_stack([ends, np.full_like(ends, target)])]
        states += inner.num_states
    return Program(
        states, 0, np.concatenate(arcs), np.concatenate(epsilons), piece.accepting,
        calls=np.concatenate([piece.calls[staying], *calls]),
    )  # fmt: skip


def determinized(piece: Program, meter: Meter) -> SmallRule:
    """A rule as a minimal machine."""
    callees, symbol = np.unique(piece.calls[:, 1], return_inverse=True)
    symbol = symbol.reshape(-1) + NUM_BYTES
    calling = np.column_stack([piece.calls[:, 0], symbol, symbol, piece.calls[:, 2]])
    nfa = Program(
        piece.num_states, 0, np.concatenate([piece.arcs, calling]).astype(np.int32),
        piece.epsilons, piece.accepting, NUM_BYTES + len(callees),
    )  # fmt: skip
    return minimal_dfa(nfa, meter), tuple(callees.tolist())


def reached(start: Iterable[int], following: dict[int, list[int]]) -> set[int]:
    """The nodes of a graph that can be reached from others.

    Args:
        start: The nodes to begin with.
        following: The successors of each node; a node without any may be missing.
    """
    seen = set(start)
    waiting = list(seen)
    while waiting:
        for target in following.get(waiting.pop(), ()):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def components(following: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected components in reverse topological order (Tarjan 1972).

    Args:
        following: The successors of each node.

    Example:
        >>> components([[1], [2], [1], [0]])
        [[2, 1], [0], [3]]
    """
    order: list[int] = [-1] * len(following)
    low = [0] * len(following)
    on_stack = [False] * len(following)
    stack: list[int] = []
    in_order: list[list[int]] = []
    count = 0
    for root in range(len(following)):
        if order[root] >= 0:
            continue
        work = [(root, 0)]
        while work:
            here, at = work.pop()
            if at == 0:
                order[here] = low[here] = count
                count += 1
                stack.append(here)
                on_stack[here] = True
            descended = False
            for k in range(at, len(following[here])):
                target = following[here][k]
                if order[target] < 0:
                    work += [(here, k + 1), (target, 0)]
                    descended = True
                    break
                if on_stack[target]:
                    low[here] = min(low[here], order[target])
            if descended:
                continue
            if low[here] == order[here]:
                component: list[int] = []
                while not component or component[-1] != here:
                    component.append(stack.pop())
                    on_stack[component[-1]] = False
                in_order.append(component)
            if work:
                above = work[-1][0]
                low[above] = min(low[above], low[here])
    return in_order
