"""The UTF-8 machine of a set: exactly the codes of its members, no other bytes, no wasted state."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.automata.construction.operations import minimal_dfa
from explorer.automata.machine import Nfa
from explorer.automata.tree.charset import (
    ANY,
    ENTRY,
    EXIT,
    MAX_CODE_POINT,
    CharSet,
    Fragment,
    char_set,
    utf8_fragment,
)
from explorer.budget import Meter
from explorer.languages.regex.characters import category

EDGES = [
    0, 1, 0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xFF, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFD,
    0xFFFF, 0x10000, 0x1F600, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF,
]  # fmt: skip
points = st.one_of(st.sampled_from(EDGES), st.integers(0, MAX_CODE_POINT))
ranges = st.tuples(points, points).map(lambda pair: (min(pair), max(pair)))
sets = st.lists(ranges, max_size=6).map(char_set)


def codes(fragment: Fragment) -> set[bytes]:
    """Every word of a fragment, by following its arcs."""
    out: dict[int, list[tuple[int, int, int]]] = {}
    for source, low, high, target in fragment.arcs:
        out.setdefault(source, []).append((low, high, target))
    words: set[bytes] = set()
    waiting = [(ENTRY, b"")]
    while waiting:
        state, word = waiting.pop()
        if state == EXIT:
            words.add(word)
            continue
        for low, high, target in out[state]:
            waiting += [(target, word + bytes([byte])) for byte in range(low, high + 1)]
    return words


def as_nfa(fragment: Fragment) -> Nfa:
    arcs = np.array(fragment.arcs, np.int32).reshape(-1, 4)
    none = np.empty((0, 2), np.int32)
    return Nfa(fragment.num_inner + 2, ENTRY, arcs, none, np.array([EXIT], np.int32))


@pytest.mark.parametrize("chars", [category("d", 0), category("s", 0), category("w", 0)])
def test_all_codes_of_a_category(chars: CharSet) -> None:
    expected = {chr(p).encode() for low, high in chars.ranges for p in range(low, high + 1)}
    assert codes(utf8_fragment(chars)) == expected


def test_all_codes_there_are() -> None:
    machine = minimal_dfa(as_nfa(utf8_fragment(ANY)), Meter())
    every = [chr(p).encode() for low, high in ANY.ranges for p in range(low, high + 1, 37)]
    assert all(machine.accepts(code) for code in every)
    # Every pair of bytes, and every three or four that could be mistaken for a code.
    for first, second in itertools.product(range(256), range(256)):
        assert machine.accepts(bytes([first, second])) == _decodes(bytes([first, second]))
    edges = (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF)
    for lead in range(0xC0, 256):
        for tail in (*itertools.product(edges, edges), *itertools.product(edges, edges, edges)):
            assert machine.accepts(bytes([lead, *tail])) == _decodes(bytes([lead, *tail]))


def _decodes(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


@given(sets, st.lists(points, max_size=20))
def test_members_and_no_others(chars: CharSet, tried: list[int]) -> None:
    machine = minimal_dfa(as_nfa(utf8_fragment(chars)), Meter())
    near = {p + d for low, high in chars.ranges for p in (low, high) for d in (-1, 0, 1)}
    for point in [*tried, *EDGES, *near]:
        if 0 <= point <= MAX_CODE_POINT and not 0xD800 <= point <= 0xDFFF:
            assert machine.accepts(chr(point).encode()) == (point in chars)
