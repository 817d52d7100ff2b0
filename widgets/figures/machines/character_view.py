"""The machine over bytes seen by characters, and the names of its states in a drawing.

The machine reads bytes, people read characters. So a state between two characters has arcs that are
sets of characters, and the states in the middle of a character are named only where a token can end
there, and on the way to them. A constraint over all of Unicode has hundreds of such states: past
`MOST_DOTS` they are one dot that stands for all.

A finite machine (`explorer.automata.machine.Dfa`) is worked out whole, once. For a machine that
discovers its states while it runs, the view holds the states that were met and their neighbours,
and is made anew when asked for, because more are met with every step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from explorer.analysis.characters.display import characters_of
from explorer.automata.byte_intervals import Interval, byte_intervals
from explorer.automata.interchange.interegular_bridge import Piece, character_arcs, character_pieces
from explorer.automata.machine import NO_ARC, ByteMachine, whole_table
from explorer.memo import memo
from explorer.tokens.machine import TokenMachine, table_of

Form = Literal["characters", "bytes"]

MOST_DOTS: Final = 4
"""Past so many states in the middle of a character, one dot stands for all of them."""

MOST_MET: Final = 300
"""Of a machine that discovers its states, so many that were met are in a view, the last ones."""


@dataclass(frozen=True)
class CharacterView:
    """The machine over bytes, seen by characters.

    Args:
        arcs: For each state between characters its ranges of code points and where they lead.
        steps: For each state its byte intervals ``(low, high, target)``.
        dots: The states in the middle of a character that are drawn.
        collapsed: Whether one dot stands for all of them.
        whole: Whether these are all states of the machine.
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
        machine: The token machine. The places where its tokens end decide which states in the
            middle of a character are drawn; where they are not all known, all are.
        also: States of the byte machine that must be in the view of a machine whose states are not
            all known.

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


class _Steps(dict[int, list[Interval]]):
    """The byte intervals of each state, worked out when it is asked for."""

    def __init__(self, machine: ByteMachine) -> None:
        super().__init__()
        self._machine = machine

    def __missing__(self, state: int) -> list[Interval]:
        found: list[Interval] = []
        for byte in self._machine.expected(state):
            target = self._machine.step(state, byte)
            if found and found[-1][1] + 1 == byte and found[-1][2] == target:
                found[-1] = (found[-1][0], byte, target)
            else:
                found.append((byte, byte, target))
        self[state] = found
        return found


def _met(machine: TokenMachine, byte_machine: ByteMachine, also: Iterable[int]) -> CharacterView:
    """The states where tokens ended so far, and what one character from them leads to.

    Whether a state lies between two characters is not written on it. A text is valid UTF-8, so one
    that can be continued by a continuation byte lies in the middle of a character.
    """
    steps = _Steps(byte_machine)
    met = [machine.byte_state(state) for state in range(machine.num_states)]
    listed = dict.fromkeys([byte_machine.start, *also, *reversed(met)])
    arcs: dict[int, list[Piece]] = {}
    dots: set[int] = set()
    for state in list(listed)[:MOST_MET]:
        if state == NO_ARC:
            continue
        if any(low <= 0xBF and high >= 0x80 for low, high, _ in steps[state]):
            dots.add(state)
        else:
            arcs[state] = character_pieces(steps, state)
    for state in [target for pieces in arcs.values() for _, _, target in pieces]:
        arcs.setdefault(state, [])
    return CharacterView(arcs, dict(steps), frozenset(dots), len(dots) > MOST_DOTS, whole=False)


def character_edges(
    view: CharacterView, states: Sequence[int], data: bytes, form: Form
) -> list[str | None]:
    """The edge of the character FSA that each byte of a run lights.

    Args:
        view: The machine by characters.
        states: Its states along some bytes; `NO_ARC` from the first failure on.
        data: The bytes, one fewer than there are states.
        form: How the machine is drawn.

    Returns:
        One edge id per byte; ``None`` where no arc is taken, and in the middle of a character that
        the run does not end, where its beginning is that of characters on several arcs.
    """
    found: list[str | None] = []
    for k, (before, after) in enumerate(pairwise(states)):
        if before == NO_ARC or after == NO_ARC:
            found.append(None)
        elif form == "bytes" or (view.between(before) and view.between(after)):
            found.append(f"c{before}-c{after}")
        else:
            begin = next((j for j in range(k, -1, -1) if view.between(states[j])), None)
            end = next((j for j in range(k + 1, len(states)) if view.between(states[j])), None)
            if begin is None:
                found.append(None)
            elif end is not None:
                found.append(f"c{states[begin]}-c{states[end]}")
            else:
                found.append(_begun(view, states[begin], data[begin:]))
    return found


def _begun(view: CharacterView, state: int, half: bytes) -> str | None:
    """The one arc from a state whose characters begin with some bytes."""
    codes = characters_of(half[:3]).ranges
    targets = {
        target
        for low, high, target in view.arcs[state]
        if any(low <= last and first <= high for first, last in codes)
    }
    return f"c{state}-c{targets.pop()}" if len(targets) == 1 else None
