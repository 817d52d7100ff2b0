"""From compact JSON text to the ways in which people and models write it.

A finished machine reads compact text: no white space, each string in one spelling. Two
transformations widen it, each a product with a small machine that knows where in a JSON text one
is:

- `escaped` allows ``\\uXXXX`` and ``\\/`` for characters inside strings that are free to hold
  anything; `flexible` also any white space between tokens (RFC 8259, section 2);
- `pretty` allows the white space of ``json.dumps(indent=2)``.

Both know a state by what it is in: between tokens, in a string, in a number or in a word. A minimal
machine never has one state for two of these, because what may follow differs, so the place of each
state is found by one walk from the start.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal

import numpy as np

from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import NO_ARC, Dfa, Int32, Nfa
from explorer.budget import Meter
from explorer.jit import jit
from explorer.languages.schema.text.counting import SPELLED
from explorer.languages.schema.text.escapes import CHARACTER, Escapes
from explorer.languages.schema.text.sketch import Sketch

Whitespace = Literal["compact", "pretty", "flexible"]
EscapesOf = Literal["free", "any"]
"""Where a character may be written ``\\uXXXX``: in free strings, or in names and all strings."""

_OUT: Final = 0
_STRING: Final = 1
_ESCAPE: Final = 2
_SCALAR: Final = 3

_SPACES: Final = b" \t\n\r"
_PLAIN: Final = np.array([byte for byte in range(0x20, 0x80) if byte not in b'"\\'])


@jit
def _walk(table: Int32, kind: Int32, start: int) -> Int32:
    """The place of each state, from one walk; ``kind`` says what each class of bytes does."""
    where = np.full(table.shape[0], -1, np.int32)
    stack = np.empty(table.shape[0], np.int32)
    where[start] = 0
    stack[0] = start
    top = 1
    while top > 0:
        top -= 1
        state = stack[top]
        here = where[state]
        for class_ in range(table.shape[1]):
            target = table[state, class_]
            if target < 0 or where[target] >= 0:
                continue
            if here == 1:
                there = 2 if kind[class_] == 2 else 0 if kind[class_] == 1 else 1
            elif here == 2 or kind[class_] == 1:
                there = 1
            elif kind[class_] == 3:
                there = 0
            else:
                there = 3
            where[target] = there
            stack[top] = target
            top += 1
    return where


def places(machine: Dfa) -> Int32:
    """The place of each state of a machine over compact JSON: int32[num_states].

    Bytes of one class behave alike in every state, so what one of them does between tokens, all do.
    """
    kind = np.zeros(machine.num_classes, np.int32)
    for byte in (*b"{}[],:", 0xFE):  # The last ends a mark, after which a value is over.
        kind[machine.symbol_class[byte]] = 3
    kind[machine.symbol_class[0x5C]] = 2
    kind[machine.symbol_class[0x22]] = 1
    return _walk(machine.table, kind, machine.start)


def escaped(machine: Dfa, meter: Meter, escapes: EscapesOf = "free") -> Dfa:
    """The texts of a machine with every spelling of the characters of free strings.

    A state inside a string is free if every character but the quote and the backslash stays in it.
    There a character may also be written ``\\uXXXX``, with a surrogate pair beyond U+FFFF, and the
    slash ``\\/``. Elsewhere, in names and in strings that a keyword constrains, there is one
    spelling.

    Args:
        machine: Reads JSON in the spelling of ``json.dumps(ensure_ascii=False)``.
    """
    return _widened(machine, meter, spaces=False, escapes=escapes)


def flexible(machine: Dfa, meter: Meter, escapes: EscapesOf = "free") -> Dfa:
    """The texts of a machine with any white space between tokens, and `escaped`."""
    return _widened(machine, meter, spaces=True, escapes=escapes)


def respelled(
    machine: Dfa, meter: Meter, *, spaces: bool, around: bool = True, escapes: EscapesOf = "free"
) -> Nfa:
    """The machine of `escaped` or, with ``spaces``, of `flexible`, not determinized.

    Its first states are those of the machine.
    """
    drawn = _drawn(machine, meter, spaces=spaces, around=around, escapes=escapes)
    return dfa_to_nfa(machine) if drawn is None else drawn


def character_in(escapes: EscapesOf) -> str:
    """A pattern of the spellings of one character in a string with bounds."""
    return CHARACTER if escapes == "any" else SPELLED


def _widened(machine: Dfa, meter: Meter, *, spaces: bool, escapes: EscapesOf) -> Dfa:
    drawn = _drawn(machine, meter, spaces=spaces, escapes=escapes)
    return machine if drawn is None else minimal_dfa(drawn, meter)


def _drawn(
    machine: Dfa, meter: Meter, *, spaces: bool, escapes: EscapesOf, around: bool = True
) -> Nfa | None:
    """A machine with more spellings; ``None`` where there are no more."""
    if machine.num_states == 0:
        return None
    where = places(machine)
    strings: list[int] = np.flatnonzero(where == _STRING).tolist()
    if escapes == "free":
        strings = _free(machine, where)
    if not spaces and not strings:
        return None
    sketch = Sketch(meter)
    inside = sketch.copy(machine)
    accepting: list[int] = [inside[state] for state in np.flatnonzero(machine.accepting).tolist()]
    if spaces:
        accepting += _draw_spaces(sketch, machine, inside, where.tolist(), around)
    every = Escapes(sketch, machine, inside)
    arcs, states = _escapes()
    for state in strings:
        if escapes == "any":
            every.draw(state)
        else:
            sketch.block(arcs, states, inside[state])
    return sketch.drawn(inside[machine.start], accepting)


def _free(machine: Dfa, where: Int32) -> list[int]:
    """The states inside free strings."""
    stays = machine.table[:, machine.symbol_class[0x61]] == np.arange(machine.num_states)
    strings: list[int] = np.flatnonzero((where == _STRING) & stays).tolist()
    return [state for state in strings if _is_free(machine, state)]


def _draw_spaces(
    sketch: Sketch, machine: Dfa, inside: range, where: list[int], around: bool
) -> list[int]:
    """Draw white space around tokens; the states after it in which the text may end."""
    accepting: list[int] = []
    for state in range(machine.num_states):
        here, place = inside[state], where[state]
        at_an_edge = state == machine.start or machine.is_accepting(state)
        if place == _OUT and (around or not at_an_edge):
            for space in _SPACES:
                sketch.byte(here, space, here)
        if place != _SCALAR:
            continue
        follows = [
            (byte, target) for byte in b"}],:" if (target := machine.step(state, byte)) != NO_ARC
        ]
        if not follows and not (around and machine.is_accepting(state)):
            continue
        # White space after a number or a word: only structure may follow it.
        rest = sketch.state()
        for space in _SPACES:
            sketch.byte(here, space, rest)
            sketch.byte(rest, space, rest)
        if around and machine.is_accepting(state):
            accepting.append(rest)
        for byte, target in follows:
            sketch.byte(rest, byte, inside[target])
    return accepting


@cache
def _escapes() -> tuple[Int32, int]:
    """Every escape from state 0, inside a free string, back to it; and how many states it takes."""
    sketch = Sketch(Meter())
    here, backslash, code = sketch.state(), sketch.state(), sketch.state()
    sketch.byte(here, 0x5C, backslash)
    for letter in b'"\\/bfnrt':
        sketch.byte(backslash, letter, here)
    sketch.byte(backslash, ord("u"), code)
    _hexadecimal(sketch, code, here)
    drawn = sketch.drawn(here, [])
    return drawn.arcs, drawn.num_states


def _runs(row: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Neighbouring bytes with one target as intervals."""
    runs: list[tuple[int, int, int]] = []
    for byte, target in row:
        if runs and runs[-1][1] == byte - 1 and runs[-1][2] == target:
            runs[-1] = (runs[-1][0], byte, target)
        else:
            runs.append((byte, byte, target))
    return runs


def pretty(machine: Dfa, meter: Meter, *, deepest: int = 64) -> Dfa:
    """The texts of a machine as ``json.dumps(value, indent=2)`` lays them out."""
    if machine.num_states == 0:
        return machine
    where = places(machine).tolist()
    sketch = Sketch(meter)
    number: dict[tuple[int, int], int] = {}
    todo: list[tuple[int, int]] = []
    accepting: list[int] = []

    def node(state: int, level: int) -> int:
        if (state, level) not in number:
            number[state, level] = sketch.state()
            meter.check("Layout of JSON", states=len(number))
            todo.append((state, level))
        return number[state, level]

    def line(level: int) -> bytes:
        return b"\n" + b"  " * level

    first = node(machine.start, 0)
    while todo:
        state, level = todo.pop()
        here = number[state, level]
        if machine.is_accepting(state):
            accepting.append(here)
        row = [(byte, machine.step(state, byte)) for byte in machine.expected(state)]
        if where[state] in (_STRING, _ESCAPE):
            for low, high, target in _runs(row):
                sketch.interval(here, low, high, node(target, level))
            continue
        for byte, target in row:
            if byte in b"{[":
                if level >= deepest:
                    continue
                opened = sketch.state()
                sketch.byte(here, byte, opened)
                for following in machine.expected(target):
                    beyond = machine.step(target, following)
                    if following in b"}]":
                        sketch.byte(opened, following, node(beyond, level))
                    else:
                        begun = sketch.state()
                        sketch.byte(opened, line(level + 1), begun)
                        sketch.epsilon(begun, node(target, level + 1))
            elif byte in b"}]":
                if level > 0:
                    sketch.byte(here, line(level - 1) + bytes([byte]), node(target, level - 1))
            elif byte == 0x2C:
                sketch.byte(here, b"," + line(level), node(target, level))
            elif byte == 0x3A:
                sketch.byte(here, b": ", node(target, level))
            else:
                sketch.byte(here, byte, node(target, level))
    return sketch.finish(first, accepting)


def _is_free(machine: Dfa, state: int) -> bool:
    """Whether every character that needs no escape stays in a state, and every escape returns."""
    if (machine.table[state, machine.symbol_class[_PLAIN]] != state).any():
        return False
    for sample in ("é", "€", "\ud7ff", "😀", "\U0010ffff"):
        here = state
        for byte in sample.encode():
            here = machine.step(here, byte)
        if here != state:
            return False
    backslash = machine.step(state, 0x5C)
    return backslash != NO_ARC and all(machine.step(backslash, c) == state for c in b'"\\bfnrt')


def _hexadecimal(sketch: Sketch, code: int, after: int) -> None:
    """Draw the four digits of a character, or of the two halves of a surrogate pair."""

    def digits(source: int, wanted: str, target: int) -> None:
        bytes_ = sorted({*wanted.encode(), *wanted.upper().encode()})
        for low, high, _ in _runs([(byte, target) for byte in bytes_]):
            sketch.interval(source, low, high, target)

    every = "0123456789abcdef"
    three, two, one = sketch.state(), sketch.state(), sketch.state()
    digits(code, "0123456789abcef", three)
    digits(three, every, two)
    digits(two, every, one)
    digits(one, every, after)
    d, high = sketch.state(), sketch.state()
    digits(code, "d", d)
    digits(d, "01234567", two)
    digits(d, "89ab", high)
    last, slash, u, low, low_d, low_two, low_one = (sketch.state() for _ in range(7))
    digits(high, every, last)
    digits(last, every, slash)
    sketch.byte(slash, 0x5C, u)
    sketch.byte(u, ord("u"), low)
    digits(low, "d", low_d)
    digits(low_d, "cdef", low_two)
    digits(low_two, every, low_one)
    digits(low_one, every, after)
