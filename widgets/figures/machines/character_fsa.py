"""The character FSA as a figure: it shows the texts that the constraint accepts.

The machine reads bytes, people read characters. In the character form an arc is a set of characters
and the states in the middle of a character are folded into it; in the byte form everything is
drawn.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.characters.display import show_characters
from explorer.automata.interchange.interegular_bridge import Piece
from explorer.automata.machine import NO_ARC
from explorer.automata.token_marks import marks_from
from explorer.automata.tree.charset import char_set
from explorer.tokens.machine import TokenMachine
from widgets.figures.drawing.labels import byte_text, ranges_label
from widgets.figures.machines.character_view import CharacterView, Form, character_view
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure


def expects(machine: TokenMachine, state: int) -> str:
    """The expected characters of a character state, in words.

    Args:
        machine: The token machine.
        state: A character state, in the middle of a character or not.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"d"], eos_ids=[3])
        >>> expects(explorer.compile(explorer.regex("(foo)+d"), vocab), 3)
        'd or f'
    """
    byte_machine = machine.byte_machine
    if state == NO_ARC or byte_machine is None:
        return "nothing"
    view = character_view(machine, [state])
    if not view.between(state):
        return _some(byte_text(byte) for byte in byte_machine.expected(state))
    chars = char_set((low, high) for low, high, _ in view.arcs[state])
    words = show_characters(chars) if chars.ranges else ""
    if byte_machine.is_accepting(state):
        return f"{words} or the end" if words else "the end"
    return words or "nothing"


def _some(words: Iterable[str], most: int = 6) -> str:
    listed = list(words)
    more = f" or {len(listed) - most} more bytes" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def character_figure(
    machine: TokenMachine, form: Form = "characters", only: Iterable[int] | None = None
) -> MachineFigure:
    """The character FSA that a token machine follows.

    Args:
        machine: The token machine; the dots are the states in a character where tokens can end.
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
    byte_machine = machine.byte_machine
    wanted = None if only is None else set(only)
    view = character_view(machine, wanted or ())
    start = NO_ARC if byte_machine is None else byte_machine.start
    drawn = [
        state
        for state in _in_order(machine, start, view)
        if (form == "bytes" or view.between(state)) and (wanted is None or state in wanted)
    ]
    kept = set(drawn)
    nodes = [
        FigureNode(
            f"c{state}",
            str(state) if view.between(state) else "",
            "state" if view.between(state) else "dot",
            byte_machine is not None and byte_machine.is_accepting(state),
            state == start,
            f"state {state}: expects {expects(machine, state)}",
        )
        for state in drawn
    ]
    edges: list[Edge] = []
    for state in drawn:
        if form == "bytes":
            edges += _byte_edges(state, view.steps.get(state, []), kept)
        else:
            edges += _character_edges(state, view.arcs[state], kept)
        edges += _mark_edges(machine, state, kept)
    caption, about = "what is accepted", "what the pattern accepts"
    if wanted is not None and len(drawn) < len(view.arcs):
        caption = f"{len(drawn)} of {len(view.arcs):,} states"
        about = f"{caption}: the path, and the arcs ahead"
    if not view.whole:
        caption = f"{len(drawn):,} states so far"
        about = f"{caption}, numbered as they are met: those on the way, and their neighbours"
    every = set(view.steps) if form == "bytes" else set(view.arcs)
    complete = view.whole and (wanted is None or every <= kept)
    return MachineFigure(
        "character_fsa", caption, complete, tuple(nodes), tuple(edges), about=about
    )


def _in_order(machine: TokenMachine, start: int, view: CharacterView) -> list[int]:
    """States breadth first from the start, so that a drawing reads from left to right."""
    order: list[int] = []
    seen: set[int] = set()
    for first in [start, *([] if view.whole else sorted(view.arcs))]:
        waiting = [] if first in seen or first == NO_ARC else [first]
        seen.update(waiting)
        for state in waiting:
            order.append(state)
            targets = [target for _, _, target in view.steps.get(state, ())]
            for target in [*targets, *(target for _, target in _marks(machine, state))]:
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
    return order


def _marks(machine: TokenMachine, state: int) -> tuple[tuple[str, int], ...]:
    byte_machine = machine.byte_machine
    return () if byte_machine is None else marks_from(byte_machine, state)


def _mark_edges(machine: TokenMachine, state: int, kept: set[int]) -> Iterable[Edge]:
    """The ends of tokens, and tokens that are not text, where the machine reads them."""
    for label, target in _marks(machine, state):
        if target in kept:
            yield Edge(f"c{state}", f"c{target}", label, label, 1)


def _by_target(pieces: Iterable[Piece], kept: set[int]) -> dict[int, list[Piece]]:
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


def _byte_edges(state: int, steps: list[tuple[int, int, int]], kept: set[int]) -> Iterable[Edge]:
    for target, group in _by_target(steps, kept).items():
        ranges = tuple((low, high) for low, high, _ in group)
        label = ranges_label(ranges, in_bytes=True)
        count = sum(high - low + 1 for low, high in ranges)
        yield Edge(f"c{state}", f"c{target}", label, f"bytes {label}", count, ranges)
