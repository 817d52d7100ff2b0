"""Each rule of a grammar as an automaton of its own, with arcs that read and arcs that call.

A rule's body is a tree like any other; it is laid out like any other
(`explorer.automata.tree.layout`). A call is an arc over a symbol above the 256 bytes. A grammar
inside another one, such as a part of a sequence, is one more rule, and so is whatever stands around
it: the `Root` of every tree is a rule without a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from explorer.alphabet import NUM_BYTES
from explorer.automata.machine import Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Call, Group, Node, Rules, Written
from explorer.automata.tree.origin import Built
from explorer.automata.tree.repeats import Counters
from explorer.budget import Meter

STAGE: Final = "Laying out a grammar"


@dataclass(frozen=True, slots=True, eq=False)
class RulePiece:
    """One rule as an automaton; state 0 is its start.

    Args:
        name: The rule; empty for what stands around a grammar.
        num_states: How many states there are.
        arcs: Rows ``(source, low, high, target)`` over bytes.
        calls: Rows ``(source, rule, target)``.
        epsilons: Rows ``(source, target)``.
        accepting: The states where it may end.
    """

    name: str
    num_states: int
    arcs: tuple[tuple[int, int, int, int], ...]
    calls: tuple[tuple[int, int, int], ...]
    epsilons: tuple[tuple[int, int], ...]
    accepting: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LaidRule:
    """One rule as it was laid out, before its arcs and calls are told apart.

    Args:
        name: The rule; empty for what stands around a grammar.
        rules: The grammar that it belongs to; ``None`` around one.
        built: Its automaton; a call is an arc over a symbol above the 256 bytes.
        callees: For each of those symbols the number of the rule, and its grammar.
        counters: Its counted repeats; none unless the rule is laid out as it was written.
    """

    name: str
    rules: Rules | None
    built: Built
    callees: tuple[tuple[int, Rules], ...]
    counters: Counters


def laid_rules(
    node: Node,
    meter: Meter,
    *,
    written: bool = False,
    machine: Callable[[Node], Dfa] | None = None,
) -> Iterator[LaidRule]:
    """Lay out all rules that a tree needs, the first that of the tree itself.

    Args:
        node: The tree: a grammar, or anything with grammars inside.
        meter: Watches sizes and time.
        written: Also tell where each arc was written; then repeats are counted, assertions count
            as if they held, and the first rule stands around the tree.
        machine: Builds the parts that are machines of their own; default anew.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    numbers: dict[tuple[int, str], int] = {}
    waiting: list[tuple[str, Node, Rules | None]] = []

    def number(rules: Rules, name: str) -> int:
        key = (id(rules), name)
        if key not in numbers:
            numbers[key] = len(waiting)
            waiting.append((name, rules.rules[name], rules))
        return numbers[key]

    around, inner = None, node
    while isinstance(inner, Group | Written):
        around, inner = inner, inner.body
    if isinstance(inner, Rules) and not written:
        number(inner, inner.root)
    else:
        waiting.append(("", node if written else around or node, None))
    for name, body, rules in waiting:  # The list grows while it is read.
        callees: list[tuple[int, Rules]] = []

        def symbol(
            call: Call | Rules,
            around: Rules | None = rules,
            callees: list[tuple[int, Rules]] = callees,
        ) -> int:
            if isinstance(call, Rules):
                callees.append((number(call, call.root), call))
            elif around is not None:
                callees.append((number(around, call.name), around))
            return NUM_BYTES + len(callees) - 1

        counters = Counters()
        built = lay_out(
            body, meter, machine=machine or (lambda inner: build(inner, meter)), call=symbol,
            with_origin=written, relax_assertions=written, counters=counters if written else None,
        )  # fmt: skip
        yield LaidRule(name, rules, built, tuple(callees), counters)


def pieces_of(node: Node, meter: Meter) -> tuple[RulePiece, ...]:
    """The automata of all rules that a tree needs, the first that of the tree itself.

    Args:
        node: The tree: a grammar, or anything with grammars inside.
        meter: Watches sizes and time.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    made: list[RulePiece] = []
    states = arcs = 0
    for laid in laid_rules(node, meter):
        nfa = laid.built.nfa
        rows: list[list[int]] = nfa.arcs.tolist()
        made.append(
            RulePiece(
                laid.name, nfa.num_states,
                tuple((a, b, c, d) for a, b, c, d in rows if b < NUM_BYTES),
                tuple((a, laid.callees[b - NUM_BYTES][0], d) for a, b, _, d in rows
                      if b >= NUM_BYTES),
                tuple((a, b) for a, b in nfa.epsilons.tolist()), (1,),
            )
        )  # fmt: skip
        states, arcs = states + nfa.num_states, arcs + len(rows)
        meter.check(STAGE, states=states, arcs=arcs, bytes=100 * arcs)
    return tuple(made)


def productive(pieces: Sequence[RulePiece]) -> list[bool]:
    """Which rules have a word at all: a fixpoint over the automata.

    Args:
        pieces: All rules.
    """
    able = [False] * len(pieces)
    following = [list({rule for _, rule, _ in piece.calls}) for piece in pieces]
    callers: list[list[int]] = [[] for _ in pieces]
    for k, called in enumerate(following):
        for rule in called:
            callers[rule].append(k)
    for component in components(following):  # What a rule calls comes before it.
        inside = set(component)
        waiting = dict.fromkeys(component)
        while waiting:
            k, _ = waiting.popitem()
            if not able[k] and _has_word(pieces[k], able):
                able[k] = True
                waiting.update(dict.fromkeys(c for c in callers[k] if c in inside and not able[c]))
    return able


def _has_word(piece: RulePiece, able: Sequence[bool]) -> bool:
    following: dict[int, list[int]] = {}
    for source, _, _, target in piece.arcs:
        following.setdefault(source, []).append(target)
    for source, rule, target in piece.calls:
        if able[rule]:
            following.setdefault(source, []).append(target)
    for source, target in piece.epsilons:
        following.setdefault(source, []).append(target)
    return not reached([0], following).isdisjoint(piece.accepting)


def with_only_calls(pieces: Sequence[RulePiece], most: int) -> tuple[RulePiece, ...]:
    """The same rules, each that is called in one place only laid in there; its own is then empty.

    Args:
        pieces: All rules, of which the first begins.
        most: The most states of a rule with all that is laid into it.
    """
    callers: dict[int, list[int]] = {}
    for k, piece in enumerate(pieces):
        for _, rule, _ in piece.calls:
            callers.setdefault(rule, []).append(k)
    parent = {r: c[0] for r, c in callers.items() if len(c) == 1 and c[0] != r and r != 0}
    inner: dict[int, list[int]] = {}
    for rule, caller in parent.items():
        inner.setdefault(caller, []).append(rule)
    made = list(pieces)
    # The innermost first. Rules that are called only by each other are never come to.
    order = [k for k in range(len(pieces)) if k not in parent]
    for k in order:  # The list grows while it is read.
        order += inner.get(k, ())
    for k in reversed(order):
        piece = made[k]
        states, arcs, epsilons = piece.num_states, list(piece.arcs), list(piece.epsilons)
        calls: list[tuple[int, int, int]] = []
        for source, rule, target in piece.calls:
            callee = made[rule]
            if parent.get(rule) != k or states + callee.num_states > most:
                calls.append((source, rule, target))
                continue
            arcs += [(a + states, low, high, b + states) for a, low, high, b in callee.arcs]
            calls += [(a + states, r, b + states) for a, r, b in callee.calls]
            epsilons += [(a + states, b + states) for a, b in callee.epsilons]
            epsilons.append((source, states))
            epsilons += [(end + states, target) for end in callee.accepting]
            states += callee.num_states
            made[rule] = RulePiece(callee.name, 1, (), (), (), ())
        if states > piece.num_states:
            made[k] = RulePiece(
                piece.name, states, tuple(arcs), tuple(calls), tuple(epsilons), piece.accepting
            )
    return tuple(made)


def with_loops(piece: RulePiece, number: int) -> RulePiece:
    """A rule that calls itself only as the last thing it does: it goes back to its start instead.

    Args:
        piece: The rule.
        number: Its own number.
    """
    if not any(rule == number for _, rule, _ in piece.calls):
        return piece
    going_on = {source for source, *_ in (*piece.arcs, *piece.calls)}
    silent: dict[int, list[int]] = {}
    for source, target in piece.epsilons:
        silent.setdefault(source, []).append(target)
    last = {
        target
        for _, rule, target in piece.calls
        if rule == number and going_on.isdisjoint(reached([target], silent))
    }
    if any(rule == number and after not in last for _, rule, after in piece.calls):
        return piece
    calls = tuple(row for row in piece.calls if row[1] != number)
    back = tuple((source, 0) for source, rule, _ in piece.calls if rule == number)
    return replace(piece, calls=calls, epsilons=(*piece.epsilons, *back))


def reached(start: Iterable[int], following: dict[int, list[int]]) -> set[int]:
    """Everything that can be reached.

    Args:
        start: Where to begin.
        following: What comes after each.
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
    """The strongly connected components, each after those that it leads to (Tarjan 1972).

    Args:
        following: What each node leads to.

    Example:
        >>> components([[1], [2], [1], [0]])
        [[2, 1], [0], [3]]
    """
    order: list[int] = [-1] * len(following)
    low = [0] * len(following)
    on_stack = [False] * len(following)
    stack: list[int] = []
    found: list[list[int]] = []
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
                found.append(component)
            if work:
                above = work[-1][0]
                low[above] = min(low[above], low[here])
    return found
