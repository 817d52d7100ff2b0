"""The words of a vocabulary that a state can read, by the letters that it reads in any order.

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

A state from which too many others are met, such as the one before a name of an object that has
names of its own, may *presume* the letters of the state to which most of its words lead. Their
words are taken first, and the walk ends where it comes to that state; the words that fail before
are taken back.

The walk of the words (`walk_words`) visits as few trie nodes as possible. The trie is laid out
level by level, so that the children of a node are adjacent: a state that reads three bytes scans
256 neighbours once and touches no memory below the others. A state that reads many letters takes
all words of these letters at once, by a mask computed once for a vocabulary and a set of letters.
Each node stores the letters of the words at and below it, so only nodes with other letters below
are walked, some thousands of 266,000 at 131,072 tokens. If such a letter leads to a state with
letters of its own, such as the space between two words, the same applies there: the words of a node
are one range and are set without visiting the nodes. (llguidance has *slices* of a vocabulary, one
or two sets of letters, and compares regexes.)
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.rows import FINISHED, PAUSED, Int64, fill_rows
from explorer.automata.machine import NO_ARC, UNKNOWN, Bool, Int32, UInt32, UInt64
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
MOST_AFTER_ONE: Final = 8
"""The most states after one letter that are examined further; with more it is left at once."""
FEWEST: Final = 24
"""The fewest ASCII letters that a state must read to be examined; otherwise a walk is short."""

# The rows of `numbers`: for each byte of ASCII its letter; for each letter how many words hold it;
# how many words have more than so many letters; the starts of the kinds' machines.
LETTER_OF: Final = 0
HELD_BY: Final = 1
LONGER: Final = 2
STARTS: Final = 3

# The columns of a state's result: two words of letters; twice the reach, plus one if it is sharp;
# and whether the result is known: 1, or `PRESUMES` and the number of the state that it presumes.
REACH: Final = 2
KNOWN: Final = 3
PRESUMES: Final = 2

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
def _most_met(notes: Int32, sets: UInt64, numbers: Int32) -> int:
    """The state in the queue, the first left out, that most words lead to; −1 without one."""
    common, most = np.int64(-1), 0
    for at in range(1, notes[_OF, 2]):
        held = _held(sets, _BY + at, numbers)
        if notes[_QUEUE + at, 0] >= 0 and held > most:
            common, most = np.int64(notes[_QUEUE + at, 0]), held
    return common  # pyright: ignore[reportReturnType] - An int here.


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
        numbers, kind_first, kind_arcs: As in `explorer.automata.discovered.letters.BroadTrie`.
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
    presumed = np.int64(-1)
    while notes[_AT, 0] != _SHARP and notes[_OF, 1] < notes[_OF, 2]:
        at = notes[_OF, 1]
        here, level = notes[_QUEUE + at, 0], notes[_QUEUE + at, 1]
        if level >= notes[_TO, 0]:
            break
        by = _BY + at
        if not _is_met(notes, sets, at):
            notes[_QUEUE + at, 0] = NO_ARC  # Another letter may lead to it: then it is met anew.
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
        if last < 0 or (at == 0 and notes[_OF, 2] > MOST_AFTER_ONE):
            enough = False
            break
        notes[_OF, 1] += 1
    if notes[_AT, 0] != _SHARP:
        notes[_AT, 0] = _SHARP
        if not enough:
            presumed = _most_met(notes, sets, numbers)
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
    if presumed >= 0:
        known[state, KNOWN] = PRESUMES + presumed
    notes[_OF, 0] = -1
    return COMPLETE


NEEDS_LETTERS: Final = -2
"""The reason to return: the words of the state's letters must be set first."""
NEEDS_ROOM: Final = -3
"""The reason to return: there is no room to store the letters of a state."""

FEWEST_WORDS: Final = 48
"""The fewest words below a node for which the letters of the state there are computed."""

# Whether a walk begins or continues.
BEGINNING: Final = 0
GOING_ON: Final = 1
"""The walk continues where it stopped."""

# The columns of `nodes`.
PACKED: Final = 0
"""The column with the byte, and from bit 16 on the number of children."""
CHILD: Final = 1
ID: Final = 2
FIRST_WORD: Final = 3
LAST_WORD: Final = 4
LETTER: Final = 5
"""The column with the letter that the byte completes, 255 if none; from bit 8 on the most letters
of a word at or below the node, counted from the node."""
NO_LETTER: Final = 255

# The columns of a walk's stack; the top of it is the first number of row 0.
NODE, END, STATE, BASE, LENGTH, PURE, WRITTEN = range(7)
"""A list of siblings, from the one to look at; the state there; the state whose letters are used,
or −1; how many letters were read since, whether they are the first ones, and how many of all."""
_PRESUMED: Final = 2
"""The mark, in place of whether they are the first ones, of letters that are presumed so far."""


class BroadTrie(NamedTuple):
    """The trie of a vocabulary as arrays for the kernels.

    Args:
        nodes: int32[nodes, 6]; the children of a node are adjacent, in the order of the walk; the
            root is first.
        letters: uint64[nodes, 2], the letters of the words at and below a node, from the node on.
        words: int32[words, 2], in the order of bytes: the id and its number of letters.
        numbers: int32[4, 128], see `explorer.automata.discovered.letters`.
        kind_first: int32[states + 1], the first arc of each state of the kinds' machines.
        kind_arcs: int32[arcs, 3], rows ``(low byte, high byte, state)``, −1 for the end.
        deepest: The most bytes of a word.
    """

    nodes: Int32
    letters: UInt64
    words: Int32
    numbers: Int32
    kind_first: Int32
    kind_arcs: Int32
    deepest: int


@jit
def _begun(
    nodes: Int32, numbers: Int32, kind_first: Int32, kind_arcs: Int32, stack: Int32, notes: Int32,
    sets: UInt64, known: UInt64, table: Int32, symbol_class: Int32, state: int,
) -> int:  # fmt: skip
    """Find the letters of the state where a walk begins, and put its first siblings on the stack;
    returns as `walk_words`."""
    if state >= known.shape[0]:
        return NEEDS_ROOM
    if known[state, KNOWN] == 0:
        needed = find_letters(
            numbers, kind_first, kind_arcs, table, symbol_class, state, notes, sets, known
        )
        if needed != COMPLETE:
            return needed
    base, pure = -1, 0
    if (known[state, 0] | known[state, 1]) != np.uint64(0):
        base, pure = state, 1
    elif known[state, KNOWN] >= np.uint64(PRESUMES):
        common: int = np.int64(known[state, KNOWN]) - PRESUMES  # pyright: ignore[reportAssignmentType]
        if common >= known.shape[0]:
            return NEEDS_ROOM
        if known[common, KNOWN] == 0:
            needed = find_letters(
                numbers, kind_first, kind_arcs, table, symbol_class, common, notes, sets, known
            )
            if needed != COMPLETE:
                return needed
        if known[common, REACH] >> np.uint64(1) == np.uint64(WITHOUT_END):
            pure = _PRESUMED
        else:
            known[state, KNOWN] = 1
    first = nodes[0, CHILD]
    stack[1, NODE], stack[1, END] = first, first + (nodes[0, PACKED] >> 16)
    stack[1, STATE], stack[1, BASE], stack[1, LENGTH] = state, base, 0
    stack[1, PURE], stack[1, WRITTEN] = pure, 0
    stack[0, 0] = 1
    return NEEDS_LETTERS if pure else COMPLETE


@jit
def walk_words(
    nodes: Int32, letters: UInt64, word_ids: Int32, numbers: Int32, kind_first: Int32,
    kind_arcs: Int32, stack: Int32, notes: Int32, sets: UInt64, known: UInt64,
    table: Int32, symbol_class: Int32, state: int, words: UInt32, how: int,
) -> int:  # fmt: skip
    """Set the bits of the words that a state can read.

    Args:
        nodes, letters, word_ids, numbers, kind_first, kind_arcs: As in `BroadTrie`.
        stack, notes, sets, known: As in `Walked`.
        table, symbol_class: The rows of the byte machine, as far as they are known.
        state: Where the words begin.
        words: uint32[words], the mask.
        how: `BEGINNING` or `GOING_ON`.

    Returns:
        `COMPLETE`, `NEEDS_LETTERS`, `NEEDS_ROOM`, or a state whose row is needed first.
    """
    if how == BEGINNING:
        notes[0, 0] = -1
        stack[0, 0] = -1
    if stack[0, 0] < 0:
        begun = _begun(
            nodes, numbers, kind_first, kind_arcs, stack, notes, sets, known, table, symbol_class,
            state,
        )  # fmt: skip
        if begun != COMPLETE:
            return begun
    top = stack[0, 0]
    common = np.int64(-1)
    if known[state, KNOWN] >= np.uint64(PRESUMES):
        common = np.int64(known[state, KNOWN]) - PRESUMES
    while top > 0:
        node, end, here = stack[top, NODE], stack[top, END], stack[top, STATE]
        base, length = stack[top, BASE], stack[top, LENGTH]
        pure, written = stack[top, PURE], stack[top, WRITTEN]
        top -= 1
        low, high = np.uint64(0), np.uint64(0)
        reach, sharp = np.int64(0), False
        if base >= 0:
            low, high = known[base, 0], known[base, 1]
            reach, sharp = np.int64(known[base, REACH]) >> 1, known[base, REACH] & np.uint64(1) != 0
        needed = np.int64(COMPLETE)
        if here >= table.shape[0]:
            needed = np.int64(here)
        while node < end and needed == COMPLETE:
            if base >= 0 and not ((letters[node, 0] & ~low) | (letters[node, 1] & ~high)):
                all_fit = length + (nodes[node, LETTER] >> 8) <= reach
                if all_fit or sharp:
                    if not pure:
                        most = written + reach - length
                        for k in range(nodes[node, FIRST_WORD], nodes[node, LAST_WORD]):
                            if all_fit or word_ids[k, 1] <= most:
                                token = word_ids[k, 0]
                                words[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
                    node += 1
                    continue
            packed = nodes[node, PACKED]
            target = table[here, symbol_class[packed & 0xFFFF]]
            if target < 0:
                if target == UNKNOWN:
                    needed = np.int64(here)
                    break
                if pure == _PRESUMED:
                    for k in range(nodes[node, FIRST_WORD], nodes[node, LAST_WORD]):
                        token = word_ids[k, 0]
                        words[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))
                node += 1
                continue
            token = nodes[node, ID]
            # Branch-free, since the branch would be unpredictable: without a word, 0 is OR-ed in.
            words[max(token, 0) >> 5] |= np.uint32(token >= 0) << np.uint32(token & 31)
            if packed >> 16 == 0:
                node += 1
                continue
            letter = nodes[node, LETTER] & 0xFF
            under, since, still, count = base, length, pure, written
            if letter != NO_LETTER:
                count += 1
                since += 1
                bits = low if letter < 64 else high
                inside = (bits >> np.uint64(letter & 63)) & np.uint64(1) != np.uint64(0)
                if pure == _PRESUMED:
                    since = 0
                    shared = (known[common, letter >> 6] >> np.uint64(letter & 63)) & np.uint64(1)
                    if shared == np.uint64(0):
                        still = 0
                    elif target == common:
                        under, still = common, 1
                elif base < 0 or not inside or since >= reach:
                    under, since, still = -1, 0, 0
                    if nodes[node, LAST_WORD] - nodes[node, FIRST_WORD] >= FEWEST_WORDS:
                        if target >= known.shape[0]:
                            needed = NEEDS_ROOM
                            break
                        if known[target, KNOWN] == 0:
                            needed = np.int64(
                                find_letters(
                                    numbers,
                                    kind_first,
                                    kind_arcs,
                                    table,
                                    symbol_class,
                                    target,  # pyright: ignore[reportArgumentType]
                                    notes,
                                    sets,
                                    known,
                                )
                            )
                            if needed != COMPLETE:
                                break
                        if (known[target, 0] | known[target, 1]) != np.uint64(0):
                            under = target
            first = nodes[node, CHILD]
            node += 1
            if node < end:
                top += 1
                stack[top, NODE], stack[top, END], stack[top, STATE] = node, end, here
                stack[top, BASE], stack[top, LENGTH] = base, length
                stack[top, PURE], stack[top, WRITTEN] = pure, written
            node, end, here = first, first + (packed >> 16), target
            if under != base:
                base = under
                if base >= 0:
                    low, high = known[base, 0], known[base, 1]
                    reach = np.int64(known[base, REACH]) >> 1
                    sharp = known[base, REACH] & np.uint64(1) != 0
            length, pure, written = since, still, count
            if here >= table.shape[0]:
                needed = np.int64(here)
        if needed != COMPLETE:
            top += 1
            stack[top, NODE], stack[top, END], stack[top, STATE] = node, end, here
            stack[top, BASE], stack[top, LENGTH] = base, length
            stack[top, PURE], stack[top, WRITTEN] = pure, written
            stack[0, 0] = top
            return needed  # pyright: ignore[reportReturnType] - An int here.
    return COMPLETE


@jit
def walk_filling(
    nodes: Int32, letters: UInt64, word_ids: Int32, numbers: Int32, kind_first: Int32,
    kind_arcs: Int32, stack: Int32, notes: Int32, sets: UInt64, known: UInt64,
    state: int, words: UInt32, how: int, quantum: int,
    start: Int64, symbol_class: Int32, net_arc_start: Int32, net_arcs: Int32, move_start: Int32,
    moves: Int32, useful: Bool, ends: Bool, scope: Int32, late: Bool, sizes: Int64,
    bits: Int64,
    arena: Int64, set_start: Int64, set_hash: NDArray[np.uint64], slots: Int32, table: Int32,
    accepting: Bool, members: Int64, seen: Int64, stamps: Int64, progress: Int64,
) -> int:  # fmt: skip
    """Walk as `walk_words` does on a discovered machine, and fill the rows that are needed.

    A `Net` and its discovered rows (`SetRows`) are passed array by array.

    Returns:
        The result of `walk_words`, unless a row could not be filled: then the reason, such as
        `PAUSED` after ``quantum`` arcs.
    """
    work = 0
    while True:
        needed = walk_words(
            nodes, letters, word_ids, numbers, kind_first, kind_arcs, stack, notes, sets, known,
            table, symbol_class, state, words, how,
        )  # fmt: skip
        if needed < 0:
            return needed
        how = GOING_ON
        if work > quantum:
            return PAUSED
        reason = fill_rows(
            start, net_arc_start, net_arcs, move_start, moves, useful, ends, scope, late, sizes,
            bits, arena, set_start, set_hash, slots, table, accepting, members, seen, stamps,
            progress, needed, needed + 1,
        )  # fmt: skip
        if reason != FINISHED:
            return reason
        work += 1 + (set_start[needed + 1] - set_start[needed]) * table.shape[1]
