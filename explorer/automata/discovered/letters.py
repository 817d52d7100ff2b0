"""Finds the letters that a state reads in any order, and up to which length.

The words of a vocabulary are sequences of *letters*: each printable ASCII byte, tab, line feed and
carriage return is a letter of its own, the other control characters are one letter together, and
the characters beyond ASCII are three letters, because machines distinguish few of them: letters and
digits of all scripts; other characters that are neither white space nor control characters; the
rest.

A state *reads* a set of letters up to a *reach* of n if every text of at most n of these letters
can be read from it. Within a string the letters are all but quote, backslash and control
characters, without limit; ten characters before the end of ``.{0,100}`` they are all but the line
feed, and the reach is ten. The reach is *sharp* if no longer text of these letters can be read.

The set is found by following the machine from the state, with the letters that all states met so
far read. If a state does not read some of them, there are three options: drop these letters, drop
the letters that lead to the state, or limit the reach. The option that keeps the most words of the
vocabulary is chosen. Each is correct whatever the constraint; a worse choice only makes a walk
longer.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer.automata.machine import UNKNOWN, Int32, UInt64
from explorer.jit import jit

CONTROL: Final = 0
KINDS: Final = 3
"""The number of letters beyond ASCII: 1, 2 and 3; each machine also reads the letters before it."""
OTHER: Final = 4
"""The letter of bytes that are not characters; no set contains it."""

LONGEST: Final = 16
"""The largest finite reach that is searched; longer words are walked."""
WITHOUT_END: Final = 1 << 20
"""The reach of a state that reads its letters without end."""

MOST_STATES: Final = 64
MOST_PAIRS: Final = 1024
"""The most states, and pairs of a state within a character and one of a kind's machine, that are
examined before a state counts as reading no letters."""
FEWEST: Final = 11
"""The fewest ASCII letters that a state must read to be examined; otherwise a walk is short."""

# The rows of `numbers`: for each byte of ASCII its letter; for each letter how many words hold it;
# how many words have more than so many letters; the starts of the kinds' machines.
LETTER_OF: Final = 0
HELD_BY: Final = 1
LONGER: Final = 2
STARTS: Final = 3

# The columns of a state's result: two words of letters; twice the reach, plus one if it is sharp;
# and whether the result is known.
REACH: Final = 2
KNOWN: Final = 3

COMPLETE: Final = -1
"""The result if the search is complete."""

# The rows of `notes`, of three numbers each.
_OF: Final = 0
"""The row with the state searched for, the index of the current state, and their number."""
_AT: Final = 1
"""The row with the current kind, the index of the current pair, and the number of pairs."""
_TO: Final = 2
"""The row with the reach, an unused entry, and the number of states that a kind leads to."""
_QUEUE: Final = 3
"""The first row of the queue: a state, the number of letters before it, and one of three marks."""
_ONCE: Final = 0
_TWICE: Final = 1
"""The mark of a state that is also met after another number of letters."""
_AVOIDED: Final = 2
"""The mark of a state whose incoming letters are dropped."""
_PAIRS: Final = _QUEUE + MOST_STATES
_AFTER: Final = _PAIRS + MOST_PAIRS
NOTES: Final = _AFTER + MOST_STATES
_ASCII, _DECIDING, _SHARP = -1, KINDS, KINDS + 1

# The rows of `sets`, of two words each: the letters so far, those that a state does not read, then
# the letters that lead to each state.
_ALL, _MISSING, _BY = 0, 1, 2
SETS: Final = _BY + MOST_STATES


@jit
def _has(sets: UInt64, row: int, letter: int) -> bool:
    """Whether a set holds a letter."""
    return (sets[row, letter >> 6] >> np.uint64(letter & 63)) & np.uint64(1) != np.uint64(0)


@jit
def _with(sets: UInt64, row: int, letter: int) -> None:
    """Add a letter to a set."""
    sets[row, letter >> 6] |= np.uint64(1) << np.uint64(letter & 63)


@jit
def _held(sets: UInt64, row: int, numbers: Int32) -> int:
    """The number of words with letters of a set, counting a word once for each such letter."""
    count = 0
    for letter in range(128):
        if _has(sets, row, letter) and _has(sets, _ALL, letter):
            count += numbers[HELD_BY, letter]
    return count


@jit
def _meet(notes: Int32, sets: UInt64, target: int, level: int, letter: int, first: int) -> int:
    """Note that a letter leads to a state; return its place in the queue, −1 without room.

    Args:
        first: A guess of the place.
    """
    count = notes[_OF, 2]
    k = first
    if notes[_QUEUE + k, 0] != target:
        k = 0
        while k < count and notes[_QUEUE + k, 0] != target:
            k += 1
    at = _QUEUE + k
    if k == count:
        if count == MOST_STATES:
            return -1
        notes[at, 0], notes[at, 1], notes[at, 2] = target, level, _ONCE
        sets[_BY + k, 0], sets[_BY + k, 1] = np.uint64(0), np.uint64(0)
        notes[_OF, 2] = count + 1
    if notes[at, 2] == _AVOIDED:
        sets[_ALL, letter >> 6] &= ~(np.uint64(1) << np.uint64(letter & 63))
        return k
    _with(sets, _BY + k, letter)
    if notes[at, 1] != level:
        notes[at, 2] = _TWICE
    return k


@jit
def _reads_kind(
    kind_first: Int32, kind_arcs: Int32, table: Int32, symbol_class: Int32, notes: Int32
) -> int:
    """Whether a state reads all characters of a kind: 1 or 0, or −2 less a state whose row is
    needed. The pairs are in the notes, the first of them set; what is met is noted as `_AFTER`."""
    while notes[_AT, 1] < notes[_AT, 2]:
        at = _PAIRS + notes[_AT, 1]
        inside, here = notes[at, 0], notes[at, 1]
        if here >= table.shape[0]:
            return -2 - here  # pyright: ignore[reportReturnType] - An int here.
        for k in range(kind_first[inside], kind_first[inside + 1]):
            after = kind_arcs[k, 2]
            before = np.int32(UNKNOWN - 1)
            for byte in range(kind_arcs[k, 0], kind_arcs[k, 1] + 1):
                target = table[here, symbol_class[byte]]
                if target == before:
                    continue
                if target == UNKNOWN:
                    return -2 - here  # pyright: ignore[reportReturnType]
                if target < 0:
                    return 0
                before = target
                known = False
                if after < 0:  # The end of a character.
                    count = notes[_TO, 2]
                    for p in range(count):
                        known |= notes[_AFTER + p, 0] == target
                    if not known:
                        if count == MOST_STATES:
                            return 0
                        notes[_AFTER + count, 0] = target
                        notes[_TO, 2] = count + 1
                    continue
                count = notes[_AT, 2]
                for p in range(count - 1, -1, -1):
                    if notes[_PAIRS + p, 0] == after and notes[_PAIRS + p, 1] == target:
                        known = True
                        break
                if not known:
                    if count == MOST_PAIRS:
                        return 0
                    notes[_PAIRS + count, 0], notes[_PAIRS + count, 1] = after, target
                    notes[_AT, 2] = count + 1
        notes[_AT, 1] += 1
    return 1


@jit
def _is_met(notes: Int32, sets: UInt64, at: int) -> bool:
    """Whether some remaining letter leads to a state in the queue."""
    if notes[_QUEUE + at, 2] == _AVOIDED:
        return False
    left = (sets[_ALL, 0] & sets[_BY + at, 0]) | (sets[_ALL, 1] & sets[_BY + at, 1])
    return at == 0 or left != np.uint64(0)


@jit
def _once(notes: Int32, sets: UInt64) -> bool:
    """Whether each state is met after only one number of letters."""
    for at in range(notes[_OF, 2]):
        if notes[_QUEUE + at, 2] == _TWICE and _is_met(notes, sets, at):
            return False
    return True


@jit
def _is_sharp(table: Int32, symbol_class: Int32, numbers: Int32, notes: Int32, sets: UInt64) -> int:
    """Whether no text of one letter more than the reach is read; returns as `_reads_kind`."""
    while notes[_OF, 1] < notes[_OF, 2]:
        at = notes[_OF, 1]
        if notes[_QUEUE + at, 1] == notes[_TO, 0] and _is_met(notes, sets, at):
            here = notes[_QUEUE + at, 0]
            if here >= table.shape[0]:
                return -2 - here  # pyright: ignore[reportReturnType]
            for byte in range(256):
                letter = numbers[LETTER_OF, byte] if byte < 128 else 1
                target = table[here, symbol_class[byte]]
                if target == UNKNOWN:
                    return -2 - here  # pyright: ignore[reportReturnType]
                if target >= 0 and _has(sets, _ALL, letter):
                    return 0
        notes[_OF, 1] += 1
    return 1


@jit
def find_letters(
    numbers: Int32, kind_first: Int32, kind_arcs: Int32, table: Int32, symbol_class: Int32,
    state: int, notes: Int32, sets: UInt64, known: UInt64,
) -> int:  # fmt: skip
    """Find the letters of a state and their reach.

    Args:
        numbers, kind_first, kind_arcs: As in `explorer.automata.discovered.broad.BroadTrie`.
        table, symbol_class: The rows of the byte machine, as far as they are known.
        state: A state of the byte machine.
        notes, sets: int32[NOTES, 3] and uint64[SETS, 2]; if the notes begin with the state, the
            search continues where it stopped.
        known: uint64[states, 4], the letters, the reach, and whether they are known.

    Returns:
        `COMPLETE`, or a state whose row is needed first.
    """
    if numbers[STARTS, 0] < 0:  # The words have no letters.
        known[state, KNOWN] = 1
        return COMPLETE
    if notes[_OF, 0] != state:
        notes[_OF, 0], notes[_OF, 1], notes[_OF, 2] = state, 0, 1
        notes[_AT, 0] = _ASCII
        notes[_TO, 0] = LONGEST
        notes[_QUEUE, 0], notes[_QUEUE, 1], notes[_QUEUE, 2] = state, 0, _ONCE
        sets[_ALL, 0], sets[_ALL, 1] = np.uint64(0), np.uint64(0)
        for byte in range(128):
            _with(sets, _ALL, numbers[LETTER_OF, byte])
        for letter in range(1, 1 + KINDS):
            _with(sets, _ALL, letter)
    enough = True
    while notes[_AT, 0] != _SHARP and notes[_OF, 1] < notes[_OF, 2]:
        at = notes[_OF, 1]
        here, level = notes[_QUEUE + at, 0], notes[_QUEUE + at, 1]
        if level >= notes[_TO, 0]:
            break
        by = _BY + at
        if not _is_met(notes, sets, at):
            notes[_OF, 1] += 1
            continue
        if at > 0 and known[here, KNOWN] and known[here, REACH] >> np.uint64(1) == WITHOUT_END:
            more = (sets[_ALL, 0] & ~known[here, 0]) | (sets[_ALL, 1] & ~known[here, 1])
            if more == np.uint64(0):
                notes[_OF, 1] += 1
                continue
        if here >= table.shape[0]:
            return here  # pyright: ignore[reportReturnType]
        if notes[_AT, 0] == _ASCII:
            sets[_MISSING, 0], sets[_MISSING, 1] = np.uint64(0), np.uint64(0)
            read = 0
            for byte in range(128):
                target = table[here, symbol_class[byte]]
                if target == UNKNOWN:
                    return here  # pyright: ignore[reportReturnType]
                if target < 0:
                    _with(sets, _MISSING, numbers[LETTER_OF, byte])
                else:
                    read += 1
            if at == 0 and read < FEWEST and table[here, symbol_class[0xC3]] < 0:
                enough = False
                break
            notes[_AT, 0], notes[_AT, 1], notes[_AT, 2] = KINDS - 1, 0, 0
            notes[_TO, 2] = 0
        while 0 <= notes[_AT, 0] < KINDS:
            kind = notes[_AT, 0]
            if not _has(sets, _ALL, 1 + kind):
                notes[_AT, 0] = kind - 1
                continue
            if notes[_AT, 2] == 0:
                notes[_PAIRS, 0], notes[_PAIRS, 1] = numbers[STARTS, kind], here
                notes[_AT, 1], notes[_AT, 2], notes[_TO, 2] = 0, 1, 0
            answer = _reads_kind(kind_first, kind_arcs, table, symbol_class, notes)
            if answer < 0:
                return -2 - answer
            if answer == 1:
                notes[_AT, 0] = _DECIDING
            else:
                _with(sets, _MISSING, 1 + kind)
                notes[_AT, 0], notes[_AT, 2], notes[_TO, 2] = kind - 1, 0, 0
        notes[_AT, 0] = _ASCII  # For the state after this one.
        sets[_MISSING, 0] &= sets[_ALL, 0]
        sets[_MISSING, 1] &= sets[_ALL, 1]
        if sets[_MISSING, 0] | sets[_MISSING, 1]:
            lost = _held(sets, _MISSING, numbers)
            before = _held(sets, by, numbers)
            longer = numbers[LONGER, level]
            none = sets[_MISSING, 0] == sets[_ALL, 0] and sets[_MISSING, 1] == sets[_ALL, 1]
            if at > 0 and ((none and _once(notes, sets)) or longer <= min(lost, before)):
                notes[_TO, 0] = level
                break
            if at > 0 and before <= lost:
                sets[_ALL, 0] &= ~sets[by, 0]
                sets[_ALL, 1] &= ~sets[by, 1]
                notes[_QUEUE + at, 2] = _AVOIDED
                notes[_OF, 1] += 1
                continue
            sets[_ALL, 0] &= ~sets[_MISSING, 0]
            sets[_ALL, 1] &= ~sets[_MISSING, 1]
        last = 0
        for byte in range(128):
            letter = numbers[LETTER_OF, byte]
            if last >= 0 and _has(sets, _ALL, letter):
                target = table[here, symbol_class[byte]]
                last = _meet(notes, sets, target, level + 1, letter, last)  # pyright: ignore[reportArgumentType]
        for k in range(notes[_TO, 2]):
            for letter in range(1, 1 + KINDS):
                if last >= 0 and _has(sets, _ALL, letter):
                    last = _meet(notes, sets, notes[_AFTER + k, 0], level + 1, letter, last)
        if last < 0:
            enough = False
            break
        notes[_OF, 1] += 1
    if notes[_AT, 0] != _SHARP:
        notes[_AT, 0] = _SHARP
        if not enough:
            sets[_ALL, 0], sets[_ALL, 1] = np.uint64(0), np.uint64(0)
        if notes[_OF, 1] == notes[_OF, 2]:
            notes[_TO, 0] = WITHOUT_END
        notes[_OF, 1] = 0
    sharp = 0
    reach = notes[_TO, 0]
    if (sets[_ALL, 0] | sets[_ALL, 1]) and reach < LONGEST and _once(notes, sets):
        sharp = _is_sharp(table, symbol_class, numbers, notes, sets)
        if sharp < 0:
            return -2 - sharp
    known[state, 0], known[state, 1] = sets[_ALL, 0], sets[_ALL, 1]
    known[state, REACH], known[state, KNOWN] = 2 * reach + sharp, 1
    notes[_OF, 0] = -1
    return COMPLETE
