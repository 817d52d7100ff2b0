"""The machines along the text: one column for each character, the same for all three of them.

Read downwards, a column is a state of the character FSA, a state of the detokenizing FST, and their
pair: composition, at each place of the text. The FST is unrolled: from a root to the next is one
token, which is read with its last letter. Where a token ends, the pair is a state of the token DFA.

To the right of the present place, the same columns have the next states of the FSA, and for the FST
the likeliest allowed tokens and the likeliest masked ones, each of these up to the byte where it
fails. A character whose bytes lie in several tokens has a column for each byte, and a token that
writes nothing has a column too.

Cost: the last `COLUMNS` columns and some tokens ahead, for a text of any length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Final

import numpy as np

from explorer.automata.interchange.interegular_bridge import Piece
from explorer.automata.machine import NO_ARC, ByteMachine, run, whole_table
from explorer.decoding.trace.trace import Trace
from explorer.tokens.machine import TokenMachine, table_of
from widgets.figures.drawing.labels import (
    byte_text,
    character_text,
    prefix_label,
    ranges_label,
    shorten,
    token_text,
)
from widgets.figures.machines.arcs import arcs_of, node_of
from widgets.figures.machines.character_fsa import NOTHING, character_view, characters_from
from widgets.figures.panels.tokens import Bar

COLUMNS: Final = 16
"""The most characters of the text that are shown; of a longer text the last ones."""

LEVELS: Final = 3
"""The number of characters ahead for which the states of the FSA are shown."""

BESIDE: Final = 3
"""The most states of the FSA in one column ahead, and the most tokens of each kind."""

LONGEST: Final = 6
"""The most characters of a token ahead that are shown."""

Packet = dict[str, object]


@dataclass(frozen=True, slots=True)
class _TokenColumns:
    """The columns that a token takes.

    Args:
        characters: The character that each column writes, in words.
        states: The states of the byte machine before the first column and after each; `NO_ARC` from
            the first that fails on.
        prefixes: The written part of the token after each column but the last.
    """

    characters: tuple[str, ...]
    data: tuple[bytes, ...]
    states: tuple[int, ...]
    prefixes: tuple[str, ...]


def whole_characters(data: bytes) -> list[bytes]:
    """A token's bytes in whole characters; halves of characters byte by byte.

    Example:
        >>> whole_characters("aé".encode()), whole_characters("é".encode()[1:] + b"b")
        ([b'a', b'\\xc3\\xa9'], [b'\\xa9', b'b'])
    """
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        lead = data[at]
        size = 1 if lead < 0xC2 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        piece = data[at : at + size]
        try:
            piece.decode()
        except UnicodeDecodeError:
            piece = data[at : at + 1]
        pieces.append(piece)
        at += len(piece)
    return pieces


def _shown(piece: bytes) -> str:
    return byte_text(piece[0]) if len(piece) == 1 else character_text(ord(piece.decode()))


def _way(machine: ByteMachine, state: int, data: bytes) -> _TokenColumns:
    """The columns of a token from a state of the byte machine."""
    pieces = whole_characters(data) or [b""]
    ends = np.cumsum([0, *map(len, pieces)])
    every = run(machine, state, data)
    return _TokenColumns(
        tuple(_shown(piece) if piece else "ε" for piece in pieces),
        tuple(pieces),
        tuple(every[ends].tolist()),
        tuple(prefix_label(data[:end]) for end in ends[1:-1].tolist()),
    )


def _characters(machine: TokenMachine, byte_machine: ByteMachine, state: int) -> list[Piece]:
    """The characters that lead from a state, as ranges of code points, with their targets."""
    view = character_view(machine) if whole_table(byte_machine) is not None else NOTHING
    known = view.arcs.get(state)
    return characters_from(machine, byte_machine, state) if known is None else known


def _reads(
    machine: TokenMachine, byte_machine: ByteMachine, state: int, piece: bytes, after: int
) -> str:
    """The label of the arc of the character FSA that a column takes."""
    if not piece:
        return "ε"
    pieces = _characters(machine, byte_machine, state)
    ranges = [(low, high) for low, high, target in pieces if target == after]
    try:
        code = ord(piece.decode())
    except UnicodeDecodeError:
        return _shown(piece)
    # In the middle of a character, a byte may look like a character.
    return ranges_label(ranges) if any(a <= code <= b for a, b in ranges) else _shown(piece)


def along_text(trace: Trace, k: int, machine: TokenMachine, top: Sequence[Bar]) -> Packet | None:
    """The columns of a position.

    Args:
        trace: The record.
        k: A position.
        machine: The token machine of the trace.
        top: The bars of the position, from which the tokens ahead are taken.

    Returns:
        Plain values for JSON; ``None`` if no machine reads the text. ``left_out``: the number of
        tokens before the first column. ``text``, ``reads``, ``writes``: the character of each
        column and the labels of its arcs. ``fsa``, ``fst``, ``pairs``: the states before the first
        column and after each, without a pair if the token DFA has no such state. ``tokens``: the
        first and last column of each token, its text, and the number of other tokens to the same
        state. ``next``: the levels of states of the character FSA ahead, each with its arcs
        ``(from, to, label)``. ``ahead``: for each token its ``id``, characters, states, the column
        where it ``fails``, and the ``pair`` that it leads to.

    Example:
        >>> from explorer.analysis.session import Session
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> session = Session(ToyModel(), toy_constraint())
        >>> _ = session.step(2)
        >>> found = along_text(session.trace, 1, session.machine, ())
        >>> found["text"], found["fsa"], found["fst"], found["pairs"]
        (['f', 'o', 'o'], ['0', '1', '2', '3'], ['r', 'f', 'fo', 'r'], ['0', None, None, '3'])
        >>> found["writes"], found["tokens"]
        (['ε : f', 'ε : o', 'foo : o'], [[0, 3, 'foo', 0]])
    """
    byte_machine = machine.byte_machine
    if byte_machine is None:
        return None
    columns = _Columns(machine, byte_machine)
    first = k
    width = 0
    while first and width < COLUMNS:
        first -= 1
        width += max(1, len(trace.steps[first].data or b""))
    columns.begin(trace.positions[first].state)
    for j in range(first, k):
        columns.take(trace.steps[j].token, trace.steps[j].data or b"", trace.positions[j + 1].state)
    state = trace.positions[k].state
    ahead: list[Packet] = []
    levels: list[Packet] = []
    if state >= 0:
        levels = _levels(machine, byte_machine, machine.byte_state(state))
        tokens = _tokens_ahead(trace, k, top)
        ahead = [_ahead(machine, byte_machine, state, token) for token in tokens]
    return {"left_out": first, **columns.to_dict(), "next": levels, "ahead": ahead}


class _Columns:
    """The columns so far, to which each token adds its own."""

    def __init__(self, machine: TokenMachine, byte_machine: ByteMachine) -> None:
        self._machine = machine
        self._byte_machine = byte_machine
        self._labels: dict[str, list[str]] = {"text": [], "reads": [], "writes": []}
        self._states: dict[str, list[str | None]] = {"fsa": [], "fst": [], "pairs": []}
        self._tokens: list[tuple[int, int, str, int]] = []
        self._state = NO_ARC
        table = table_of(machine)
        self._arcs = None if table is None else arcs_of(table)

    def begin(self, state: int) -> None:
        """The states before the first column."""
        self._state = state
        self._stand(self._machine.byte_state(state) if state >= 0 else NO_ARC, "r", state)

    def take(self, token: int, data: bytes, after: int) -> None:
        """Add the columns of a token that leads to a token state."""
        machine = self._machine
        text = token_text(machine.vocabulary, token)
        begin = machine.byte_state(self._state) if self._state >= 0 else NO_ARC
        way = _way(self._byte_machine, begin, data)
        place = len(self._labels["text"])
        end = machine.byte_state(after) if after >= 0 else way.states[-1]
        states = [*way.states[:-1], end]  # The end of a token may be read too.
        for i, (before, now) in enumerate(pairwise(states)):
            last = i == len(way.data) - 1
            written = way.characters[i]
            reads = _reads(machine, self._byte_machine, before, way.data[i], way.states[i + 1])
            self._labels["text"].append(written if way.data[i] else "")
            self._labels["reads"].append(reads)
            self._labels["writes"].append(f"{shorten(text, 10) if last else 'ε'} : {written}")
            self._stand(now, "r" if last else way.prefixes[i], after if last else None)
        self._tokens.append((place, place + len(way.data), text, self._others(after)))
        self._state = after

    def _others(self, after: int) -> int:
        """The number of other tokens that lead to the same state, if it is known."""
        arcs = self._arcs
        if arcs is None or self._state < 0 or after < 0:
            return 0
        return arcs.sizes(arcs.name(self._state)).get(arcs.name(after), 1) - 1

    def _stand(self, byte_state: int, prefix: str, state: int | None) -> None:
        self._states["fsa"].append("" if byte_state == NO_ARC else str(byte_state))
        self._states["fst"].append(prefix)
        self._states["pairs"].append(None if state is None else _pair(self._machine, state))

    def to_dict(self) -> Packet:
        """As plain values for JSON."""
        return {**self._labels, **self._states, "tokens": [list(one) for one in self._tokens]}


def _pair(machine: TokenMachine, state: int) -> str:
    """The name of a token state, as the drawing of the token DFA has it; "end" after the end."""
    return node_of(machine, state).removeprefix("q") if state >= 0 else "end"


def _levels(machine: TokenMachine, byte_machine: ByteMachine, state: int) -> list[Packet]:
    """The states of the character FSA after one more character, after two, and so on."""
    levels: list[Packet] = []
    present = [state]
    for _ in range(LEVELS):
        arcs: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for source in present:
            for low, high, target in _characters(machine, byte_machine, source):
                arcs.setdefault((source, target), []).append((low, high))
        targets = dict.fromkeys(target for _, target in arcs)
        shown = list(islice(targets, BESIDE))
        if not shown:
            break
        place = {target: i for i, target in enumerate(shown)}
        levels.append(
            {
                "states": [str(target) for target in shown],
                "more": len(targets) - len(shown),
                "arcs": [
                    [present.index(source), place[target], ranges_label(ranges)]
                    for (source, target), ranges in arcs.items()
                    if target in place
                ],
                "ends": [i for i, target in enumerate(shown) if byte_machine.is_accepting(target)],
            }
        )
        present = shown
    return levels


def _tokens_ahead(trace: Trace, k: int, top: Sequence[Bar]) -> Iterable[int]:
    """The token that was taken, the likeliest allowed ones, and the likeliest masked ones."""
    taken = [trace.steps[k].token] if k < len(trace.steps) else []
    able = [bar.id for bar in top if bar.allowed]
    if not top:
        able = np.flatnonzero(trace.allowed(k))[:BESIDE].tolist()
    masked = [bar.id for bar in top if not bar.allowed]
    return [*list(dict.fromkeys([*taken, *able]))[:BESIDE], *masked[:BESIDE]]


def _ahead(machine: TokenMachine, byte_machine: ByteMachine, state: int, token: int) -> Packet:
    """A token from the present place: up to where it fails, or to the pair that it leads to."""
    vocabulary = machine.vocabulary
    data = (vocabulary.tokens[token] if token < len(vocabulary) else None) or b""
    way = _way(byte_machine, machine.byte_state(state), data)
    target = machine.step(state, token)
    fails = next((i for i, after in enumerate(way.states[1:]) if after == NO_ARC), None)
    return {
        "id": token,
        "text": list(way.characters[:LONGEST]),
        "fst": list(way.prefixes[:LONGEST]),
        "long": len(way.data) > LONGEST,
        "fails": fails,
        "pair": None if target is None else _pair(machine, target),
    }
