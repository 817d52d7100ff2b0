"""Strings with long bounds, named in a machine instead of written out.

``maxLength: 4096`` is tens of thousands of states, in the machine of the string and in that of
every object around it. A schema whose machine is discovered while it is used needs none of them:
strings with the same bounds are one *mark*, a few bytes that no text holds, in the machines that
the compiler joins. In the finished machine the marks become repeats, which are counted
(`explorer.automata.tree.counters`).

A mark can be joined with other languages, and stand in objects and arrays. It cannot be compared:
before an intersection or a difference the marks are written out, and the result is the one that it
would be without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import numpy as np

from explorer.automata.machine import NO_ARC, Dfa, Nfa
from explorer.automata.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.regex import parse
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Deferred, Node, Outline, Repeat
from explorer.budget import Meter

MARKED_FROM: Final = 16
"""Strings that may have so many characters are marked; shorter ones are written out."""

_BEGIN: Final = 0xFF
_BETWEEN: Final = 0xFD
_END: Final = 0xFE
_DIGITS: Final = 0x80  # Of base 64, the lowest first.

_TEXT: Final = "(?s:.)"
_SPELLED: Final = r'[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00(?:0[0-7bef]|1[0-9a-f])'
"""A character as `json.dumps` writes it with ``ensure_ascii=False``."""


def mark(minimum: int, maximum: int, meter: Meter) -> Dfa:
    """The machine of the mark for texts of so many characters.

    Args:
        minimum, maximum: The fewest and the most characters.
        meter: Watches every limit.
    """
    data = bytes([_BEGIN, *_digits(minimum), _BETWEEN, *_digits(maximum), _END])
    arcs = [(state, byte, byte, state + 1) for state, byte in enumerate(data)]
    none = np.empty((0, 2), np.int32)
    end = np.array([len(data)], np.int32)
    return minimal_dfa(Nfa(len(data) + 1, 0, np.array(arcs, np.int32), none, end), meter)


def has_marks(machine: Dfa) -> bool:
    """Whether a machine holds a mark."""
    return bool((machine.table[:, machine.symbol_class[_BEGIN]] != NO_ARC).any())


def written_as_text(machine: Dfa, meter: Meter) -> Dfa:
    """The same language of texts without marks.

    Args:
        machine: Reads what strings stand for.
        meter: Watches every limit.

    Raises:
        BudgetExceeded: It is too large.

    Example:
        >>> written_as_text(mark(1, 20, Meter()), Meter()).accepts(b"abc")
        True
    """
    return _written(machine, _TEXT, meter)


def written_as_json(machine: Dfa, meter: Meter) -> Dfa:
    """The same language of JSON texts without marks; as `written_as_text`."""
    return _written(machine, _SPELLED, meter)


def settled(machine: Dfa, meter: Meter) -> Dfa:
    """A machine over JSON texts, its marks written out if one stands beside other strings.

    Together they may be all strings, and then they may be spelled in every way.

    Args:
        machine: Reads JSON.
        meter: Watches every limit.
    """
    sources = np.flatnonzero(machine.table[:, machine.symbol_class[_BEGIN]] != NO_ARC)
    if all(set(machine.expected(state)) <= {0x22, _BEGIN} for state in sources.tolist()):
        return machine
    return written_as_json(machine, meter)


def outlined(machine: Dfa) -> Outline:
    """A machine over JSON texts, its marks as repeats.

    Args:
        machine: Reads JSON.
    """
    return _outlined(machine, _SPELLED)


def _written(machine: Dfa, character: str, meter: Meter) -> Dfa:
    if not has_marks(machine):
        return machine
    found = _outlined(machine, character)
    node = Deferred(0, 0, lambda _: machine, outline=lambda _: found)
    return minimal_dfa(lay_out(node, meter).nfa, meter)


def _outlined(machine: Dfa, character: str) -> Outline:
    nfa = dfa_to_nfa(machine)
    arcs = nfa.arcs[nfa.arcs[:, 1] < _BEGIN]
    parts = [
        (source, _repeat(character, minimum, maximum), target)
        for source, minimum, maximum, target in _marks(machine)
    ]
    nfa = Nfa(nfa.num_states, nfa.start, arcs, nfa.epsilons, nfa.accepting)
    return Outline(nfa, tuple(parts))


@cache
def _repeat(character: str, minimum: int, maximum: int) -> Node:
    return Repeat(0, 0, parse(character).root, minimum, maximum, False)


def _digits(number: int) -> list[int]:
    found = [_DIGITS + number % 64]
    while number := number // 64:
        found.append(_DIGITS + number % 64)
    return found


def _number(digits: bytes) -> int:
    return sum((digit - _DIGITS) * 64**place for place, digit in enumerate(digits))


def _marks(machine: Dfa) -> Iterator[tuple[int, int, int, int]]:
    """The marks: ``(source, minimum, maximum, target)``."""
    column = machine.table[:, machine.symbol_class[_BEGIN]]
    for source in np.flatnonzero(column != NO_ARC).tolist():
        waiting = [(int(column[source]), b"")]
        while waiting:
            here, data = waiting.pop()
            for byte in machine.expected(here):
                after = machine.step(here, byte)
                if byte == _END:
                    fewest, most = data.split(bytes([_BETWEEN]))
                    yield source, _number(fewest), _number(most), after
                else:
                    waiting.append((after, data + bytes([byte])))
