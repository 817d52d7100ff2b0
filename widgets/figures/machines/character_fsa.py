"""The character FSA as a figure: what the constraint accepts.

The machine reads bytes, people read characters. In the character form an arc is a set of characters
and the states in the middle of a character appear, as small dots, only where a token can end there
and the way to them; in the byte form everything is drawn. A constraint over all of Unicode has
hundreds of such states: past `MOST_DOTS` they are one dot that stands for all (`alias`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from weakref import WeakKeyDictionary

from explorer.analysis.characters.display import show_characters
from explorer.analysis.verdict.machine import expected_bytes, machine_of
from explorer.automata.byte_intervals import Interval, byte_intervals
from explorer.automata.interegular_bridge import Piece, character_arcs
from explorer.automata.machine import NO_ARC, Dfa
from explorer.automata.regex.charset import char_set
from explorer.tokens.token_dfa import TokenDFA
from widgets.figures.drawing.labels import byte_text, ranges_label
from widgets.figures.machines.machine_figure import Edge, MachineFigure, Node

Form = Literal["characters", "bytes"]

MOST_DOTS: Final = 4
"""Past so many states in the middle of a character, one dot stands for all of them."""


@dataclass(frozen=True)
class CharacterView:
    """The character FSA, seen by characters.

    Args:
        arcs: For each state between characters its ranges of code points and where they lead.
        steps: For each state its byte intervals ``(low, high, target)``.
        dots: The states in the middle of a character that are drawn.
        collapsed: One dot stands for all of them.
    """

    arcs: Mapping[int, list[Piece]]
    steps: Sequence[list[Interval]]
    dots: frozenset[int]
    collapsed: bool

    def node(self, state: int) -> str:
        """The name, without its letter, of the node that stands for a state."""
        return "mid" if self.collapsed and state not in self.arcs else str(state)


_views: WeakKeyDictionary[TokenDFA, CharacterView] = WeakKeyDictionary()


def character_view(dfa: TokenDFA) -> CharacterView:
    """The character FSA of a token DFA by characters; worked out once.

    Args:
        dfa: The token DFA.
    """
    known = _views.get(dfa)
    if known is None:
        machine = dfa.constraint.dfa
        steps = byte_intervals(machine)
        arcs = character_arcs(machine, steps)
        dots = _dots(arcs, steps, set(dfa.char_state.tolist()))
        known = _views[dfa] = CharacterView(arcs, steps, dots, len(dots) > MOST_DOTS)
    return known


def _dots(
    arcs: Mapping[int, list[Piece]],
    steps: Sequence[list[Interval]],
    token_states: set[int],
) -> frozenset[int]:
    """The states in a character where a token can end, and those on the way to and from them."""
    middle = set(range(len(steps))) - set(arcs)
    ends = middle & token_states
    after: dict[int, set[int]] = {
        state: {target for _, _, target in steps[state]} & middle for state in middle
    }
    before: dict[int, set[int]] = {state: set() for state in middle}
    for state, targets in after.items():
        for target in targets:
            before[target].add(state)
    found: set[int] = set()
    for following in (after, before):
        seen = set(ends)
        waiting = list(ends)
        while waiting:
            for state in following[waiting.pop()]:
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)
        found |= seen
    return frozenset(found)


def expects(dfa: TokenDFA, state: int) -> str:
    """What a character state expects, in words.

    Args:
        dfa: The token DFA.
        state: A character state, in the middle of a character or not.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"d"], eos_ids=[3])
        >>> expects(explorer.compile(explorer.regex("(foo)+d"), vocab), 3)
        'd or f'
    """
    machine = dfa.constraint.dfa
    if state == NO_ARC:
        return "nothing"
    if state not in character_view(dfa).arcs:
        return _some(byte_text(byte) for byte in expected_bytes(machine, state))
    chars = machine_of(dfa).characters.expected(state)
    words = show_characters(chars) if chars.ranges else ""
    if machine.accepting[state]:
        return f"{words} or the end" if words else "the end"
    return words or "nothing"


def _some(words: Iterable[str], most: int = 6) -> str:
    listed = list(words)
    more = f" or {len(listed) - most} more bytes" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def character_figure(
    dfa: TokenDFA, form: Form = "characters", only: Iterable[int] | None = None
) -> MachineFigure:
    """The character FSA of a token DFA.

    Args:
        dfa: The token DFA; its dots are the states in a character where tokens can end.
        form: Arcs by character, or by byte.
        only: Draw these character states alone, for machines too large to be drawn whole.

    Returns:
        Nodes ``c<state>``; the start first.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"d"], eos_ids=[3])
        >>> figure = character_figure(explorer.compile(explorer.regex("(foo)+d"), vocab))
        >>> [(edge.source, edge.label, edge.target) for edge in figure.edges][-2:]
        [('c3', 'd', 'c4'), ('c3', 'f', 'c1')]
    """
    machine = dfa.constraint.dfa
    view = character_view(dfa)
    wanted = None if only is None else set(only)
    drawn: list[int] = []
    for state in _in_order(machine, view):
        between = state in view.arcs
        here = form == "bytes" or between or (state in view.dots and not view.collapsed)
        if here and (wanted is None or state in wanted):
            drawn.append(state)
    kept = set(drawn)
    nodes = [
        Node(
            f"c{state}",
            str(state) if state in view.arcs else "",
            "state" if state in view.arcs else "dot",
            bool(machine.accepting[state]),
            state == machine.start,
            f"state {state}: expects {expects(dfa, state)}",
        )
        for state in drawn
    ]
    alias: dict[str, str] = {}
    edges: list[Edge] = []
    if form == "bytes":
        for state in drawn:
            edges += _byte_edges(state, view.steps[state], kept)
    else:
        for state in drawn:
            if state in view.arcs:
                edges += _character_edges(state, view.arcs[state], kept)
            if not view.collapsed:
                reached = kept & view.dots if state in view.arcs else kept
                edges += _byte_edges(state, view.steps[state], reached)
        if view.collapsed and wanted is None:
            nodes.append(_middle("c", len(view.dots)))
            alias = {f"c{state}": "cmid" for state in sorted(view.dots)}
            edges += _collapsed(view, kept)
    caption = "what the pattern accepts"
    if wanted is not None and len(drawn) < len(view.arcs):
        caption = f"{len(drawn)} of {len(view.arcs):,} states: the path, and the arcs ahead"
    every = set(range(len(view.steps))) if form == "bytes" else view.dots | set(view.arcs)
    complete = wanted is None or every <= kept
    return MachineFigure("character_fsa", caption, complete, tuple(nodes), tuple(edges), alias)


def _middle(letter: str, count: int) -> Node:
    return Node(
        f"{letter}mid", "…", "dot", title=f"{count:,} states in the middle of a character, as one"
    )


def _in_order(machine: Dfa, view: CharacterView) -> list[int]:
    """States breadth first from the start, so that a drawing reads from left to right."""
    order = [machine.start] if machine.start != NO_ARC else []
    seen = set(order)
    for state in order:
        for _, _, target in view.steps[state]:
            if target not in seen:
                seen.add(target)
                order.append(target)
    return order


def _by_target(pieces: Iterable[Piece], kept: set[int] | frozenset[int]) -> dict[int, list[Piece]]:
    grouped: dict[int, list[Piece]] = {}
    for piece in pieces:
        if piece[2] in kept:
            grouped.setdefault(piece[2], []).append(piece)
    return grouped


def _character_edges(state: int, pieces: list[Piece], kept: set[int]) -> Iterable[Edge]:
    for target, group in _by_target(pieces, kept).items():
        ranges = [(low, high) for low, high, _ in group]
        chars = char_set(ranges)
        yield Edge(
            f"c{state}",
            f"c{target}",
            ranges_label(ranges),
            show_characters(chars),
            chars.size(),
        )


def _byte_edges(
    state: int, steps: list[tuple[int, int, int]], kept: set[int] | frozenset[int]
) -> Iterable[Edge]:
    for target, group in _by_target(steps, kept).items():
        ranges = tuple((low, high) for low, high, _ in group)
        label = ranges_label(ranges, in_bytes=True)
        count = sum(high - low + 1 for low, high in ranges)
        yield Edge(f"c{state}", f"c{target}", label, f"bytes {label}", count, ranges)


def _collapsed(view: CharacterView, kept: set[int]) -> Iterable[Edge]:
    """Into, within and out of the one dot that stands for all."""
    pieces: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for state in sorted(kept | view.dots):
        for low, high, target in view.steps[state]:
            if (state in view.dots or target in view.dots) and target in kept | view.dots:
                ends = (f"c{view.node(state)}", f"c{view.node(target)}")
                pieces.setdefault(ends, []).append((low, high))
    words = {True: "bytes inside a character", False: "the first bytes of a character"}
    for (source, target), found in sorted(pieces.items()):
        ranges = _joined_ranges(found)
        which = words[source == target] if target == "cmid" else "the last byte of a character"
        title = f"{which}: {ranges_label(ranges, in_bytes=True)}"
        count = sum(high - low + 1 for low, high in ranges)
        yield Edge(source, target, "", title, count, ranges)


def _joined_ranges(pieces: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Intervals as a union: ascending, none touching."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(pieces):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)
