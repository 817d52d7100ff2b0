"""The cuts of splitters at white space, such as BERT's and Pegasus's, as automata.

Both drop white space and then put a space, or a mark for one, before each word. So in the texts
that tokens spell, every word but perhaps the first begins with one space, there is no other white
space, and the next character alone decides whether there is a cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.canonical.marked import LOST, Bool, Marked
from explorer.vocabulary.canonical.patterns import NUM_CHARACTERS
from explorer.vocabulary.tokenizer.decoder import Component
from explorer.vocabulary.tokenizer.preprocessing import only_component

_NEVER = (range(0xD800, 0xE000), range(0x40000, 0xE0000), range(0xF0000, NUM_CHARACTERS))
"""Surrogates, planes without characters, and those for private use."""

_IDEOGRAPHS = (range(0x2E80, 0xD800), range(0xF900, 0xFB00), range(0x20000, 0x30000))
"""The ranges that contain the characters which the library makes words of their own."""


def single_spaces(covered: Bool | None = None) -> Marked:
    """The rule that a text is one word without consecutive spaces or a space at its end.

    Args:
        covered: As in `Marked.over_bytes`.
    """
    class_of = np.zeros(NUM_CHARACTERS, np.uint16)
    class_of[ord(" ")] = 1
    table = np.array([[1, 2], [1, 2], [1, LOST], *[[LOST, LOST]] * 3], np.int32)
    return Marked(class_of, table, np.array([True, True, False])).over_bytes(covered)


def spaced_words(splitter: Component, lost: Sequence[str] = ()) -> Marked:
    """The rule that white space separates words, each spelled with one space before it.

    The first word may lack the space, because a text may begin within a word.

    Args:
        splitter: The declared splitter, which drops white space; it decides which characters are.
        lost: Characters that occur in no text, because others are written for them.

    Example:
        >>> marked = spaced_words({"type": "WhitespaceSplit"})
        >>> marked.accepts([" a", " b"]), marked.accepts(["a", " "]), marked.accepts([" a b"])
        (True, False, False)
    """
    other, space, never = range(3)
    class_of = np.full(NUM_CHARACTERS, other, np.uint16)
    class_of[[code for code, kept in kept_pieces(splitter) if not kept]] = never
    class_of[[ord(character) for character in lost]] = never
    class_of[ord(" ")] = space
    start, within, marked = range(3)
    table = np.full((2, 3, 3), LOST, np.int32)
    table[0, [start, within, marked], other] = within
    table[0, start, space] = marked
    table[1, within, space] = marked
    return Marked(class_of, table.reshape(6, 3), np.array([True, True, False])).over_bytes()


def spaced_out(
    splitter: Component, normalize: Callable[[str], str], bare: Callable[[str], bool]
) -> Marked:
    """The rule of BERT's splitter: punctuation and ideographs are words of their own.

    Args:
        normalize: The library's normalizer, which puts spaces around ideographs.
        bare: Whether the piece of a one-character word has no space before it, because the decoder
            removes it.
    """
    other, space, alone, tidied, never = range(5)
    class_of = np.full(NUM_CHARACTERS, other, np.uint16)
    pieces = kept_pieces(splitter)
    single = [code for code, kept in pieces if kept]
    for codes in _IDEOGRAPHS:
        spaced = normalize("a".join(map(chr, codes))).split("a")
        if len(spaced) != len(codes):  # Some character normalizes to a text with an "a".
            spaced = [normalize(chr(code)) for code in codes]
        for code, text in zip(codes, spaced, strict=True):
            if text == f" {chr(code)} ":
                single.append(code)
    class_of[single] = alone
    class_of[[code for code in single if bare(chr(code))]] = tidied
    class_of[[code for code, kept in pieces if not kept]] = never
    class_of[ord(" ")] = space
    start, within, marked, whole = range(4)
    table = np.full((2, 4, 5), LOST, np.int32)
    table[0, start, [space, tidied]] = marked, whole
    table[0, within, other] = within
    table[0, marked, [other, alone]] = within, whole
    for before in (within, whole):
        table[1, before, [space, tidied]] = marked, whole
    ends = np.array([True, True, False, True])
    return Marked(class_of, table.reshape(8, 5), ends).over_bytes()


def kept_pieces(step: Component) -> list[tuple[int, bool]]:
    """The characters at which a splitter cuts, each with whether it is kept as a piece."""
    return _asked(json.dumps(dict(step), sort_keys=True))


@lru_cache(maxsize=8)
def _asked(step: str) -> list[tuple[int, bool]]:
    splitter = only_component("pre_tokenizer", json.loads(step)).pre_tokenizer
    if splitter is None:
        raise UnsupportedTokenizer("pre_tokenizer", f"{step} cannot be rebuilt")
    codes = np.delete(np.arange(NUM_CHARACTERS, dtype="<u4"), np.concatenate(_NEVER))
    between = np.full(2 * len(codes) + 1, ord("a"), "<u4")
    between[1::2] = codes
    text = between.tobytes().decode("utf-32-le")
    reached: list[tuple[int, bool]] = []
    before = 0
    for _, (begin, end) in splitter.pre_tokenize_str(text):
        if begin > before:
            reached.append((ord(text[before]), False))
        if end - begin == 1 and text[begin] != "a":
            reached.append((ord(text[begin]), True))
        before = end
    return reached
