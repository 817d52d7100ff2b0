"""Constraints as interegular FSMs over characters, and back.

interegular is how other constrained-decoding libraries exchange machines. Its FSMs read
characters grouped into classes, with one class for *anything else*; ours read bytes. Going in,
each class becomes a UTF-8 fragment; coming out, the bytes of a character are followed to the
end and the characters that no state tells apart are grouped again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from explorer.automata.machine import NO_ARC, Dfa, Nfa
from explorer.automata.operations import minimal_dfa
from explorer.automata.regex.charset import CharSet, char_set, complement
from explorer.automata.regex.utf8 import ENTRY, EXIT, utf8_fragment
from explorer.budget import Meter
from explorer.errors import ConstraintError

if TYPE_CHECKING:
    import interegular.fsm

Piece = tuple[int, int, int]
"""Code points ``low .. high`` and the state that they lead to."""


def fsm_to_dfa(fsm: interegular.fsm.FSM, meter: Meter) -> Dfa:
    """The minimal byte machine of an interegular FSM; see `Constraint.from_fsm`."""
    from interegular.fsm import FSM, anything_else

    if not isinstance(fsm, FSM):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConstraintError(
            f"from_fsm() takes an interegular FSM, not a {type(fsm).__name__}.",
            remedy="Convert a parsed pattern first: interegular.parse_pattern(...).to_fsm().",
        )
    # interegular is untyped: an alphabet maps each symbol to its class.
    classes = cast("Mapping[int, list[object]]", cast(Any, fsm.alphabet).by_transition)
    listed: dict[int, list[str]] = {}
    other: int | None = None
    for class_, symbols in classes.items():
        characters = [symbol for symbol in symbols if symbol is not anything_else]
        if len(characters) < len(symbols):
            other = class_
        for symbol in characters:
            if not (isinstance(symbol, str) and len(symbol) == 1):
                raise ConstraintError(
                    f"The FSM reads the symbol {symbol!r}, which is no single character.",
                    remedy="Build it over characters, as interegular.parse_pattern does.",
                    evidence={"symbol": symbol},
                )
        listed[class_] = cast("list[str]", characters)
    sets: dict[int, CharSet] = {
        class_: char_set((ord(c), ord(c)) for c in characters)
        for class_, characters in listed.items()
    }
    if other is not None:
        every = char_set((ord(c), ord(c)) for characters in listed.values() for c in characters)
        rest = complement(every).ranges
        sets[other] = char_set([*rest, *sets[other].ranges])

    transitions = cast("Mapping[object, Mapping[int, object]]", cast(Any, fsm).map)
    states = {state: k for k, state in enumerate(cast("frozenset[object]", cast(Any, fsm).states))}
    num_states = len(states)
    arcs: list[tuple[int, int, int, int]] = []
    for state, row in transitions.items():
        for class_, target in row.items():
            fragment = utf8_fragment(sets[class_])
            place = {ENTRY: states[state], EXIT: states[target]}
            for source, low, high, to in fragment.arcs:
                arcs.append(
                    (
                        place.get(source, num_states + source - 2),
                        low,
                        high,
                        place.get(to, num_states + to - 2),
                    )
                )
            num_states += fragment.num_inner
            meter.check("Import", states=num_states, arcs=len(arcs))
    finals = cast("frozenset[object]", cast(Any, fsm).finals)
    nfa = Nfa(
        num_states,
        states[cast(Any, fsm).initial],
        np.array(arcs, np.int32).reshape(-1, 4),
        np.empty((0, 2), np.int32),
        np.array(sorted(states[state] for state in finals), np.int32),
    )
    return minimal_dfa(nfa, meter)


class _Characters:
    """Follows a byte machine by whole characters."""

    def __init__(self, dfa: Dfa) -> None:
        self.rows: list[list[int]] = dfa.table[:, dfa.symbol_class[:256]].tolist()
        self.known: dict[tuple[int, int], list[Piece]] = {}

    def from_state(self, state: int) -> list[Piece]:
        """Where each character leads, as code point ranges in order."""
        pieces: list[Piece] = []
        row = self.rows[state]
        for byte in range(0x80):
            _append(pieces, byte, byte, row[byte])
        for lead, count, bits in ((0xC0, 32, 1), (0xE0, 16, 2), (0xF0, 8, 3)):
            for payload in range(count):
                base = payload << (6 * bits)
                for low, high, target in self.remainder(row[lead + payload], bits):
                    _append(pieces, base + low, base + high, target)
        return sorted(pieces)

    def remainder(self, state: int, bytes_left: int) -> list[Piece]:
        """Where the rest of a character leads, relative to its lead byte."""
        if state == NO_ARC:
            return []
        if bytes_left == 0:
            return [(0, 0, state)]
        pieces = self.known.get((state, bytes_left))
        if pieces is None:
            pieces = list[Piece]()
            for payload in range(64):
                base = payload << (6 * (bytes_left - 1))
                following = self.rows[state][0x80 + payload]
                for low, high, target in self.remainder(following, bytes_left - 1):
                    _append(pieces, base + low, base + high, target)
            self.known[state, bytes_left] = pieces
        return pieces


def _append(pieces: list[Piece], low: int, high: int, target: int) -> None:
    """Add a range, joined to the last one where they touch and lead to the same state."""
    if target == NO_ARC:
        return
    if pieces and pieces[-1][2] == target and pieces[-1][1] + 1 == low:
        pieces[-1] = (pieces[-1][0], high, target)
    else:
        pieces.append((low, high, target))


def character_arcs(dfa: Dfa) -> dict[int, list[Piece]]:
    """The machine over characters: for each state between characters its code point ranges.

    Args:
        dfa: A machine over valid UTF-8. States in the middle of a character are left out.

    Example:
        >>> from explorer import regex
        >>> character_arcs(regex("[a-cä]").dfa)
        {0: [(97, 99, 1), (228, 228, 1)], 1: []}
    """
    if dfa.num_states == 0:
        return {}
    characters = _Characters(dfa)
    result: dict[int, list[Piece]] = {}
    queue = [dfa.start]
    for state in queue:
        if state not in result:
            result[state] = characters.from_state(state)
            queue += [target for _, _, target in result[state]]
    return result


def dfa_to_fsm(dfa: Dfa) -> interegular.fsm.FSM:
    """An interegular FSM with the same words; see `Constraint.to_interegular`."""
    from interegular.fsm import FSM, Alphabet, anything_else

    arcs = character_arcs(dfa)
    cuts = sorted(
        {0, 0x110000}
        | {low for pieces in arcs.values() for low, _, _ in pieces}
        | {high + 1 for pieces in arcs.values() for _, high, _ in pieces}
    )
    # A column per segment: where it leads from each state that has an arc over it.
    columns: list[list[tuple[int, int]]] = [[] for _ in cuts]
    place = {cut: k for k, cut in enumerate(cuts)}
    for state, pieces in arcs.items():
        for low, high, target in pieces:
            for k in range(place[low], place[high + 1]):
                columns[k].append((state, target))
    groups: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
    for k in range(len(cuts) - 1):
        groups.setdefault(tuple(columns[k]), []).append((cuts[k], cuts[k + 1] - 1))
    # The class with the most characters is the one that need not be listed.
    order = sorted(groups, key=lambda key: -sum(high - low + 1 for low, high in groups[key]))
    symbols: dict[object, int] = {anything_else: 0}
    transitions: dict[int, dict[int, int]] = {state: {} for state in arcs}
    for class_, key in enumerate(order):
        for low, high in groups[key] if class_ else ():
            symbols.update((chr(code), class_) for code in range(low, high + 1))
        for state, target in key:
            transitions[state][class_] = target
    # interegular wants one state at least; without any arc into a final one it has no word.
    return FSM(
        alphabet=cast(Any, Alphabet)(symbols),
        states=set(arcs) or {0},
        initial=max(dfa.start, 0),
        finals={state for state in arcs if dfa.accepting[state]},
        map=transitions,
    )
