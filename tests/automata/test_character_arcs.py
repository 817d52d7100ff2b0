"""A byte machine over characters, against walking the bytes of one character after another."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

import explorer
from explorer.automata.drawn import byte_intervals
from explorer.automata.interchange.interegular_bridge import character_arcs
from explorer.automata.machine import NO_ARC, Dfa
from tests.patterns import patterns

WIDE = [
    "[^a]é?", ".{0,3}", r"\w+", "[à-ÿ日本😀-😎]x", r"[\u0800-\uffff]*", "(a|é|日|😀){2}",
    r"[^\x00-\U0010fffe]", r"[\ud7ff\ue000]",
]  # fmt: skip


def after(dfa: Dfa, state: int, char: str) -> int:
    for byte in char.encode():
        if state != NO_ARC:
            state = int(dfa.table[state, dfa.symbol_class[byte]])
    return state


def differences(dfa: Dfa, of: Dfa | None = None) -> list[tuple[int, int]]:
    """States and code points where the arcs over characters, perhaps of another machine, say
    something else."""
    arcs = character_arcs(of or dfa)
    draw = np.random.default_rng(dfa.num_states)
    found: list[tuple[int, int]] = []
    for state, pieces in list(arcs.items())[:12]:
        edges = {code + d for low, high, _ in pieces for code in (low, high) for d in (-1, 0, 1)}
        some = {0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF}
        some |= set(draw.integers(0, 0x110000, 150).tolist())
        for code in edges | some:
            if not 0 <= code < 0x110000 or 0xD800 <= code < 0xE000:
                continue
            said = [target for low, high, target in pieces if low <= code <= high]
            led = after(dfa, state, chr(code))
            if said != ([] if led == NO_ARC else [led]):
                found.append((state, code))
        # In order, and no two that could be one.
        for one, other in pairwise(pieces):
            assert one[1] < other[0]
            assert one[2] != other[2] or one[1] + 1 < other[0]
    return found


@pytest.mark.parametrize("pattern", WIDE)
def test_the_arcs_over_wide_classes(pattern: str) -> None:
    assert differences(explorer.regex(pattern).dfa) == []


@given(patterns())
def test_the_arcs_over_characters(pattern: str) -> None:
    dfa = explorer.regex(pattern).dfa
    assert differences(dfa) == []
    check_intervals(dfa)


def check_intervals(dfa: Dfa) -> None:
    """The intervals of each state say what its row of the table says, in as few as can be."""
    for state, intervals in enumerate(byte_intervals(dfa)):
        row = dfa.table[state][dfa.symbol_class[:256]]
        said = np.full(256, NO_ARC)
        for low, high, target in intervals:
            assert target != NO_ARC
            said[low : high + 1] = target
        assert said.tolist() == row.tolist()
        assert all(a[1] + 1 < b[0] or a[2] != b[2] for a, b in pairwise(intervals))


def test_the_intervals_of_any_machine() -> None:
    # No text has the byte FF, so machines over UTF-8 say nothing of how a row ends.
    draw = np.random.default_rng(0)
    for states in (1, 2, 7):
        table = draw.integers(-1, states, (states, 5)).astype(np.int32)
        classes = np.repeat(draw.integers(0, 5, 64), 4).astype(np.int32)
        check_intervals(Dfa(classes, table, np.ones(states, bool), 0))


@pytest.mark.parametrize("other", ["[日月]x", "[日本]y", "[日本][xy]"])
def test_the_oracle_can_fail(other: str) -> None:
    dfa = explorer.regex("[日本]x").dfa
    assert differences(dfa, explorer.regex("[日本]x").dfa) == []
    assert differences(dfa, explorer.regex(other).dfa)
