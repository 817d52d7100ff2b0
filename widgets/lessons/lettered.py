"""Small machines with letters on their arcs, as textbooks draw them: acceptors and transducers.

A value of one type serves both: an acceptor writes what it reads. So the machines of a paper's
figures, those of a notebook and those of the engine can be drawn in one way and compared arc by
arc (`widgets.lessons.matched`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from explorer.automata.byte_intervals import byte_intervals
from explorer.automata.machine import Dfa, Nfa
from explorer.automata.textbook.steps import Subsets
from explorer.languages.stages.stage import DrawnTransducer
from widgets.figures.drawing.labels import ranges_label
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.drawing.svg import Mark, document, machine, text
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure
from widgets.figures.snapshot import Snapshot
from widgets.lessons.shown import figure_words

Arc = tuple[int, str, str, int]
"""A state, what is read, what is written, and the state after; an empty text is ε."""


def acceptor(
    num_states: int, arcs: Iterable[tuple[int, str, int]], accepting: Iterable[int]
) -> DrawnTransducer:
    """A machine that accepts texts; state 0 is the start.

    Args:
        num_states: How many states there are.
        arcs: ``(source, letters, target)``; an empty text is ε.
        accepting: Where a text may end.

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
        >>> nfa_letters(lay_out(parse("a+").root, Meter()).nfa).arcs
        ((2, 'a', 'a', 3), (0, '', '', 2), (3, '', '', 2), (3, '', '', 1))
    """
    arcs = [
        (source, ranges_label([(low, high)], in_bytes=True), target)
        for source, low, high, target in nfa.arcs.tolist()
    ]
    free = [(source, "", target) for source, target in nfa.epsilons.tolist()]
    return acceptor(nfa.num_states, [*arcs, *free], nfa.accepting.tolist())


def subset_letters(found: Subsets) -> DrawnTransducer:
    """The deterministic machine of the subset construction.

    Args:
        found: From `explorer.automata.textbook.steps.subsets_of`.
    """
    return acceptor(len(found.sets), _together(found.arcs), found.accepting)


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
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for source, low, high, target in arcs:
        ranges = found.setdefault((source, target), [])
        if ranges and ranges[-1][1] + 1 == low:
            ranges[-1] = (ranges[-1][0], high)
        else:
            ranges.append((low, high))
    return [
        (source, ranges_label([one], in_bytes=True), target)
        for (source, target), ranges in found.items()
        for one in ranges
    ]


def arc_words(read: str, written: str, *, both: bool) -> str:
    """The words on an arc: what is read, and in a transducer what is written.

    Args:
        read, written: Texts; an empty one is ε.
        both: Whether the machine is a transducer.
    """
    one, other = (side.replace(" ", "␣") or "ε" for side in (read, written))
    return f"{one} : {other}" if both else one


def lettered_figure(
    machine: DrawnTransducer, names: Sequence[str] = (), *, loops: bool = False
) -> MachineFigure:
    """A machine as nodes and edges; arcs between the same two states are one edge.

    Args:
        machine: An acceptor or a transducer.
        names: Words in the circles; default the numbers of the states.
        loops: Whether it is a tree of ways that all lead back to the start, and is drawn as one.

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
    """The node of a state; the root of a tree has the name that the tree's layout looks for.

    Args:
        state: Its number.
        loops: Whether it is drawn as a tree.
    """
    return "t" if loops and state == 0 else f"s{state}"


def size_words(machine: DrawnTransducer) -> str:
    """How many states and arcs a machine has, in words."""
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
        title: What it is.
        shown: The machine.
        names: Words in the circles; default the numbers of the states.
        lit: States that are lit: where a machine is.
        loops: Whether it is a tree of ways that all lead back to the start, and is drawn as one.

    Example:
        >>> print(lettered_picture("ab", acceptor(3, [(0, "a", 1), (1, "b", 2)], [2])).text)
        ab: 3 states, 2 arcs
        0 -a-> 1
        1 -b-> 2
        start 0; the text may end in 2
    """
    figure = lettered_figure(shown, names, loops=loops)
    layout = lay_out_figures({"stage": figure})["stage"]
    here: dict[str, Mark] = {node_name(k, loops=loops): "now" for k in lit}
    words = f"{title}: {figure.caption}"
    lines = [words, *figure_words(figure)]
    if here:
        labels = {node.id: node.label for node in figure.nodes}
        lines.append(f"lit: {', '.join(labels[name] for name in here)}")
    described, alt = "\n".join(lines), "; ".join(lines)
    drawn = f'<g transform="translate(10 40)">{machine(figure, layout, here)}</g>'
    width = max(layout.width + 20, len(words) * 7.6 + 24)
    parts = [text(12, 22, words, size=13, bold=True), drawn]
    return Snapshot(document(width, layout.height + 50, alt, parts), described, alt)
