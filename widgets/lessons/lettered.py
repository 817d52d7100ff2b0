"""Small machines with letters on their arcs, as textbooks draw them: acceptors and transducers.

Both are values of one type, because an acceptor is a transducer that writes what it reads. So the
machines of a paper's figures, of a notebook and of the engine can be drawn in one way and compared
arc by arc. `matched` allows only the numbers of the states to differ: a machine that accepts the
same texts with one more state does not match.

The figures are 1 to 5 and 9 of Koo, Liu and He (2024), written down by hand from their captions, so
that they are independent of the engine; the tests compare each of them with the machine that the
engine or pynini builds. Figures 6 and 7, which have a stack, are in
`widgets.figures.machines.pushdown_figure`, and `widgets.lessons.film` compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from explorer.automata.drawn import byte_intervals
from explorer.automata.machine import Dfa, Nfa
from explorer.automata.textbook.steps import Subsets
from explorer.languages.stages.stage import DrawnTransducer
from widgets.figures.drawing.labels import ranges_label
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.drawing.svg import Mark, document, machine, text
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure
from widgets.figures.snapshot import Snapshot


def figure_words(figure: MachineFigure) -> list[str]:
    """The arcs of a machine, one per line, and the states in which it starts and may end."""
    names = {node.id: node.label or node.id for node in figure.nodes}
    lines = [f"{names[e.source]} -{e.label}-> {names[e.target]}" for e in figure.edges]
    starts = ", ".join(names[node.id] for node in figure.nodes if node.start)
    ends = ", ".join(names[node.id] for node in figure.nodes if node.accepting)
    return [*lines, f"start {starts}; the text may end in {ends or 'no state'}"]


Arc = tuple[int, str, str, int]
"""An arc: its state, the text read, the text written, and the next state; an empty text is ε."""


def acceptor(
    num_states: int, arcs: Iterable[tuple[int, str, int]], accepting: Iterable[int]
) -> DrawnTransducer:
    """A machine that accepts texts; state 0 is the start.

    Args:
        arcs: ``(source, letters, target)``; an empty text is ε.

    Example:
        >>> acceptor(3, [(0, "a", 1), (1, "b", 2)], [2]).arcs
        ((0, 'a', 'a', 1), (1, 'b', 'b', 2))
    """
    rows = tuple((source, letters, letters, target) for source, letters, target in arcs)
    return DrawnTransducer(num_states, rows, frozenset(accepting))


def is_acceptor(machine: DrawnTransducer) -> bool:
    """Whether every arc writes what it reads."""
    return all(read == written for _, read, written, _ in machine.arcs)


def nfa_letters(nfa: Nfa) -> DrawnTransducer:
    """A nondeterministic machine of the engine; its state 0 is the start.

    Args:
        nfa: Over bytes.

    Example:
        >>> from explorer.languages.regex import parse
        >>> from explorer.automata.tree.layout import lay_out
        >>> from explorer.budget import Meter
        >>> nfa_letters(lay_out(parse("a+").root, Meter())).arcs
        ((2, 'a', 'a', 3), (0, '', '', 2), (3, '', '', 2), (3, '', '', 1))
    """
    arcs = [
        (source, ranges_label([(low, high)], in_bytes=True), target)
        for source, low, high, target in nfa.arcs.tolist()
    ]
    free = [(source, "", target) for source, target in nfa.epsilons.tolist()]
    return acceptor(nfa.num_states, [*arcs, *free], nfa.accepting.tolist())


def subset_letters(subsets: Subsets) -> DrawnTransducer:
    """The deterministic machine of the subset construction.

    Args:
        found: From `explorer.automata.textbook.steps.subsets_of`.
    """
    return acceptor(len(subsets.sets), _together(subsets.arcs), subsets.accepting)


def dfa_letters(dfa: Dfa) -> DrawnTransducer:
    """A deterministic machine of the engine, its start first.

    Args:
        dfa: Over bytes, with few states.

    Example:
        >>> from explorer import regex
        >>> dfa_letters(regex("a[0-9]").dfa).arcs
        ((0, 'a', 'a', 1), (1, '0-9', '0-9', 2))
    """
    order = [dfa.start, *(k for k in range(dfa.num_states) if k != dfa.start)]
    number = {state: k for k, state in enumerate(order)}
    steps = byte_intervals(dfa)
    arcs = [
        (number[state], low, high, number[target])
        for state in order
        for low, high, target in steps[state]
    ]
    return acceptor(len(order), _together(arcs), (number[k] for k in order if dfa.accepting[k]))


def _together(arcs: Iterable[tuple[int, int, int, int]]) -> list[tuple[int, str, int]]:
    """Neighbouring symbols between the same states as one arc."""
    ranges_between: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for source, low, high, target in arcs:
        ranges = ranges_between.setdefault((source, target), [])
        if ranges and ranges[-1][1] + 1 == low:
            ranges[-1] = (ranges[-1][0], high)
        else:
            ranges.append((low, high))
    return [
        (source, ranges_label([one], in_bytes=True), target)
        for (source, target), ranges in ranges_between.items()
        for one in ranges
    ]


def arc_words(read: str, written: str, *, both: bool) -> str:
    """The label of an arc: the text read, and in a transducer also the text written.

    Args:
        read, written: Texts; an empty one is ε.
    """
    one, other = (side.replace(" ", "␣") or "ε" for side in (read, written))
    return f"{one} : {other}" if both else one


def lettered_figure(
    machine: DrawnTransducer, names: Sequence[str] = (), *, loops: bool = False
) -> MachineFigure:
    """A machine as nodes and edges; arcs between the same two states are one edge.

    Args:
        names: Words in the circles; default the numbers of the states.
        loops: Whether to draw it as a tree whose branches all lead back to the start.

    Example:
        >>> swap = DrawnTransducer(1, ((0, "a", "b", 0),), frozenset([0]))
        >>> [edge.label for edge in lettered_figure(swap).edges]
        ['a : b']
    """
    both = not is_acceptor(machine)
    labels: dict[tuple[int, int], list[str]] = {}
    for source, read, written, target in machine.arcs:
        labels.setdefault((source, target), []).append(arc_words(read, written, both=both))
    nodes = tuple(
        FigureNode(
            node_name(k, loops=loops),
            names[k] if names else str(k),
            "state",
            k in machine.accepting,
            k == 0,
        )
        for k in range(machine.num_states)
    )
    edges = tuple(
        Edge(
            node_name(a, loops=loops),
            node_name(b, loops=loops),
            "   ".join(words),
            ", ".join(words),
            len(words),
        )
        for (a, b), words in labels.items()
    )
    name = "detokenizing_fst" if loops else "stage"
    return MachineFigure(name, size_words(machine), True, nodes, edges)


def node_name(state: int, *, loops: bool) -> str:
    """The node of a state; the root of a tree has the name that the tree's layout looks for."""
    return "t" if loops and state == 0 else f"s{state}"


def size_words(machine: DrawnTransducer) -> str:
    """The numbers of states and arcs of a machine, in words."""
    states = "1 state" if machine.num_states == 1 else f"{machine.num_states} states"
    arcs = "1 arc" if len(machine.arcs) == 1 else f"{len(machine.arcs)} arcs"
    free = sum(not read and not written for _, read, written, _ in machine.arcs)
    return f"{states}, {arcs}" + (f", {free} of them ε" if free else "")


def lettered_picture(
    title: str,
    shown: DrawnTransducer,
    *,
    names: Sequence[str] = (),
    lit: Iterable[int] = (),
    loops: bool = False,
) -> Snapshot:
    """A machine under its title.

    Args:
        title: The title.
        shown: The machine.
        names: Words in the circles; default the numbers of the states.
        lit: The states that are lit, such as the present ones.
        loops: Whether to draw it as a tree whose branches all lead back to the start.

    Example:
        >>> print(lettered_picture("ab", acceptor(3, [(0, "a", 1), (1, "b", 2)], [2])).text)
        ab: 3 states, 2 arcs
        0 -a-> 1
        1 -b-> 2
        start 0; the text may end in 2
    """
    figure = lettered_figure(shown, names, loops=loops)
    here: dict[str, Mark] = {node_name(k, loops=loops): "now" for k in lit}
    words = f"{title}: {figure.caption}"
    lines = figure_words(figure)
    if here:
        labels = {node.id: node.label for node in figure.nodes}
        lines.append(f"lit: {', '.join(labels[name] for name in here)}")
    return titled(words, figure, lines, here)


def titled(
    words: str,
    figure: MachineFigure,
    lines: Sequence[str],
    nodes: Mapping[str, Mark] | None = None,
    edges: Mapping[str, Mark] | None = None,
) -> Snapshot:
    """A machine under its title.

    Args:
        lines: The text of the picture, below the title.
        nodes: The states that are lit.
        edges: The arcs that are lit.
    """
    layout = lay_out_figures({"stage": figure})["stage"]
    drawn = f'<g transform="translate(10 40)">{machine(figure, layout, nodes, edges)}</g>'
    described, alt = "\n".join([words, *lines]), "; ".join([words, *lines])
    width = max(layout.width + 20, len(words) * 7.6 + 24)
    parts = [text(12, 22, words, size=13, bold=True), drawn]
    return Snapshot(document(width, layout.height + 50, alt, parts), described, alt)


Match = dict[int, int]
"""For each state of one machine, the state of the other."""


def matched(one: DrawnTransducer, other: DrawnTransducer) -> Match | None:
    """The states of two machines that correspond; ``None`` if there is no such pairing.

    Args:
        one, other: Machines of a few states.

    Returns:
        A pairing of all states, in which the starts, the accepting states and all arcs with their
        labels correspond.

    Example:
        >>> ab = DrawnTransducer(2, ((0, "a", "a", 1), (1, "b", "b", 0)), frozenset([1]))
        >>> matched(ab, ab)
        {0: 0, 1: 1}
        >>> matched(ab, DrawnTransducer(2, ((0, "a", "a", 1),), frozenset([1]))) is None
        True
    """
    if one.num_states != other.num_states or len(one.arcs) != len(other.arcs):
        return None
    return _extended(one, other, {0: 0}) if one.num_states else {}


def _extended(one: DrawnTransducer, other: DrawnTransducer, pairs: Match) -> Match | None:
    """A pairing of all states that contains the given pairs, found by trying all of them."""
    if not _fits(one, other, pairs):
        return None
    if len(pairs) == one.num_states:
        return pairs
    state = min(k for k in range(one.num_states) if k not in pairs)
    for image in range(other.num_states):
        if image not in pairs.values():
            extended = _extended(one, other, {**pairs, state: image})
            if extended is not None:
                return dict(sorted(extended.items()))
    return None


def _fits(one: DrawnTransducer, other: DrawnTransducer, pairs: Match) -> bool:
    """Whether the paired states have the same arcs among each other, and the same ends."""
    if any((k in one.accepting) != (image in other.accepting) for k, image in pairs.items()):
        return False
    back = {image: k for k, image in pairs.items()}
    inner = sorted(
        (pairs[a], read, written, pairs[b])
        for a, read, written, b in one.arcs
        if a in pairs and b in pairs
    )
    images = sorted(arc for arc in other.arcs if arc[0] in back and arc[3] in back)
    return inner == images


FIGURE_1: Final = {
    "ab": acceptor(3, [(0, "a", 1), (1, "b", 2)], [2]),
    "a(aa)*": acceptor(2, [(0, "a", 1), (1, "a", 0)], [1]),
    "a+|b+": acceptor(3, [(0, "a", 1), (1, "a", 1), (0, "b", 2), (2, "b", 2)], [1, 2]),
}
"""The figures by pattern: the text ab, an odd number of a, and a run of a or a run of b."""

FIGURE_2: Final = (
    acceptor(4, [(0, "a", 1), (1, "a", 1), (0, "a", 2), (2, "b", 3)], [1, 3]),
    acceptor(4, [(0, "a", 1), (1, "a", 2), (2, "a", 2), (1, "b", 3)], [1, 2, 3]),
)
"""``a+|ab`` before and after determinization."""

FIGURE_3: Final = {
    "ab to x": DrawnTransducer(3, ((0, "a", "x", 1), (1, "b", "", 2)), frozenset([2])),
    "an odd number of a to xoxo…x": DrawnTransducer(
        2, ((0, "a", "x", 1), (1, "a", "o", 0)), frozenset([1])
    ),
    "a run of a or b in brackets": DrawnTransducer(
        5,
        (
            (0, "", "[", 1),
            (1, "a", "a", 2),
            (2, "a", "a", 2),
            (1, "b", "b", 3),
            (3, "b", "b", 3),
            (2, "", "]", 4),
            (3, "", "]", 4),
        ),
        frozenset([4]),
    ),
}
"""The figures of transducers, by what they do."""

FIGURE_4: Final = DrawnTransducer(
    5,
    (
        (0, "f", "f", 0), (0, "", "f", 1), (1, "", "o", 2),
        (2, "foo", "o", 0), (2, "for", "r", 0), (2, "", "o", 3), (3, "food", "d", 0),
        (0, "", "o", 4), (4, "oo", "o", 0),
    ),
    frozenset([0]),
)  # fmt: skip
"""The detokenizing transducer of {f, oo, foo, for, food}, compact: a state is a proper prefix."""

FIGURE_5: Final = acceptor(
    4,
    [
        (0, "f", 1), (0, "foo", 2), (0, "food", 3),
        (1, "oo", 2),
        (2, "f", 1), (2, "foo", 2), (2, "food", 3),
    ],
    [3],
)  # fmt: skip
"""``(foo)+d`` over those tokens: the composition, determinized."""

FIGURE_9: Final = (
    DrawnTransducer(
        9,
        (
            (0, "f", "f", 0),
            (0, "", "o", 1), (1, "oo", "o", 0),
            (0, "", "f", 2), (2, "", "o", 3), (3, "foo", "o", 0),
            (0, "", "f", 4), (4, "", "o", 5), (5, "for", "r", 0),
            (0, "", "f", 6), (6, "", "o", 7), (7, "", "o", 8), (8, "food", "d", 0),
        ),
        frozenset([0]),
    ),
    FIGURE_4,
)  # fmt: skip
"""The same transducer as Algorithm 1 builds it, with three arcs ε : f, and its compact form."""
