"""Conversion of constraints from and to interegular FSMs over characters.

Other constrained-decoding libraries exchange machines as interegular FSMs. These read characters
grouped into classes, with one class for *anything else*; ours read bytes. On import, each class
becomes a UTF-8 fragment. On export, the machine is followed over the bytes of each character, and
characters with the same arcs are grouped into a class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from explorer.automata.construction.operations import minimal_dfa
from explorer.automata.drawn import Interval, byte_intervals
from explorer.automata.interchange.libraries import installed
from explorer.automata.interchange.validate import checked_nfa
from explorer.automata.machine import Dfa
from explorer.automata.token_marks import marks_from
from explorer.automata.tree.charset import ENTRY, EXIT, CharSet, char_set, complement, utf8_fragment
from explorer.budget import Meter
from explorer.errors import ConstraintError

if TYPE_CHECKING:
    import interegular.fsm

Piece = tuple[int, int, int]
"""Code points ``low .. high`` and the state after them."""

LEADS: Final = ((0x00, 0x7F, 0), (0xC0, 0xDF, 1), (0xE0, 0xEF, 2), (0xF0, 0xF7, 3))
"""First bytes of characters: the lowest, the highest, and the number of bytes that follow."""

_UNKNOWN: Final = -1
"""The number given to a state that the FSM does not list."""


def fsm_to_dfa(fsm: interegular.fsm.FSM, meter: Meter) -> Dfa:
    """The minimal byte machine of an interegular FSM; see `Constraint.from_fsm`."""
    classes_of_interegular = installed("interegular.fsm", "from_fsm()")
    anything_else = classes_of_interegular.anything_else
    if not isinstance(fsm, classes_of_interegular.FSM):
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
                    f"The FSM reads the symbol {symbol!r}, which is not a single character.",
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

    # A state that is named but not listed gets no number, and is refused below.
    transitions = cast("Mapping[object, Mapping[int, object]]", cast(Any, fsm).map)
    states = {state: k for k, state in enumerate(cast("frozenset[object]", cast(Any, fsm).states))}
    num_states = len(states)
    arcs: list[tuple[int, int, int, int]] = []
    for state, row in transitions.items():
        for class_, target in row.items():
            if class_ not in sets:
                raise ConstraintError(
                    f"The FSM has a transition over the class {class_!r}, which its alphabet "
                    f"does not name.",
                    remedy="Give the FSM the alphabet that its transitions were made with.",
                    evidence={"class": class_},
                )
            fragment = utf8_fragment(sets[class_])
            place = {ENTRY: states.get(state, _UNKNOWN), EXIT: states.get(target, _UNKNOWN)}
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
    nfa = checked_nfa(
        num_states,
        states.get(cast(Any, fsm).initial, _UNKNOWN),
        np.array(arcs, np.int32).reshape(-1, 4),
        [],
        sorted(states.get(state, _UNKNOWN) for state in finals),
        meter=meter,
        error=ConstraintError,
        remedy="Give an FSM whose initial state, final states and transitions are among its "
        "states.",
    )
    return minimal_dfa(nfa, meter)


class _CharacterWalk:
    """Follows a byte machine by whole characters, an interval of bytes at a time."""

    def __init__(self, steps: Sequence[list[Interval]] | Mapping[int, list[Interval]]) -> None:
        self.steps = steps
        self.known: dict[tuple[int, int], list[Piece]] = {}

    def from_state(self, state: int) -> list[Piece]:
        """The state after each character, as code point ranges in order."""
        pieces: list[Piece] = []
        for lead, end, bytes_left in LEADS:
            self._follow(pieces, state, lead, end, bytes_left)
        return pieces

    def _follow(self, pieces: list[Piece], state: int, lead: int, end: int, left: int) -> None:
        """Add the ranges of the characters whose next byte is in ``lead .. end``, with ``left``
        bytes after it."""
        size = 1 << (6 * left)
        for low, high, target in self.steps[state]:
            low, high = max(low, lead), min(high, end)
            if low > high:
                continue
            rest = self.remainder(target, left)
            if len(rest) == 1 and rest[0][:2] == (0, size - 1):
                # Every continuation ends in one state, so the whole interval is one range.
                _append(pieces, (low - lead) * size, (high - lead + 1) * size - 1, rest[0][2])
                continue
            for byte in range(low, high + 1):
                base = (byte - lead) * size
                for inner_low, inner_high, inner in rest:
                    _append(pieces, base + inner_low, base + inner_high, inner)

    def remainder(self, state: int, left: int) -> list[Piece]:
        """The states after ``left`` more bytes of a character, as ranges of their values."""
        if left == 0:
            return [(0, 0, state)]
        pieces = self.known.get((state, left))
        if pieces is None:
            pieces = self.known[state, left] = []
            self._follow(pieces, state, 0x80, 0xBF, left - 1)
        return pieces


def _append(pieces: list[Piece], low: int, high: int, target: int) -> None:
    """Add a range; join it to the last one if they are adjacent and end in the same state."""
    if pieces and pieces[-1][2] == target and pieces[-1][1] + 1 == low:
        pieces[-1] = (pieces[-1][0], high, target)
    else:
        pieces.append((low, high, target))


def character_arcs(
    dfa: Dfa, steps: Sequence[list[Interval]] | None = None
) -> dict[int, list[Piece]]:
    """The machine over characters: the code point ranges of each state between characters.

    Args:
        dfa: A machine over valid UTF-8; bytes above it may stand between characters. States in the
            middle of a character are left out.
        steps: Its `byte_intervals`, if the caller has them.

    Example:
        >>> from explorer import regex
        >>> character_arcs(regex("[a-cä]").dfa)
        {0: [(97, 99, 1), (228, 228, 1)], 1: []}
    """
    if dfa.num_states == 0:
        return {}
    characters = _CharacterWalk(byte_intervals(dfa) if steps is None else steps)
    result: dict[int, list[Piece]] = {}
    queue = [dfa.start]
    for state in queue:
        if state not in result:
            result[state] = characters.from_state(state)
            queue += [target for _, _, target in result[state]]
            queue += [target for _, target in marks_from(dfa, state)]
            queue += [target for low, _, target in characters.steps[state] if low > LEADS[-1][1]]
    return result


def alphabet_of(machine: Dfa) -> CharSet:
    """The characters that occur in some word of a machine.

    Example:
        >>> from explorer import regex
        >>> alphabet_of(regex("[a-c]ä*").dfa).ranges
        ((97, 99), (228, 228))
    """
    arcs = character_arcs(machine)
    return char_set({(low, high) for pieces in arcs.values() for low, high, _ in pieces})


def character_pieces(steps: Mapping[int, list[Interval]], state: int) -> list[Piece]:
    """The state after each character from one state, as code point ranges in order.

    Args:
        steps: The byte intervals of each state; only states reached within a character are read.

    Example:
        >>> character_pieces({0: [(97, 99, 1)]}, 0)
        [(97, 99, 1)]
    """
    return _CharacterWalk(steps).from_state(state)


def dfa_to_fsm(dfa: Dfa) -> interegular.fsm.FSM:
    """An interegular FSM with the same words; see `Constraint.to_interegular`."""
    classes = installed("interegular.fsm", "to_interegular()")
    if dfa.reads_letters:
        raise ConstraintError(
            "The constraint asks for control tokens, and an FSM over characters cannot read them.",
            remedy="Leave the control tokens out, such as token(...).",
        )
    FSM, Alphabet, anything_else = classes.FSM, classes.Alphabet, classes.anything_else
    arcs = character_arcs(dfa)
    cuts = sorted(
        {0, 0x110000}
        | {low for pieces in arcs.values() for low, _, _ in pieces}
        | {high + 1 for pieces in arcs.values() for _, high, _ in pieces}
    )
    # One column per segment: each state with an arc over it, and the arc's target.
    columns: list[list[tuple[int, int]]] = [[] for _ in cuts]
    place = {cut: k for k, cut in enumerate(cuts)}
    for state, pieces in arcs.items():
        for low, high, target in pieces:
            for k in range(place[low], place[high + 1]):
                columns[k].append((state, target))
    groups: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
    for k in range(len(cuts) - 1):
        groups.setdefault(tuple(columns[k]), []).append((cuts[k], cuts[k + 1] - 1))
    # The class with the most characters becomes "anything else", which is not listed.
    order = sorted(groups, key=lambda key: -sum(high - low + 1 for low, high in groups[key]))
    symbols: dict[object, int] = {anything_else: 0}
    transitions: dict[int, dict[int, int]] = {state: {} for state in arcs}
    for class_, key in enumerate(order):
        for low, high in groups[key] if class_ else ():
            symbols.update((chr(code), class_) for code in range(low, high + 1))
        for state, target in key:
            transitions[state][class_] = target
    # interegular requires at least one state; with no final state the language is empty.
    return FSM(
        alphabet=Alphabet(symbols),
        states=set(arcs) or {0},
        initial=max(dfa.start, 0),
        finals={state for state in arcs if dfa.accepting[state]},
        map=transitions,
    )
