"""The kind of a machine that remembers the items of open arrays, so that each comes once.

No finite machine knows which of infinitely many items came. So the schema is drawn twice without
the keyword: *free* as it is, and *marked*, with a byte that no text holds after the bracket of each
array whose items come once. A configuration is a state of the free machine, the *ways*
through the marked one (nearly always one, two where branches differ in the keyword), and what was
read of the arrays in which marks stand (`explorer.languages.schema.once.reading`). A byte that
completes an item which is there already ends a way. Where others are left, the free machine would
read too much; then a *narrow* one is followed, the marked machine that passes over its marks.

A configuration must be able to finish. It surely can if each such array still has room, and the
item that is being written has infinitely many endings, or has left the items that came before
(`_is_clear`). Otherwise an ending is searched for, shortest first. Of configurations that differ
only in the item that is written, one more than there are items will do: the same ending makes them
different items. A search that takes more than `MOST_SEARCHED` steps counts as none, so there is no
dead end, but a spelling may be masked of which only long endings are new.

A mask is that of the free machine, less the tokens that repeat an item. They are few: inside of a
string, only a quote ends an item, and only where the text goes on as an item that came before does
it matter how. So the words of the vocabulary are followed one byte at a time only there.

Cost: some ten microseconds in Python for each byte of a text, and memory for each; a search some
hundred.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES, ONCE_ENDLESS, ONCE_FEW, ONCE_MANY, ONCE_SOME
from explorer.automata.construction.rows import FINISHED, WHOLE_ROW, missing
from explorer.automata.discovered.discovered import Discovered, apart
from explorer.automata.discovered.whole_rows import WholeRows
from explorer.automata.machine import (
    NO_ARC,
    UNKNOWN,
    Bool,
    ByteMachine,
    Int32,
    UInt8,
    UInt32,
    WordTrie,
    WordWalk,
)
from explorer.automata.words import lengths_when_asked
from explorer.budget import Budget, Meter
from explorer.jit import jit
from explorer.languages.schema.once.reading import (
    BACKSLASH,
    NOTHING,
    OPENING,
    QUOTE,
    Item,
    OpenArrays,
    OpenValue,
    Value,
    after,
    could_become,
)
from explorer.memo import memo

STAGE: Final = "Remembering the items of arrays"

MARKS: Final = bytes((ONCE_ENDLESS, ONCE_MANY, ONCE_SOME, ONCE_FEW))
"""The marks that may follow the bracket of an array."""

MANY: Final = 256
"""The fewest different items of an array with the mark ``ONCE_MANY``."""

SOME: Final = 32
"""The fewest different items of an array with the mark ``ONCE_SOME``."""

ROOM: Final[dict[int, float]] = {
    0: math.inf, ONCE_ENDLESS: math.inf, ONCE_MANY: MANY, ONCE_SOME: SOME, ONCE_FEW: 0,
}  # fmt: skip
"""The number of items up to which there surely is another one, by mark."""

MOST_SEARCHED: Final = 5_000
"""The most configurations in which an ending is searched."""

MOST_KEPT: Final = 20_000
"""The most answers about configurations that are kept."""

MOST_INSIDE: Final = 300
"""The most states of a scalar that are looked through for infinitely many endings."""

BRACKET: Final = 0x5B
DIGITS: Final = slice(0x30, 0x3A)
"""The bytes of the digits."""

_EACH_BYTE: Final = np.arange(NUM_BYTES, dtype=np.int32)
"""Every byte is a class of its own."""

Way = tuple[int, tuple[int, ...]]
"""A state of the marked machine, and the mark of each open array or object, 0 without one."""


class OncePlace(NamedTuple):
    """A configuration.

    Args:
        free: The state of the free machine, or of the narrow one.
        ways: The ways through the marked machine, ascending.
        reading: What is open, from the outermost array with a mark on.
        is_narrow: Whether a way was lost that the free machine would still read.
    """

    free: int
    ways: tuple[Way, ...]
    reading: OpenArrays
    is_narrow: bool = False


class Unmarked(WholeRows[frozenset[int]]):
    """The kind of the narrow machine: sets of states of a marked one, passing over its marks."""

    stage = STAGE

    def __init__(self, marked: ByteMachine, met: tuple[frozenset[int], ...] = ()) -> None:
        super().__init__(_EACH_BYTE, NUM_BYTES, [*met] or [frozenset()])
        self._marked = marked

    def of(self, states: Iterable[int]) -> int:
        """The number of the set of some states."""
        number = self.number(frozenset(states))
        self.make_rows()
        return number

    def row(self, state: int, meter: Meter) -> list[int]:
        """The sets after each byte, and after the marks there."""
        rows = [_row(self._marked, each) for each in self._met[state]]
        step = self._marked.step
        known: dict[tuple[int, ...], int] = {}  # Most bytes lead to the same states.
        for column in (columns := [*zip(*(row.tolist() for row in rows), strict=True)]):
            if column not in known:
                after = {*column}
                after.update([step(each, mark) for each in column for mark in MARKS])
                after.discard(NO_ARC)
                known[column] = self.of(after) if after else NO_ARC
        row = [known[column] for column in columns] or [NO_ARC] * NUM_BYTES
        for mark in MARKS:
            row[mark] = NO_ARC
        meter.check(STAGE, states=self.num_states, bytes=self.held)
        return row

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        return self._marked.read

    def accepting(self, state: int) -> bool:
        """Whether the text may end."""
        return any(map(self._marked.is_accepting, self._met[state]))

    def apart(self, meter: Meter) -> Unmarked:
        """A copy over a copy of the machine."""
        return self.over(apart(self._marked, meter))

    def over(self, marked: ByteMachine) -> Unmarked:
        """A copy over a machine with the same states."""
        copy = Unmarked(marked, tuple(self._met))
        copy.table = self.table.copy()
        return copy

    def sent(self) -> tuple[Callable[..., Unmarked], tuple[Any, ...]]:
        """The machine and the sets that were met."""
        return Unmarked, (self._marked, tuple(self._met))


class ItemsOnce(WholeRows[OncePlace]):
    """The kind of a machine that remembers items.

    Args:
        marked: The machine with marks.
        free: The machine of the same texts without marks.
        met: The configurations met before.
        narrow: The kind of the narrow machine.
    """

    stage = STAGE

    def __init__(
        self,
        marked: ByteMachine,
        free: ByteMachine,
        met: tuple[OncePlace, ...] = (),
        narrow: Unmarked | None = None,
    ) -> None:
        start = OncePlace(free.start, ((marked.start, ()),), NOTHING)
        super().__init__(_EACH_BYTE, NUM_BYTES, [*met] or [start])
        self._marked, self._free = marked, free
        self._sets = narrow or Unmarked(marked)
        self._narrow = Discovered(self._sets, Budget())
        self._finishes: dict[OncePlace, bool] = {}
        self._known_rivals: dict[tuple[OpenArrays, int], tuple[Value, ...]] = {}
        self._endless: dict[tuple[int, bool, bool], tuple[bool, bool]] = {}
        self._opening: dict[OncePlace, list[int]] = {}
        self._lengths = lengths_when_asked(free), lengths_when_asked(self._narrow)
        self._held = 0

    def can_start(self, meter: Meter) -> bool:
        """Whether there are words."""
        return NO_ARC not in (self._marked.start, self._free.start)

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        return self._free.read

    @property
    def held(self) -> int:
        """The bytes of the table, and about those of the configurations."""
        return self.table.nbytes + self._held

    def accepting(self, state: int) -> bool:
        """Whether the text may end."""
        return any(self._marked.is_accepting(at) for at, _ in self._met[state].ways)

    def least(self, state: int, meter: Meter) -> int:
        """The length of a shortest ending in the free machine."""
        return self._length(self._met[state], meter)

    def wider(self, state: int) -> tuple[ByteMachine, int]:
        """The state of the free machine, or of the narrow one."""
        here = self._met[state]
        return self._read_by(here), here.free

    def _length(self, here: OncePlace, meter: Meter) -> int:
        return self._lengths[here.is_narrow](here.free, meter)

    def _read_by(self, here: OncePlace) -> ByteMachine:
        """The machine that reads what the ways read, without their marks."""
        return self._narrow if here.is_narrow else self._free

    def _alone(self, here: OncePlace, way: Way) -> OncePlace:
        """A configuration with one of its ways."""
        if len(here.ways) == 1:
            return here
        reading = here.reading if any(way[1]) else NOTHING
        return OncePlace(self._sets.of([way[0]]), (way,), reading, is_narrow=True)

    def row(self, state: int, meter: Meter) -> list[int]:
        """The states after all bytes."""
        return [self._cell(state, byte, meter) for byte in range(NUM_BYTES)]

    def fill(self, state: int, symbol: int, meter: Meter) -> int:
        """Fill one cell, or the whole row."""
        for byte in range(NUM_BYTES) if symbol == WHOLE_ROW else (symbol,):
            self._cell(state, byte, meter)
        return FINISHED

    def visit(self, trie: WordTrie, stack: Int32, again: bool, meter: Meter) -> int:
        """Fill the cells along the words of a trie."""
        self._at[0] = 0
        nodes = trie.byte, trie.depth, trie.skip
        while (needed := missing(self.table, self.symbol_class, *nodes, stack, self._at)) >= 0:
            self._cell(needed, int(trie.byte[self._at[0]]), meter)
        return FINISHED

    def _cell(self, state: int, byte: int, meter: Meter) -> int:
        target = int(self.table[state, byte])
        if target == UNKNOWN:
            there = self._after(self._met[state], byte)
            target = NO_ARC
            if there is not None and self._can_finish(there, meter):
                count = self.num_states
                target = self.number(there)
                self.make_rows()
                if self.num_states > count:
                    self._held += 400 + 8 * sum(len(each.values) for each in there.reading.open)
                    meter.check(STAGE, states=count + 1, arcs=count, bytes=self.held)
            self.table[state, byte] = target
        return target

    # One byte.

    def _after(self, here: OncePlace, byte: int) -> OncePlace | None:
        """The configuration after a byte, which may have no ending; ``None`` if no way is left."""
        free = self._read_by(here).step(here.free, byte)
        if free == NO_ARC:
            return None
        is_narrow = here.is_narrow
        step = self._marked.step
        ways = [(at, marks) for k, marks in here.ways if (at := step(k, byte)) != NO_ARC]
        reading = here.reading
        items: list[Item] = []
        if reading.open:
            reading, items = after(reading, byte)
        elif byte == BRACKET:
            reading = OpenArrays((OpenValue(("[",)),))
        for level, item in items:
            if item in here.reading.open[level].values[1:]:
                left = [way for way in ways if not way[1][level]]
                is_narrow |= len(left) < len(ways)
                ways = left
        closed = len(here.reading.open) - len(reading.open)
        if byte in OPENING and closed < 0:
            ways = [way for at, marks in ways for way in self._opened(at, marks, byte)]
        elif closed > 0:
            ways = [(at, marks[:-closed]) for at, marks in ways]
        if not any(any(marks) for _, marks in ways):
            reading, ways = NOTHING, [(at, ()) for at, _ in ways]
        if not ways:
            return None
        if is_narrow and not here.is_narrow:
            free = self._sets.of(at for at, _ in ways)
        return OncePlace(free, tuple(sorted(set(ways))), reading, is_narrow)

    def _opened(self, at: int, marks: tuple[int, ...], byte: int) -> Iterator[Way]:
        """The ways after an opening bracket, without a mark and with each."""
        expected = self._marked.expected(at)
        if byte == BRACKET:
            for mark in (each for each in expected if each in ROOM):
                yield self._marked.step(at, mark), (*marks, mark)
        if any(each not in ROOM for each in expected):
            yield at, (*marks, 0)

    # Whether there is an ending.

    def _can_finish(self, here: OncePlace, meter: Meter) -> bool:
        if self._is_clear(here):
            return True
        known = self._finishes.get(here)
        if known is None:
            if len(self._finishes) > MOST_KEPT:
                self._finishes.clear()
            known = self._finishes[here] = self._search(here, meter)
        return known

    def _is_clear(self, here: OncePlace) -> bool:
        """Whether a configuration surely can finish."""
        if not here.reading.open:
            return True
        (_, marks), *others = here.ways
        if others:
            return any(self._is_clear(self._alone(here, way)) for way in here.ways)
        reading = here.reading
        has_endings: bool | None = None
        for level, mark in enumerate(marks):
            if not mark:
                continue
            came = reading.open[level].values
            if len(came) > ROOM[mark]:
                return False
            if not reading.begins(level):
                continue
            if has_endings is None:
                has_endings = self._has_endings(here)
            if not has_endings and self._rivals(reading, level):
                return False
        return True

    def _rivals(self, reading: OpenArrays, level: int) -> tuple[Value, ...]:
        """The items that came which the one that is written may still become."""
        known = self._known_rivals.get((reading, level))
        if known is None:
            before = reading._replace(text=reading.text[:-1])  # Fewer, if it was just asked.
            came = self._known_rivals.get((before, level), reading.open[level].values[1:])
            if len(self._known_rivals) > MOST_KEPT:
                self._known_rivals.clear()
            known = tuple(each for each in came if could_become(reading, level + 1, each))
            self._known_rivals[reading, level] = known
        return known

    def _has_endings(self, here: OncePlace) -> bool:
        """Whether the scalar that is being written surely has infinitely many values."""
        if here.reading.in_string:
            return self._endings(here, in_string=True)[0]
        return here.reading.is_whole and self._endings(here, in_string=False)[0]

    def _endings(self, here: OncePlace, *, in_string: bool) -> tuple[bool, bool]:
        """Whether infinitely many strings or whole numbers go on from here, and whether they do so
        from each state in the same string.

        It follows from a circle: each character and each digit makes another value.
        """
        key = here.free, here.is_narrow, in_string
        known = self._endless.get(key)
        if known is not None:
            return known
        machine, begin = self._read_by(here), (here.free, False)
        following: dict[tuple[int, bool], list[tuple[int, bool]]] = {begin: []}
        for before in (waiting := [begin]):  # The list grows while it is read.
            state, escaped = before
            row = _row(machine, state)
            targets = [(int(row[BACKSLASH]), True)] if in_string and not escaped else []
            if targets:  # Most bytes lead to the same state.
                row[[BACKSLASH, QUOTE]] = NO_ARC
            targets += [
                (target, False) for target in {*(row if in_string else row[DIGITS]).tolist()}
            ]
            for there in targets:
                if there[0] == NO_ARC:
                    continue
                following[before].append(there)
                if there not in following:
                    following[there] = []
                    waiting.append(there)
            if len(following) > MOST_INSIDE:
                return self._endless.setdefault(key, (False, False))
        ending = [each for each in following if not following[each]]
        while ending:
            gone = set(ending)
            for each in ending:
                del following[each]
            for targets in following.values():
                targets[:] = [each for each in targets if each not in gone]
            ending = [each for each in following if not following[each]]
        every = len(following) == len(waiting)
        return self._endless.setdefault(key, (begin in following, every))

    def _search(self, begin: OncePlace, meter: Meter) -> bool:
        """Whether an ending is found that repeats no item."""
        most = 2 + sum(len(each.values) for each in begin.reading.open)
        alike: dict[object, int] = {}
        met = {begin}
        # Bytes that were read count down: of endings of one length, the furthest is followed first.
        queue = [(self._length(begin, meter), 0, 0, begin)]
        while queue and len(met) <= MOST_SEARCHED:
            _, read, _, here = heappop(queue)
            key = here.free, here.is_narrow, here.ways, here.reading.open
            alike[key] = alike.get(key, 0) + 1
            if alike[key] > most:
                continue
            meter.check_time(STAGE)
            for byte in self._read_by(here).expected(here.free):
                there = self._after(here, byte)
                if there is None or there in met:
                    continue
                if self._is_clear(there):
                    return True
                met.add(there)
                length = 1 - read + self._length(there, meter)
                heappush(queue, (length, read - 1, len(met), there))
        return False

    # Masks.

    def set_words(self, walk: WordWalk, state: int, words: UInt32, again: bool) -> int:
        """Set the bits of the words that the free machine reads and that repeat no item."""
        here, trie, meter = self._met[state], walk.plain, Meter()
        for way in here.ways:
            alone = self._alone(here, way)
            read = words if len(here.ways) == 1 else np.zeros_like(words)
            if alone.is_narrow:
                self._set_narrowly(trie, alone.free, read)
            else:
                self._free.set_words(walk, alone.free, read)
            for node in self._repeating(trie, alone, -1, meter):
                below = trie.word[node : trie.skip[node]]
                ids = trie.first_id[below[below >= 0]]
                bits = ~(np.uint32(1) << (ids & 31).astype(np.uint32))
                np.bitwise_and.at(read, ids >> 5, bits)
            words |= read
        return FINISHED

    def _set_narrowly(self, trie: WordTrie, state: int, words: UInt32) -> None:
        """Set the bits of the words that the narrow machine reads."""
        self._narrow.visit(trie, state)
        stack = np.zeros(trie.max_depth + 1, np.int32)
        stack[0] = state
        rows = self._narrow.table, self._narrow.symbol_class
        _set_words(*rows, trie.byte, trie.depth, trie.skip, trie.word, trie.first_id, stack, words)

    def _repeating(self, trie: WordTrie, here: OncePlace, node: int, meter: Meter) -> Iterator[int]:
        """The nodes below one at which words of the free machine fail here.

        Args:
            node: The node at which the configuration is, −1 before all.
        """
        if not here.reading.open:
            if node >= 0:
                yield from self._behind(trie, here, node, BRACKET, meter)
                return
            if here not in self._opening:
                self._opening[here] = [*self._behind(trie, here, node, BRACKET, meter)]
            yield from self._opening[here]
            return
        one_string = here.reading.in_string and len(here.ways) == 1
        apart = self._told_apart(here) if one_string else None
        if apart is not None:
            yield from self._behind(trie, here, node, QUOTE, meter)
            yield from self._along(trie, here, node, apart, meter)
            return
        for child, _, there in self._children(trie, here, node):
            if there is None or not self._can_finish(there, meter):
                yield child
            else:
                yield from self._repeating(trie, there, child, meter)

    def _children(
        self, trie: WordTrie, here: OncePlace, node: int
    ) -> Iterator[tuple[int, int, OncePlace | None]]:
        """The nodes right below one that the free machine reads: each with its byte, and the
        configuration there.
        """
        for child, byte in _children(trie, node):
            if self._read_by(here).step(here.free, byte) != NO_ARC:
                yield child, byte, self._after(here, byte)

    def _along(
        self, trie: WordTrie, here: OncePlace, node: int, apart: frozenset[int], meter: Meter
    ) -> Iterator[int]:
        """The nodes below one, inside of a string, where words fail before the string ends."""
        if not apart:
            return
        for child, byte, there in self._children(trie, here, node):
            if byte not in apart or there is None or not there.reading.in_string:
                continue
            if self._can_finish(there, meter):
                further = self._told_apart(there)
                if further is None:
                    yield from self._repeating(trie, there, child, meter)
                else:
                    yield from self._along(trie, there, child, further, meter)
            else:
                yield child

    def _told_apart(self, here: OncePlace) -> frozenset[int] | None:
        """The bytes inside of a string after which it may become one that came; behind any other
        byte of the string there surely is an ending. ``None`` if that is not sure.
        """
        if self._endings(here, in_string=True)[1]:
            return frozenset()
        reading, marks = here.reading, here.ways[0][1]
        rooms = (
            len(opened.values) <= ROOM[mark]
            for opened, mark in zip(reading.open, marks, strict=True)
        )
        if reading.escape or not all(rooms):
            return None
        following = {BACKSLASH}
        for each in _strings([opened.values for opened in reading.open]):
            if each.startswith(reading.text):
                following.update(each[len(reading.text) : len(reading.text) + 1])
        return frozenset(following)

    def _behind(
        self, trie: WordTrie, here: OncePlace, node: int, byte: int, meter: Meter
    ) -> Iterator[int]:
        """The nodes below one where words fail from the first bracket that opens an array with a
        mark, or from the quote that ends the string.
        """
        first = 0 if node < 0 else int(trie.depth[node])
        end = len(trie.byte) if node < 0 else int(trie.skip[node])
        passed = node + 1
        for at, path in _paths(trie, byte):
            if not passed <= at < end:
                continue
            there: OncePlace | None = here
            for read in path[first:-1]:
                there = self._after(there, read)
                if there is None:
                    break
            if there is None or self._read_by(there).step(there.free, byte) == NO_ARC:
                continue
            there = self._after(there, byte)
            if there is not None and (
                there.reading.in_string if byte == QUOTE else not there.reading.open
            ):
                continue  # An escaped quote, or a bracket without a mark.
            passed = int(trie.skip[at])
            if there is None or not self._can_finish(there, meter):
                yield at
            else:
                yield from self._repeating(trie, there, at, meter)

    def apart(self, meter: Meter) -> ItemsOnce:
        """A copy over copies of the machines."""
        marked, free = apart(self._marked, meter), apart(self._free, meter)
        copy = ItemsOnce(marked, free, tuple(self._met), self._sets.over(marked))
        copy.table, copy._held = self.table.copy(), self._held
        return copy

    def sent(self) -> tuple[Callable[..., ItemsOnce], tuple[Any, ...]]:
        """The machines, and the configurations that were met."""
        return ItemsOnce, (self._marked, self._free, tuple(self._met), self._sets)


@jit
def _set_words(
    table: Int32, symbol_class: Int32, byte: UInt8, depth: Int32, skip: Int32, word: Int32,
    first_id: Int32, stack: Int32, words: UInt32,
) -> None:  # fmt: skip
    """Set the bits of the first ids of the words that are read from the state ``stack[0]``."""
    node = 0
    while node < byte.shape[0]:
        target = table[stack[depth[node] - 1], symbol_class[byte[node]]]
        if target < 0:
            node = skip[node]
            continue
        stack[depth[node]] = target
        if word[node] >= 0:
            token = first_id[word[node]]
            words[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
        node += 1


def _children(trie: WordTrie, node: int) -> Iterator[tuple[int, int]]:
    """The nodes right below one, each with its byte; −1 is above all."""
    if node < 0:
        yield from _first_nodes(trie)
        return
    child, end = node + 1, int(trie.skip[node])
    while child < end:
        yield child, int(trie.byte[child])
        child = int(trie.skip[child])


@memo
def _first_nodes(trie: WordTrie) -> list[tuple[int, int]]:
    """The nodes of the first bytes of words."""
    nodes = np.flatnonzero(trie.depth == 1)
    return list(zip(nodes.tolist(), trie.byte[nodes].tolist(), strict=True))


@memo
def _paths(trie: WordTrie, byte: int) -> list[tuple[int, bytes]]:
    """The nodes of a byte, ascending, each with the bytes from the beginning of words to it."""
    nodes = np.flatnonzero(trie.byte == byte)
    paths = np.zeros((len(nodes), trie.max_depth), np.uint8)
    _set_paths(trie.byte, trie.depth, nodes, paths)
    depths: list[int] = trie.depth[nodes].tolist()
    written = paths.tobytes()
    begins = range(0, len(written), trie.max_depth)
    read = [written[begin : begin + depth] for begin, depth in zip(begins, depths, strict=True)]
    return list(zip(nodes.tolist(), read, strict=True))


@jit
def _set_paths(byte: UInt8, depth: Int32, nodes: NDArray[np.intp], paths: UInt8) -> None:
    """Write the bytes from the beginning of words to each of some nodes, which ascend."""
    path = np.zeros(paths.shape[1], np.uint8)
    at = 0
    for node in range(byte.shape[0]):
        path[depth[node] - 1] = byte[node]
        if at < nodes.shape[0] and nodes[at] == node:
            for k in range(depth[node]):
                paths[at, k] = path[k]
            at += 1


def _row(machine: ByteMachine, state: int) -> Int32:
    """The states after all bytes, int32[256]."""
    machine.expected(state)  # It fills the row.
    return machine.table[state][machine.symbol_class[:NUM_BYTES]]


def _strings(values: list[Any]) -> Iterator[bytes]:
    """All strings in some values, names included."""
    waiting = [*values]
    while waiting:
        here = waiting.pop()
        if isinstance(here, bytes):
            yield here
        elif isinstance(here, tuple):
            waiting += cast("tuple[Any, ...]", here)
