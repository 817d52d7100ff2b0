"""Strings with long bounds, named in a machine instead of written out.

``maxLength: 4096`` is tens of thousands of states, in the machine of the string and in that of
every object around it. A schema whose machine is discovered while it is used needs none of them:
strings with the same bounds are one *mark*, a few bytes that no text holds, in the machines that
the compiler joins. In the finished machine the marks become repeats, which are counted
(`explorer.automata.tree.repeats`).

A mark can be joined with other languages, and stand in objects and arrays. It cannot be compared:
before an intersection or a difference the marks are written out, and the result is the one that it
would be without them.

The values of members and items can be marks too (`explorer.languages.schema.building.waiting`).
Whoever writes marks out is given the texts that those stand for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.minimize import empty_dfa
from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import NO_ARC, Dfa, Nfa
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Deferred, Node, Outline, Repeat
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.errors import ExplorerError
from explorer.languages.regex import parse
from explorer.languages.schema.text.sketch import Sketch

MARKED_FROM: Final = 16
"""Strings that may have so many characters are marked; shorter ones are written out."""

_BEGIN: Final = 0xFF
_BETWEEN: Final = 0xFD
_END: Final = 0xFE
_VALUE: Final = 0xFC
_DIGITS: Final = 0x80  # Of base 64, the lowest first.
_VALUE_DIGITS: Final = 4  # So that marks of values are equally long.

_VALUES_BEGIN: Final = b'"[{-0123456789tfn'

_TEXT: Final = "(?s:.)"
SPELLED: Final = r'[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00(?:0[0-7bef]|1[0-9a-f])'
"""A character as `json.dumps` writes it with ``ensure_ascii=False``."""


def mark(minimum: int, maximum: int | None, meter: Meter) -> Dfa:
    """The machine of the mark for texts of so many characters.

    Args:
        minimum, maximum: The fewest and the most characters. Without a most, the mark is that of
            the fewest, and any text comes after it.
    """
    most = minimum if maximum is None else maximum
    word = _word([_BEGIN, *_digits(minimum), _BETWEEN, *_digits(most), _END], meter)
    if maximum is not None:
        return word
    sketch = Sketch(meter)
    begin, after, end = sketch.state(), sketch.state(), sketch.state()
    sketch.machine(begin, word, after)
    sketch.machine(after, any_text(), end)
    return sketch.finish(begin, [end])


@lru_cache(maxsize=256)
def value_mark(number: int) -> Dfa:
    """The machine of the mark for the values with a number."""
    return _word(list(value_word(number)), Meter())


def value_word(number: int) -> bytes:
    """The bytes of the mark for the values with a number."""
    digits = _digits(number)
    padded = digits + [_DIGITS] * (_VALUE_DIGITS - len(digits))
    return bytes([_VALUE, *padded, _END])


def _word(data: list[int], meter: Meter) -> Dfa:
    arcs = [(state, byte, byte, state + 1) for state, byte in enumerate(data)]
    none = np.empty((0, 2), np.int32)
    end = np.array([len(data)], np.int32)
    return minimal_dfa(Nfa(len(data) + 1, 0, np.array(arcs, np.int32), none, end), meter)


def has_marks(machine: Dfa) -> bool:
    """Whether a machine holds a mark."""
    return bool((machine.table[:, machine.symbol_class[[_VALUE, _BEGIN]]] != NO_ARC).any())


def written_as_text(machine: Dfa, meter: Meter) -> Dfa:
    """The same language of texts without marks.

    Raises:
        BudgetExceeded: It is too large.

    Example:
        >>> written_as_text(mark(1, 20, Meter()), Meter()).accepts(b"abc")
        True
    """
    return _written(machine, _TEXT, meter)


TextsOf = Callable[[int], Dfa]
"""From the number of a mark to the compact texts of the values that it stands for."""


def written_as_json(machine: Dfa, meter: Meter) -> Dfa:
    """The same language of JSON texts without marks of strings; as `written_as_text`."""
    return _written(machine, SPELLED, meter)


def same_marks(one: Dfa, two: Dfa, meter: Meter) -> bool:
    """Whether two machines over JSON can be compared with the marks of values as letters.

    So it is where nothing that both may read next is a value but the same mark.
    """
    marks: list[dict[int, list[tuple[int, int]]]] = []
    for machine in (one, two):
        arcs: dict[int, list[tuple[int, int]]] = {}
        for source, number, target in value_marks(machine):
            arcs.setdefault(source, []).append((number, target))
        marks.append(arcs)
    first, second = marks
    start = one.start, two.start
    seen = {start}
    waiting = [start]
    while waiting:
        if len(seen) & 1023 == 1:
            meter.check_time("The comparison of two values")
        here, there = waiting.pop()
        if here in first or there in second:
            mine, others = first.get(here, []), second.get(there, [])
            if _has_value(one, here, mine) and _has_value(two, there, others):
                same = len(mine) == len(others) == 1 and mine[0][0] == others[0][0]
                if not same or _reads_value(one, here) or _reads_value(two, there):
                    return False
                waiting += {(mine[0][1], others[0][1])} - seen
                seen.add((mine[0][1], others[0][1]))
        for byte in one.expected(here):
            after = one.step(here, byte), two.step(there, byte)
            if byte != _VALUE and after[1] != NO_ARC and after not in seen:
                seen.add(after)
                waiting.append(after)
    return True


def _has_value(machine: Dfa, state: int, marks: list[tuple[int, int]]) -> bool:
    return bool(marks) or _reads_value(machine, state)


def _reads_value(machine: Dfa, state: int) -> bool:
    """Whether a value that is written out may begin in a state between tokens."""
    return not set(_VALUES_BEGIN).isdisjoint(machine.expected(state))


def settled(
    machine: Dfa, meter: Meter, texts_of: TextsOf | None = None,
    stands_alone: Callable[[int], bool] = lambda _: False,
) -> Dfa:  # fmt: skip
    """A machine over JSON texts, its marks written out where one stands beside other texts.

    Strings together may be all strings, and then they may be spelled in every way.

    Args:
        stands_alone: Whether a mark stands for something else than a value, and may stay.
    """
    while beside := {each for each in _beside(machine) if not stands_alone(each)}:
        machine = _without(machine, beside, texts_of, meter)
    sources = np.flatnonzero(machine.table[:, machine.symbol_class[_BEGIN]] != NO_ARC)
    crowded = not all(set(machine.expected(state)) <= {0x22, _BEGIN} for state in sources.tolist())
    if not crowded and not _may_be_all(machine):
        return machine
    return _laid(_outlined(machine, dfa_to_nfa(machine), SPELLED, None), meter)


def _may_be_all(machine: Dfa) -> bool:
    """Whether a mark after which any text comes stands beside another, or the empty string."""
    marks = [(source, target) for source, _, _, target in _marks(machine)]
    ways = Counter(source for source, _ in marks)
    return any(
        machine.expected(target) != b'"' and (ways[source] > 1 or 0x22 in machine.expected(source))
        for source, target in marks
    )


def without_values(machine: Dfa, meter: Meter, texts_of: TextsOf) -> Dfa:
    """The same language without marks of values; as `settled`, wherever they stand."""
    return _without(machine, {number for _, number, _ in value_marks(machine)}, texts_of, meter)


def _beside(machine: Dfa) -> set[int]:
    """The marks of values that are not all that there is in some state where they stand."""
    marks = value_marks(machine)
    ways = Counter(source for source, _, _ in marks)
    arcs = (machine.table[list(ways)] != NO_ARC).sum(axis=1).tolist()
    crowded = {each for each, count in zip(ways, arcs, strict=True) if count > 1 or ways[each] > 1}
    return {number for source, number, _ in marks if source in crowded}


def _without(machine: Dfa, numbers: set[int], texts_of: TextsOf | None, meter: Meter) -> Dfa:
    """A machine in which some marks of values are written out wherever they stand.

    To write them out in one state alone would make another like it behind a loop, again and again.
    """
    if not numbers:
        return machine
    if texts_of is None:
        raise ExplorerError("The values that marks stand for are not known.")
    nfa = dfa_to_nfa(machine)
    arcs = nfa.arcs[nfa.arcs[:, 1] != _VALUE]
    rest = Nfa(nfa.num_states, nfa.start, arcs, nfa.epsilons, nfa.accepting)
    parts: list[tuple[int, Node, int]] = []
    for source, number, target in value_marks(machine):
        texts = texts_of(number) if number in numbers else value_mark(number)
        parts.append((source, _finished(texts), target))
    return _laid(Outline(rest, tuple(parts)), meter)


def outlined(
    machine: Dfa, nfa: Nfa, part_of: Callable[[int], Node] | None = None, character: str = SPELLED
) -> Outline:
    """A machine over JSON texts, its marks as nodes.

    Args:
        nfa: The same machine, perhaps with other spellings; its first states are those of the
            machine.
    """
    return _outlined(machine, nfa, character, part_of)


def _written(machine: Dfa, character: str, meter: Meter) -> Dfa:
    if not has_marks(machine):
        return machine
    return _laid(_outlined(machine, dfa_to_nfa(machine), character, None), meter)


def _laid(outline: Outline, meter: Meter) -> Dfa:
    node = Deferred(0, 0, lambda _: empty_dfa(NUM_BYTES), outline=lambda _: outline)
    return minimal_dfa(lay_out(node, meter).nfa, meter)


def _finished(machine: Dfa) -> Node:
    """The node of a machine, to be laid as it is."""
    return Deferred(0, 0, lambda _: machine, outline=lambda _: Outline(dfa_to_nfa(machine), ()))


def _outlined(
    machine: Dfa, nfa: Nfa, character: str, part_of: Callable[[int], Node] | None
) -> Outline:
    arcs = nfa.arcs[nfa.arcs[:, 1] != _BEGIN]
    parts = [
        (source, _repeat(character, minimum, maximum), target)
        for source, minimum, maximum, target in _marks(machine)
    ]
    if part_of is not None:
        arcs = arcs[arcs[:, 1] != _VALUE]
        parts += [
            (before, part_of(number), after) for before, number, after in value_marks(machine)
        ]
    nfa = Nfa(nfa.num_states, nfa.start, arcs, nfa.epsilons, nfa.accepting)
    return Outline(nfa, tuple(parts))


@lru_cache(maxsize=256)
def _repeat(character: str, minimum: int, maximum: int) -> Node:
    return Repeat(0, 0, parse(character).root, minimum, maximum, False)


def _digits(number: int) -> list[int]:
    digits = [_DIGITS + number % 64]
    while number := number // 64:
        digits.append(_DIGITS + number % 64)
    return digits


def _number(digits: bytes) -> int:
    return sum((digit - _DIGITS) * 64**place for place, digit in enumerate(digits))


def _marks(machine: Dfa) -> Iterator[tuple[int, int, int, int]]:
    """The marks of strings: ``(source, minimum, maximum, target)``."""
    for source, data, after in _words_from(machine, _BEGIN):
        fewest, most = data.split(bytes([_BETWEEN]))
        yield source, _number(fewest), _number(most), after


@lru_cache(maxsize=4)  # It is asked for several times in a row.
def value_marks(machine: Dfa) -> tuple[tuple[int, int, int], ...]:
    """The marks of values: ``(source, number, target)``, by source."""
    words = _words_from(machine, _VALUE)
    return tuple((source, _number(data), after) for source, data, after in words)


def _words_from(machine: Dfa, begin: int) -> Iterator[tuple[int, bytes, int]]:
    """The marks that begin with a byte: source, what is in them, target."""
    column = machine.table[:, machine.symbol_class[begin]]
    sources = np.flatnonzero(column != NO_ARC).tolist()
    if not sources:
        return
    members: dict[int, list[int]] = {}
    for byte in range(_DIGITS, NUM_BYTES):
        members.setdefault(int(machine.symbol_class[byte]), []).append(byte)
    end = int(machine.symbol_class[_END])
    for source in sources:
        waiting = [(int(column[source]), b"")]
        while waiting:
            here, data = waiting.pop()
            row = machine.table[here].tolist()
            if row[end] != NO_ARC:
                yield source, data, row[end]
            for class_, after in enumerate(row):
                if after != NO_ARC and class_ != end:
                    waiting += [(after, data + bytes([byte])) for byte in members[class_]]
