"""The spellings of string literals: escapes beside the characters themselves.

A machine of literals reads each character in one spelling, the one of `json.dumps` with
``ensure_ascii=False``. `respelled` allows the others: in a *free* state, where any text may
follow, or with ``escapes="any"`` in all of them. `names` keeps the same rule for names.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.operations import dfa_to_nfa
from explorer.automata.machine import NO_ARC, Dfa, Int32, Nfa
from explorer.budget import Meter
from explorer.languages.regex import compile_pattern
from explorer.languages.schema.text.escapes import CHARACTER, ESCAPE, Escapes
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.schema.text.strings import drawn_literals, literals

Whitespace = Literal["compact", "dumps", "pretty", "flexible"]
EscapesOf = Literal["free", "any"]
"""Where a character may be written ``\\uXXXX``: where any text may follow, or everywhere."""

SPELLED: Final = r'[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00(?:0[0-7bef]|1[0-9a-f])'
"""A character as `json.dumps` writes it with ``ensure_ascii=False``."""

_PLAIN: Final = np.array([byte for byte in range(0x20, 0x80) if byte not in b'"\\'])
_CONTROLS: Final = np.arange(0x80)


def character_in(escapes: EscapesOf) -> str:
    """A pattern of the spellings of one character in a string of bounded length."""
    return CHARACTER if escapes == "any" else SPELLED


def respelled(machine: Dfa, meter: Meter, escapes: EscapesOf = "free") -> Nfa:
    """String literals with further spellings, as an NFA.

    Args:
        machine: A machine of literals, quotes included, each character in one spelling.
        meter: Watches every limit.
        escapes: Where a character may also be written ``\\uXXXX`` (with a surrogate pair beyond
            U+FFFF), and the slash ``\\/``.
    """
    inside = _free_states(machine) if escapes == "free" else in_strings(machine)
    if not inside:
        return dfa_to_nfa(machine)
    sketch = Sketch(meter)
    states = sketch.copy(machine)
    every = Escapes(sketch, machine, states)
    for state in inside:
        if escapes == "any":
            every.draw(state)
        else:
            sketch.block(*free_escapes(), states[state])
    accepting: list[int] = np.flatnonzero(machine.accepting).tolist()
    return sketch.drawn(states[machine.start], [states[state] for state in accepting])


def spelled_literals(texts: Dfa, meter: Meter, escapes: EscapesOf = "free") -> Nfa:
    """The literals of a language of texts in all their spellings; arguments as `respelled`."""
    if escapes == "any":
        return respelled(literals(texts, meter), meter, escapes)
    free = _free_states(texts, _CONTROLS) if texts.num_states else []
    drawn = drawn_literals(texts, free)
    if not free:
        return drawn
    sketch = Sketch(meter)
    sketch.part_of(drawn)
    for state in free:
        sketch.block(*free_escapes(), state)
    return sketch.drawn(drawn.start, drawn.accepting.tolist())


def in_strings(machine: Dfa) -> list[int]:
    """The states between the quotes of a literal that are not within an escape."""
    if machine.start == NO_ARC:
        return []
    first = machine.step(machine.start, 0x22)
    met, todo = {first}, [first]
    while todo:
        here = todo.pop()
        after = {machine.step(here, byte) for byte in machine.expected(here) if byte not in b'"\\'}
        backslash = machine.step(here, 0x5C)
        if backslash != NO_ARC:
            after |= _after_escape(machine, backslash)
        todo += after - met
        met |= after
    return sorted(met)


def _after_escape(machine: Dfa, backslash: int) -> set[int]:
    """The states after the escapes that a machine reads."""
    ends = {machine.step(backslash, byte) for byte in b'"\\/bfnrt'}
    digits = {machine.step(backslash, ord("u"))} - {NO_ARC}
    for _ in range(4):
        digits = {machine.step(state, byte) for state in digits for byte in machine.expected(state)}
    return (ends | digits) - {NO_ARC}


@cache
def free_escapes() -> tuple[Int32, int]:
    """The arcs of every escape from a free state 0 back to it, and their number of states."""
    machine = compile_pattern(ESCAPE, Meter())[1]
    arcs = dfa_to_nfa(machine).arcs.copy()
    arcs[np.isin(arcs[:, 3], np.flatnonzero(machine.accepting)), 3] = 0
    assert machine.start == 0
    return arcs, machine.num_states


def _free_states(machine: Dfa, read: NDArray[np.int64] = _PLAIN) -> list[int]:
    """The states of a machine of literals in which any text may follow.

    All of them are between the quotes, since only there a state can read every letter and stay.

    Args:
        read: Bytes that such a state reads: for a machine of texts, also those that a literal
            escapes.
    """
    after = machine.table[:, np.unique(machine.symbol_class[read])]
    staying = (after == np.arange(machine.num_states)[:, None]).all(axis=1)
    states: list[int] = np.flatnonzero(staying).tolist()
    return [state for state in states if _is_free(machine, state, of_texts=read is not _PLAIN)]


def _is_free(machine: Dfa, state: int, *, of_texts: bool) -> bool:
    """Whether characters beyond ASCII and all escapes also lead back to a state."""
    for sample in ("é", "€", "\ud7ff", "😀", "\U0010ffff"):
        here = state
        for byte in sample.encode():
            here = machine.step(here, byte)
        if here != state:
            return False
    if of_texts:
        return True
    backslash = machine.step(state, 0x5C)
    return backslash != NO_ARC and all(machine.step(backslash, c) == state for c in b'"\\bfnrt')
