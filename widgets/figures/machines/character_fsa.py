"""The character FSA as a figure: it shows the texts that the constraint accepts.

The machine reads bytes, people read characters. In the character form an arc is a set of characters
and the states in the middle of a character are folded into it; in the byte form everything is
drawn.

In the character form, a state between two characters has arcs that are sets of characters. A state
in the middle of a character is drawn, as a dot, only if a token can end there, or on the way to
such a state. A constraint over all of Unicode has hundreds of them: beyond `MOST_DOTS`, one dot
stands for all.

The view of a finite machine (`explorer.automata.machine.Dfa`) is computed once, as a whole. For a
machine that discovers its states while it runs, the view holds the states that were met and their
neighbours, and is made anew for each request, because every step meets more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

from explorer.analysis.characters.display import characters_of, show_characters
from explorer.automata.drawn import Interval, byte_intervals
from explorer.automata.interchange.interegular_bridge import Piece, character_arcs, character_pieces
from explorer.automata.machine import NO_ARC, ByteMachine, whole_table
from explorer.automata.token_marks import marks_from
from explorer.automata.tree.charset import char_set
from explorer.memo import memo
from explorer.tokens.machine import TokenMachine, table_of
from widgets.figures.drawing.labels import byte_text, ranges_label
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure

Form = Literal["characters", "bytes"]

MOST_DOTS: Final = 4
"""The number of states in the middle of a character beyond which one dot stands for all."""

MOST_MET: Final = 300
"""The most met states in the view of a machine that discovers its states; the last ones."""


@dataclass(frozen=True)
class CharacterView:
    """The machine over bytes, seen by characters.

    Args:
        arcs: For each state between characters its ranges of code points and their targets.
        steps: For each state its byte intervals ``(low, high, target)``.
    """

    arcs: Mapping[int, list[Piece]]
    steps: Mapping[int, list[Interval]]
    dots: frozenset[int]
    collapsed: bool
    whole: bool = True

    def between(self, state: int) -> bool:
        """Whether a state lies between two characters."""
        return state in self.arcs

    def node(self, state: int) -> str:
        """The name, without its letter, of the node that stands for a state."""
        return "mid" if self.collapsed and state not in self.arcs else str(state)


NOTHING: Final = CharacterView({}, {}, frozenset(), False)
"""Without a constraint there are no states."""


def character_view(machine: TokenMachine, also: Iterable[int] = ()) -> CharacterView:
    """The machine over bytes that a token machine follows, by characters.

    Args:
        machine: The token machine. States in the middle of a character are drawn if its tokens end
            there; if these are not all known, all are drawn.
        also: States of the byte machine that must be in the view, if not all states are known.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"d"], eos_ids=[3])
        >>> view = character_view(explorer.compile(explorer.regex("[f-h]"), vocab))
        >>> view.arcs[0], view.whole
        ([(102, 104, 1)], True)
    """
    byte_machine = machine.byte_machine
    if byte_machine is None:
        return NOTHING
    if whole_table(byte_machine) is None:
        return _met(machine, byte_machine, also)
    return _whole(machine)


@memo
def _whole(machine: TokenMachine) -> CharacterView:
    """The view of a machine over bytes that is finite."""
    byte_machine = whole_table(machine.byte_machine)
    if byte_machine is None:
        return NOTHING
    steps = byte_intervals(byte_machine)
    arcs = character_arcs(byte_machine, steps)
    table = table_of(machine)
    ends = range(len(steps)) if table is None else table.char_state.tolist()
    dots = _dots(arcs, steps, set(ends))
    return CharacterView(arcs, dict(enumerate(steps)), dots, len(dots) > MOST_DOTS)


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
    dots: set[int] = set()
    for following in (after, before):
        seen = set(ends)
        waiting = list(ends)
        while waiting:
            for state in following[waiting.pop()]:
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)
        dots |= seen
    return frozenset(dots)


MOST_READ: Final = 4_000
"""The most states of a machine without a table that are read anew for one picture."""

MOST_INSIDE: Final = 500
"""The most states inside the characters that lead from one state; the rest is left out."""


class _ByteSteps(dict[int, list[Interval]]):
    """The byte intervals of each state, computed on request.

    Beyond `MOST_INSIDE` states the rest counts as without arcs: a machine that remembers what it
    reads has a state for each character.
    """

    def __init__(self, machine: ByteMachine, known: dict[int, list[Interval]]) -> None:
        super().__init__()
        self._machine, self._known = machine, known

    def __missing__(self, state: int) -> list[Interval]:
        if len(self) >= MOST_INSIDE:
            return []
        if state not in self._known:
            self._known[state] = self._read(state)
        pieces = self[state] = self._known[state]
        return pieces

    def _read(self, state: int) -> list[Interval]:
        pieces: list[Interval] = []
        for byte in self._machine.expected(state):
            target = self._machine.step(state, byte)
            if pieces and pieces[-1][1] + 1 == byte and pieces[-1][2] == target:
                pieces[-1] = (pieces[-1][0], byte, target)
            else:
                pieces.append((byte, byte, target))
        return pieces


@memo
def _known(machine: TokenMachine) -> tuple[dict[int, list[Interval]], dict[int, list[Piece]]]:
    """The byte intervals and the character arcs of the states read so far; both are added to."""
    return {}, {}


def characters_from(machine: TokenMachine, byte_machine: ByteMachine, state: int) -> list[Piece]:
    """The characters that lead from a state, as ranges of code points, with their targets."""
    steps, arcs = _known(machine)
    if state not in arcs:
        arcs[state] = character_pieces(_ByteSteps(byte_machine, steps), state)
    return arcs[state]


def _met(machine: TokenMachine, byte_machine: ByteMachine, also: Iterable[int]) -> CharacterView:
    """The states where tokens ended so far, and the targets of one character from them.

    A state does not say whether it is between two characters. Texts are valid UTF-8, so a state
    that reads a continuation byte is in the middle of a character.
    """
    known, read = _known(machine)
    most = len(known) + MOST_READ
    met = [machine.byte_state(state) for state in range(machine.num_states)]
    listed = dict.fromkeys([byte_machine.start, *also, *reversed(met)])
    arcs: dict[int, list[Piece]] = {}
    dots: set[int] = set()
    for state in list(listed)[:MOST_MET]:
        if state == NO_ARC or (state not in read and len(known) > most):
            continue
        if any(0x80 <= byte <= 0xBF for byte in byte_machine.expected(state)):
            dots.add(state)
        else:
            arcs[state] = characters_from(machine, byte_machine, state)
    for state in [target for pieces in arcs.values() for _, _, target in pieces]:
        arcs.setdefault(state, [])
    return CharacterView(arcs, dict(known), frozenset(dots), len(dots) > MOST_DOTS, whole=False)


def character_edges(
    view: CharacterView, states: Sequence[int], data: bytes, form: Form
) -> list[str | None]:
    """The edge of the character FSA that each byte of a run lights.

    Args:
        states: Its states along some bytes; `NO_ARC` from the first failure on.

    Returns:
        One edge id per byte; ``None`` if no arc is taken, and in the middle of a character that the
        run does not complete, if its beginning fits characters on several arcs.
    """
    names: list[str | None] = []
    for k, (before, after) in enumerate(pairwise(states)):
        if before == NO_ARC or after == NO_ARC:
            names.append(None)
        elif form == "bytes" or (view.between(before) and view.between(after)):
            names.append(f"c{before}-c{after}")
        else:
            begin = next((j for j in range(k, -1, -1) if view.between(states[j])), None)
            end = next((j for j in range(k + 1, len(states)) if view.between(states[j])), None)
            if begin is None:
                names.append(None)
            elif end is not None:
                names.append(f"c{states[begin]}-c{states[end]}")
            else:
                names.append(_begun(view, states[begin], data[begin:]))
    return names


def _begun(view: CharacterView, state: int, half: bytes) -> str | None:
    """The arc from a state whose characters begin with some bytes, if only one has such."""
    codes = characters_of(half[:3]).ranges
    targets = {
        target
        for low, high, target in view.arcs[state]
        if any(low <= last and first <= high for first, last in codes)
    }
    return f"c{state}-c{targets.pop()}" if len(targets) == 1 else None


def expects(machine: TokenMachine, state: int) -> str:
    """The expected characters of a character state, in words.

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
        only: Draw only these character states, for machines too large to be drawn whole.

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
    edges = _joined(edges)
    caption, about = "what is accepted", "what the pattern accepts"
    if wanted is not None and len(drawn) < len(view.arcs):
        caption = f"{len(drawn)} of {len(view.arcs):,} states"
        about = f"{caption}: the path, and the arcs ahead{_inside(machine, len(view.arcs))}"
    if not view.whole:
        caption = f"{len(drawn):,} states so far"
        about = f"{caption}, numbered as they are met: those on the way, and their neighbours"
    every = set(view.steps) if form == "bytes" else set(view.arcs)
    complete = view.whole and (wanted is None or every <= kept)
    return MachineFigure(
        "character_fsa", caption, complete, tuple(nodes), tuple(edges), about=about
    )


def _inside(machine: TokenMachine, between: int) -> str:
    """A clause on the states inside a character of several bytes, which are not drawn."""
    more = 0 if machine.byte_machine is None else machine.byte_machine.num_states - between
    return f"; {more:,} more states lie inside characters of several bytes" if more > 0 else ""


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


def _joined(edges: Iterable[Edge]) -> list[Edge]:
    """One edge for each pair of states, even if both characters and marks connect them."""
    by_name: dict[str, Edge] = {}
    for edge in edges:
        old = by_name.get(edge.id)
        by_name[edge.id] = edge if old is None else replace(
            old, label=f"{old.label}, {edge.label}", title=f"{old.title}, {edge.title}",
            count=old.count + edge.count,
        )  # fmt: skip
    return [*by_name.values()]


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
