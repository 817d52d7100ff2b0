"""A push-down automaton as a drawing: each arc says what it reads, pops and pushes.

A label has the text that is read, then the symbols that are popped and pushed: ``a  +7`` pushes
the symbol 7, ``b  −7`` pops it, ``b  −7 −7`` pops it twice, and ``b  ⊥`` needs an empty stack. A
symbol has the number of the state to return to, so it can be found in the drawing.

`FIGURE_6` and `FIGURE_7` are the machines of Figures 6 and 7 of Koo et al. (2024): the grammar
S → ab | aSb, and its composition with the tokens {a, b, bb, aaab}, in which a token pops and pushes
several symbols. The paper draws an initial stack symbol and ε arcs; here the stack is empty at the
start, every arc reads, and the machine ends with an empty stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from explorer.alphabet import NUM_BYTES
from explorer.automata.machine import ByteMachine
from explorer.automata.rules.moves import Actions, actions_of
from explorer.automata.rules.pushdown import (
    EMPTY,
    Config,
    Pushdown,
    PushdownArc,
    composed,
    pushdown_of,
)
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.memo import memo
from explorer.tokens.machine import TokenMachine
from widgets.figures.drawing.geometry import Layout
from widgets.figures.drawing.labels import byte_text, ranges_label
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.drawing.svg import SOFT, Mark, box, document, machine, text
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure
from widgets.figures.snapshot import Snapshot

MOST_DRAWN: Final = 24
"""The most states of an automaton that is drawn whole; else the rules around a configuration."""

LIMITS: Final = Budget(states=3_000, arcs=400_000, seconds=2.0)
"""The limits of an automaton that is drawn."""

MOST_BOXES: Final = 12
"""The most symbols of a stack that a picture shows."""

FIGURE_TOKENS: Final = (b"a", b"b", b"bb", b"aaab")
"""The vocabulary of the paper's Figure 7."""

FIGURE_6: Final = Pushdown(
    0,
    frozenset({2}),
    (
        PushdownArc(0, ord("a"), (), (), 1),
        PushdownArc(1, ord("a"), (), (2,), 1),
        PushdownArc(1, ord("b"), (), (), 2),
        PushdownArc(2, ord("b"), (2,), (), 2),
    ),
)
"""S → ab | aSb over characters: aⁿbⁿ with n ≥ 1, so not the empty text.

State 0 is before S, state 1 after an a of a rule, state 2 after an S. The stack symbol is the rule
that waits for its b, with a dot where it goes on: `FIGURE_SYMBOLS`.
"""

FIGURE_SYMBOLS: Final = {2: "S→aS·b"}
"""The stack symbol of `FIGURE_6` as the paper writes it: a dotted rule, the return address."""

FIGURE_7: Final = composed(FIGURE_6, FIGURE_TOKENS, Meter())
"""`FIGURE_6` over `FIGURE_TOKENS`."""


@memo
def drawn_pushdown(machine: ByteMachine) -> Pushdown | None:
    """The automaton of a grammar, kept with its machine; ``None`` if it is too large."""
    if machine.stacks is None:
        return None
    try:
        meter = Meter(LIMITS)
        network = machine.stacks.network
        actions = actions_of(network, meter)
        return pushdown_of(network, actions, meter) if isinstance(actions, Actions) else None
    except BudgetExceeded:
        return None


def near_states(machine: ByteMachine, whole: Pushdown, state: int, deep: int = 3) -> set[int]:
    """The states that are drawn: all of a small automaton, else those of the open rules."""
    states = {*whole.states}
    if len(states) <= MOST_DRAWN:
        return states
    known = None if machine.stacks is None else machine.stacks.symbols(state)
    if known is None:
        return set()
    here, stack = known
    near = {here, *stack[:deep]}
    for arc in whole.arcs:
        if arc.source == here and len(near) < MOST_DRAWN:
            near.add(arc.target)
    for arc in whole.arcs:
        if arc.source in stack[:deep] and len(near) < MOST_DRAWN:
            near.add(arc.target)
    return near


@lru_cache(maxsize=64)
def _laid_out(machine: ByteMachine, near: frozenset[int]) -> tuple[MachineFigure, Layout] | None:
    """The drawing of some states, with its layout; the last few drawings are kept."""
    whole = drawn_pushdown(machine)
    if whole is None:
        return None
    figure = pushdown_figure(whole, near)
    return figure, lay_out_figures({"stage": figure})["stage"]


def pushdown_near(machine: TokenMachine, state: int) -> tuple[MachineFigure, Layout] | None:
    """The push-down automaton of a grammar, or its part around a state, laid out.

    Args:
        state: A state of it, or a sentinel.

    Returns:
        The figure and its layout; ``None`` if the machine has no stack, or several, or if its
        automaton is too large.
    """
    inner = machine.byte_machine
    if inner is None or inner.stacks is None or state < 0:
        return None
    whole = drawn_pushdown(inner)
    if whole is None:
        return None
    return _laid_out(inner, frozenset(near_states(inner, whole, machine.byte_state(state))))


def pushdown_figure(
    whole: Pushdown,
    only: Iterable[int] | None = None,
    words: Sequence[str] | None = None,
    symbols: Mapping[int, str] | None = None,
) -> MachineFigure:
    """The drawing of an automaton, over bytes or over tokens.

    Args:
        words: The text of each token; without it the labels are bytes.
        symbols: Names of stack symbols; one without a name is shown as its number.

    Example:
        >>> [edge.label for edge in pushdown_figure(FIGURE_6).edges]
        ['a', 'a +2', 'b', 'b −2']
        >>> [edge.label for edge in pushdown_figure(FIGURE_6, symbols=FIGURE_SYMBOLS).edges]
        ['a', 'a +S→aS·b', 'b', 'b −S→aS·b']
        >>> texts = [word.decode() for word in FIGURE_TOKENS]
        >>> [edge.label for edge in pushdown_figure(FIGURE_7, words=texts).edges]
        ['a', 'aaab +2 +2', 'a +2', 'b · bb −2 · aaab +2 +2 +2', 'b −2 · bb −2 −2']
    """
    named = symbols or {}
    states = {*whole.states} if only is None else {*only}
    nodes = tuple(
        FigureNode(
            f"p{state}", str(state), accepting=state in whole.finals, start=state == whole.start
        )
        for state in sorted(states)
    )
    between: dict[tuple[int, int], dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]]] = {}
    for arc in whole.arcs:
        if arc.source in states and arc.target in states:
            moves = between.setdefault((arc.source, arc.target), {})
            moves.setdefault((arc.pops, arc.pushes), []).append(arc.label)
    read = _bytes if words is None else _named(words)
    edges: list[Edge] = []
    for (source, target), moves in sorted(between.items()):
        pieces = [
            f"{read(labels)}{_moved(pops, pushes, named)}"
            for (pops, pushes), labels in moves.items()
        ]
        label = " · ".join(pieces[:3]) + (f" · +{len(pieces) - 3}" if len(pieces) > 3 else "")
        count = sum(map(len, moves.values()))
        edges.append(Edge(f"p{source}", f"p{target}", label, " · ".join(pieces), count))
    complete = len(states) == len(whole.states)
    about = f"{len(whole.states):,} states" if complete else (
        f"{len(states)} of {len(whole.states):,} states: the rules that are open"
    )  # fmt: skip
    return MachineFigure("stage", about, complete, nodes, tuple(edges))


def _moved(pops: tuple[int, ...], pushes: tuple[int, ...], named: Mapping[int, str]) -> str:
    """The change of the stack by an arc, to be written after the text that it reads."""
    taken = [" ⊥" if symbol == EMPTY else f" −{named.get(symbol, symbol)}" for symbol in pops]
    return "".join([*taken, *(f" +{named.get(symbol, symbol)}" for symbol in reversed(pushes))])


def _bytes(labels: Sequence[int]) -> str:
    """Bytes in few words."""
    if all(label < 0x80 for label in labels) or len(labels) == NUM_BYTES:
        ranges: list[tuple[int, int]] = []
        for label in sorted(labels):
            if ranges and ranges[-1][1] == label - 1:
                ranges[-1] = (ranges[-1][0], label)
            else:
                ranges.append((label, label))
        return ranges_label(ranges)
    shown = " ".join(byte_text(label) for label in labels[:2])
    return shown if len(labels) <= 2 else f"{shown} +{len(labels) - 2}"


def _named(words: Sequence[str]) -> Callable[[Sequence[int]], str]:
    def read(labels: Sequence[int]) -> str:
        shown = ", ".join(words[label] for label in labels[:3])
        return shown if len(labels) <= 3 else f"{shown} +{len(labels) - 3}"

    return read


def pushdown_still(
    whole: Pushdown,
    config: Config | None = None,
    words: Sequence[str] | None = None,
    symbols: Mapping[int, str] | None = None,
) -> Snapshot:
    """An automaton as a picture and as text, with a state and a stack.

    Args:
        config: The state and the stack; by default no state is lit.
        words: The text of each token; without it the labels are bytes.
        symbols: Names of stack symbols; one without a name is shown as its number.

    Example:
        >>> print(pushdown_still(FIGURE_6, (1, (2, 2))).text)
        state 1, on the stack: 2 2
        a: pushes 2, leads to state 1
        b: leads to state 2
    """
    figure = pushdown_figure(whole, words=words, symbols=symbols)
    named = symbols or {}
    layout = lay_out_figures({"stage": figure})["stage"]
    state, stack = (None, ()) if config is None else config
    lit: dict[str, Mark] = {} if state is None else {f"p{state}": "now"}
    parts = [machine(figure, layout, lit)]
    width = layout.width
    if stack:
        parts.append(text(width + 8, 18, "stack", size=12))
        for row, symbol in enumerate(stack[:MOST_BOXES]):
            name = str(named.get(symbol, symbol))
            wide = max(40, 8 * len(name) + 12)
            parts.append(box(width + 8, 26 + 24 * row, wide, 21, stroke=SOFT, radius=3))
            middle = width + 8 + wide / 2
            parts.append(text(middle, 41 + 24 * row, name, anchor="middle", mono=True))
        width += 20 + max(max(40, 8 * len(str(named.get(one, one))) + 12) for one in stack)
    height = max(layout.height, 30 + 24 * min(len(stack), MOST_BOXES))
    told = _told(whole, config, words, named)
    title = f"Push-down automaton: {'. '.join(told.splitlines())}"
    return Snapshot(document(width, height, title, parts), told, title)


def _told(
    whole: Pushdown,
    config: Config | None,
    words: Sequence[str] | None,
    named: Mapping[int, str],
) -> str:
    """The configuration and its arcs, in lines; without a configuration, all arcs."""
    lines: list[str] = []
    arcs = whole.arcs
    if config is not None:
        state, stack = config
        where = (
            f"on the stack: {' '.join(str(named.get(one, one)) for one in stack)}"
            if stack
            else "the stack is empty"
        )
        ends = "; the text may end" if state in whole.finals and not stack else ""
        lines.append(f"state {state}, {where}{ends}")
        arcs = tuple(a for a in arcs if a.source == state and a.after(stack) is not None)
    for arc in arcs:
        read = byte_text(arc.label) if words is None else words[arc.label]
        pops = [str(named.get(symbol, symbol)) for symbol in arc.pops if symbol != EMPTY]
        pushes = [str(named.get(symbol, symbol)) for symbol in arc.pushes]
        does = [f"pops {' '.join(pops)}"] if pops else []
        does += [f"pushes {' '.join(pushes)}"] if pushes else []
        before = "" if config is not None else f"state {arc.source}, "
        lines.append(f"{before}{read}: {', '.join([*does, f'leads to state {arc.target}'])}")
    return "\n".join(lines)
