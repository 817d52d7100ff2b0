"""The characters that a byte machine can read in one of its states.

UTF-8 is a tree of at most four bytes, so the answer is a walk of that tree beside the machine. Most
of the tree of a class such as ``\\w`` or ``.`` is full, every continuation alive, and whether a
state's subtree is full is computed once: the walk then takes whole blocks at a time.

The compiled walk reads a `Dfa`. Of any other byte machine, the states within one character are
first copied into a `Dfa`.

Cost: tens of microseconds for ``\\w`` on the first visit of a state, nothing after that.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import LEADS, NUM_BYTES, remaining_bytes
from explorer.analysis.characters.display import NOTHING
from explorer.automata.machine import NO_ARC, ByteMachine, Dfa, Int32, whole_table
from explorer.automata.tree.charset import CharSet, char_set
from explorer.jit import jit

ROOM: Final = 1024
"""The initial room for ranges; ``\\w`` has 734."""


@jit
def _is_full(
    table: Int32, symbol_class: Int32, state: int, count: int, known: NDArray[np.int8]
) -> bool:
    """Whether all continuations of ``count`` bytes can be read from a state."""
    if known[state, count] == 0:
        full = True
        for byte in range(0x80, 0xC0):
            target = table[state, symbol_class[byte]]
            if target < 0:
                full = False
            elif count == 2:
                if known[target, 1] == 0:
                    known[target, 1] = 1
                    for last in range(0x80, 0xC0):
                        if table[target, symbol_class[last]] < 0:
                            known[target, 1] = 2
                if known[target, 1] == 2:
                    full = False
            elif count == 3:
                for second in range(0x80, 0xC0):
                    after = table[target, symbol_class[second]]
                    if after < 0:
                        full = False
                        break
                    if known[after, 1] == 0:
                        known[after, 1] = 1
                        for last in range(0x80, 0xC0):
                            if table[after, symbol_class[last]] < 0:
                                known[after, 1] = 2
                    if known[after, 1] == 2:
                        full = False
                        break
            if not full:
                break
        known[state, count] = 1 if full else 2
    return known[state, count] == 1


@jit
def _ranges(
    table: Int32, symbol_class: Int32, first: int, owed: int, base: int, known: NDArray[np.int8],
    out: Int32,
) -> int:  # fmt: skip
    """Write the ranges of readable code points; return their number even if ``out`` is too small.

    With ``owed`` bytes of a character still missing, ``first`` is the state after those already
    read and ``base`` their code; with ``owed`` 0, ``first`` lies between two characters.
    """
    count = 0
    last_code = -2
    # (state, code so far, missing bytes), the next one on top.
    state_of = np.empty(512, np.int32)
    code_of = np.empty(512, np.int32)
    left_of = np.empty(512, np.int32)
    top = 0
    if owed > 0:
        state_of[0], code_of[0], left_of[0] = first, base, owed
        top = 1
    else:
        for back in range(0xF4, -1, -1):
            if 0x80 <= back < 0xC2:
                continue
            target = table[first, symbol_class[back]]
            if target < 0:
                continue
            state_of[top] = target
            if back < 0x80:
                code_of[top], left_of[top] = back, 0
            elif back < 0xE0:
                code_of[top], left_of[top] = back & 0x1F, 1
            elif back < 0xF0:
                code_of[top], left_of[top] = back & 0x0F, 2
            else:
                code_of[top], left_of[top] = back & 0x07, 3
            top += 1
    while top > 0:
        top -= 1
        state, code, left = state_of[top], code_of[top], left_of[top]
        if left == 0 or _is_full(table, symbol_class, state, left, known):
            low = code << (6 * left)
            high = ((code + 1) << (6 * left)) - 1
            if count > 0 and last_code + 1 == low:
                if count <= out.shape[0]:
                    out[count - 1, 1] = high
            else:
                if count < out.shape[0]:
                    out[count, 0] = low
                    out[count, 1] = high
                count += 1
            last_code = high
            continue
        for back in range(0xBF, 0x7F, -1):
            target = table[state, symbol_class[back]]
            if target >= 0:
                state_of[top] = target
                code_of[top] = (code << 6) | (back & 0x3F)
                left_of[top] = left - 1
                top += 1
    return count


class Characters:
    """The characters that a byte machine can read in its states; results are cached.

    Args:
        machine: A machine over valid UTF-8.
    """

    def __init__(self, machine: ByteMachine) -> None:
        self._machine = machine
        states = 0 if whole_table(machine) is None else machine.num_states
        self._known = np.zeros((states, 4), np.int8)
        self._sets: dict[tuple[int, bytes], CharSet] = {}

    def expected(self, state: int, tail: bytes = b"") -> CharSet:
        """The characters that the machine can read in a state.

        Args:
            state: A state between two characters; `NO_ARC` reads nothing.
            tail: The first bytes of the character, where they were read already.

        Example:
            >>> from explorer.languages.constraint import regex
            >>> expected = Characters(regex("[äö]x").dfa).expected(0)
            >>> [chr(low) for low, _ in expected.ranges]
            ['ä', 'ö']
        """
        if state == NO_ARC:
            return NOTHING
        known = self._sets.get((state, tail))
        if known is None:
            known = self._sets[state, tail] = self._expected(state, tail)
        return known

    def _expected(self, state: int, tail: bytes) -> CharSet:
        code = owed = 0
        if tail:
            for byte in tail:
                if state != NO_ARC:
                    state = self._machine.step(state, byte)
            size = remaining_bytes(tail[0])
            owed = size + 1 - len(tail)
            mask = next((mask for *_, count, mask in LEADS if count == size), 0)
            if state == NO_ARC or owed <= 0:
                return NOTHING
            code = tail[0] & mask
            for byte in tail[1:]:
                code = code << 6 | byte & 0x3F
        dfa, known = whole_table(self._machine), self._known
        if dfa is None:
            dfa, state = _nearby(self._machine, state), 0
            known = np.zeros((dfa.num_states, 4), np.int8)
        room = ROOM
        while True:
            ranges = np.empty((room, 2), np.int32)
            count = _ranges(dfa.table, dfa.symbol_class, state, owed, code, known, ranges)
            if count <= room:
                return char_set(map(tuple, ranges[:count].tolist()))
            room = count


def _nearby(machine: ByteMachine, state: int) -> Dfa:
    """The states of a machine within one character of a state, as a `Dfa` that begins there.

    A byte below 0x80 ends its character, so the state after it is not visited: the machine may
    have no budget left to compute it. The rest of a longer character is read by a wider machine,
    where there is one.
    """
    numbers = {(machine, state): 0}
    asked = {*numbers}
    rows: dict[int, Int32] = {}
    layer = [*numbers]
    for _ in range(4):
        following: list[tuple[ByteMachine, int]] = []
        for reader, here in layer:
            row = rows[numbers[reader, here]] = np.full(NUM_BYTES, NO_ARC, np.int32)
            for byte in reader.expected(here):
                target = reader, reader.step(here, byte)
                if byte >= 0x80:
                    target = reader.wider(target[1]) or target
                row[byte] = numbers.setdefault(target, len(numbers))
                if byte >= 0x80 and target not in asked:
                    asked.add(target)
                    following.append(target)
        layer = following
    table = np.full((len(numbers), NUM_BYTES), NO_ARC, np.int32)
    for number, row in rows.items():
        table[number] = row
    every_byte = np.arange(NUM_BYTES, dtype=np.int32)
    return Dfa(every_byte, table, np.zeros(len(table), np.bool_), 0)
