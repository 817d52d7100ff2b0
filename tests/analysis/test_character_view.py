"""The characters at a state are those that Python's `re` reads there, all of Unicode tried."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from explorer.analysis.characters.view import ROOM, Characters
from explorer.automata.tree.charset import char_set
from explorer.languages.constraint import regex
from explorer.tokens.walks.failing import run
from tests.evidence import few

EVERY = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]


def read_by(pattern: str) -> list[int]:
    """The code points of the characters that match, found one by one in all of Unicode."""
    single = re.compile(pattern)
    return [ord(c) for c in EVERY if single.fullmatch(c)]


CLASSES = [
    ".", r"\w", r"[^\W\d_]", r"\s", "[ä🙂a-c]", "[^ä🙂]", "[\u0800-\uffff]", "[😀-🙂𐀀]", "(?s:.)",
    "[\u07ff-\u0801\U0010fffe]",
]  # fmt: skip


@pytest.mark.parametrize("pattern", CLASSES)
def test_a_class_is_seen_as_its_characters(pattern: str) -> None:
    dfa = regex(f"(?:{pattern})x?").dfa
    wanted = char_set((code, code) for code in read_by(pattern))
    assert Characters(dfa).expected(dfa.start) is wanted


@pytest.mark.parametrize("pattern", few(CLASSES, 5))
def test_within_a_character_only_those_that_begin_so(pattern: str) -> None:
    dfa = regex(f"(?:{pattern})x?").dfa
    view = Characters(dfa)
    wanted = set(read_by(pattern))
    tried = 0
    for tail in (
        "ä".encode()[:1],
        "中".encode()[:1],
        "中".encode()[:2],
        "🙂".encode()[:2],
        b"\xf4",
    ):
        if run(dfa, dfa.start, tail)[-1] < 0:
            continue
        ranges = view.expected(dfa.start, tail).ranges
        found = {code for low, high in ranges for code in range(low, high + 1)}
        assert found == {code for code in wanted if chr(code).encode().startswith(tail)}
        tried += 1
    assert tried or pattern == r"\s"


def test_a_view_that_takes_every_block_for_full_is_caught() -> None:
    dfa = regex("[ä🙂]").dfa
    view = Characters(dfa)
    view._known[:] = 1
    assert view.expected(dfa.start) is not Characters(dfa).expected(dfa.start)
    assert np.any(Characters(dfa)._known == 0)


def test_more_ranges_than_there_is_room_for_at_first() -> None:
    codes = range(0x4E00, 0x4E00 + 3 * ROOM, 2)
    dfa = regex(f"[{''.join(map(chr, codes))}]").dfa
    assert Characters(dfa).expected(0) is char_set((code, code) for code in codes)
