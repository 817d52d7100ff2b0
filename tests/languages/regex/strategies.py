"""Random patterns and texts: over the whole supported syntax, and over any characters at all."""

from __future__ import annotations

import random
import re

import numpy as np
from hypothesis import strategies as st

from explorer.automata.machine import Dfa

# Small, and chosen to hurt: case pairs that only IGNORECASE knows (ſ ~ s, the Kelvin sign ~ k, ß),
# a combining mark (no word character), four bytes, and what anchors and boundaries look at.
ALPHABET = "abk\n 1sſKäß😀\u0301"

texts = st.text(alphabet=ALPHABET, max_size=5)

# Any string over what has a meaning somewhere in the syntax.
_SYNTAX = [
    *"ab1 \n#.^$*+?{}[]()|\\-,:=!<>PidBAZwsxumLNé",
    "(?", "(?:", "(?=", "(?<=", "(?<!", "(?P<n>", "(?P=n)", "(?i)", "(?x)", "(?s-i:", "(?#", "(?a:",
    "{2}", "{1,2}", "{,2}", "{2,1}", r"\1", r"\x41", r"\u00e4", r"\N{BULLET}", r"\b", r"\07", r"\d",
    "[^", "[]", "a-", r"\w", "*?", "++", "(?>", "(?(1)", "(?-i", "(?u", "\\", "\\\n",
]  # fmt: skip
scribbles = st.lists(st.sampled_from(_SYNTAX), max_size=9).map("".join)

_CHARACTERS = st.sampled_from([re.escape(char) for char in ALPHABET])
_WRITTEN = st.sampled_from(
    [
        r"\x61",
        r"\u00e4",
        r"\U0001f600",
        r"\N{LATIN SMALL LETTER B}",
        r"\141",
        r"\t",
        r"\-",
        "{",
        "]",
    ]
)
_CLASSES = st.sampled_from(
    [".", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", "[ab]", "[^a]", "[a-s]", r"[^\W\d]", r"[\w-]",
     r"[]a]", r"[^]\n]", r"[ä-ÿ]", r"[\ds]", "[K-ſ]", r"[^\x00-\x7f]", r"[k\s]", r"[^k\S]",
     "[A-Z]", "[S]"]
)  # fmt: skip
_ANCHORS = st.sampled_from(["^", "$", r"\A", r"\Z", r"\b", r"\B"])
_QUANTIFIERS = st.sampled_from(
    ["*", "+", "?", "{2}", "{0,2}", "{1,}", "{,2}", "{2,3}", "{0}", "*?", "+?", "??", "{1,2}?"]
)
_OPENINGS = st.sampled_from(
    ["(", "(?:", "(?i:", "(?a:", "(?s:", "(?m:", "(?m-i:", "(?-s:", "(?u:", "(?ims:"]
)
_characters = st.one_of(_CHARACTERS, _CHARACTERS, _CLASSES, _WRITTEN)


@st.composite
def _fixed_width(draw: st.DrawFn) -> str:
    """A pattern whose matches all have one length, as a lookbehind needs."""
    length = draw(st.integers(0, 2))

    def option() -> str:
        parts = [draw(_characters) for _ in range(length)]
        if draw(st.booleans()):
            parts.insert(draw(st.integers(0, len(parts))), draw(st.one_of(_ANCHORS, _asides)))
        return "".join(parts)

    options = [option() for _ in range(draw(st.integers(1, 2)))]
    return "|".join(options)


_asides: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.builds("({}{})".format, st.sampled_from(["?=", "?!"]), _patterns),
        st.builds("({}{})".format, st.sampled_from(["?<=", "?<!"]), _fixed_width()),
    )
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    grouped = st.builds("{}{})".format, _OPENINGS, inner)
    return st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
        st.builds("{}|{}".format, inner, inner),
        grouped,
        st.builds("(?:{}){}".format, inner, _QUANTIFIERS),
        st.builds("{}{}".format, grouped, _QUANTIFIERS),
    )


_patterns: st.SearchStrategy[str] = st.recursive(
    st.one_of(
        _characters,
        st.builds("{}{}".format, _characters, _QUANTIFIERS),
        st.just(""),
        _ANCHORS,
        _asides,
    ),
    _compound,
    max_leaves=6,
)

_FLAGS = st.sampled_from(
    ["", "", "", "(?i)", "(?s)", "(?m)", "(?a)", "(?im)", "(?x)", "(?xi) # (\n "]
)

patterns = st.builds("{}{}".format, _FLAGS, _patterns)
"""Patterns over the whole supported syntax; `re` takes almost all of them."""


def some_accepted(dfa: Dfa, seed: int, count: int, max_bytes: int = 40) -> list[str]:
    """Random words of a machine: walks along live arcs, towards an end after a while."""
    if dfa.num_states == 0:
        return []
    dice = random.Random(seed)
    distance = _distance(dfa)
    example_of: dict[int, list[int]] = {}
    for byte, class_ in enumerate(dfa.symbol_class.tolist()):
        example_of.setdefault(class_, []).append(byte)
    words: set[str] = set()
    for _ in range(count):
        state, word = dfa.start, bytearray()
        length = dice.randrange(1, 12)
        while not (dfa.accepting[state] and (len(word) >= length or dice.random() < 0.2)):
            row = dfa.table[state]
            live = [c for c in range(dfa.num_classes) if row[c] >= 0]
            if not live or len(word) > max_bytes:
                break
            if len(word) >= length:  # Straight to the end.
                live = [c for c in live if distance[row[c]] < distance[state]] or live
            class_ = dice.choice(live)
            word.append(dice.choice(example_of[class_]))
            state = int(row[class_])
        if dfa.accepting[state]:
            words.add(word.decode("utf-8"))
    return sorted(words)


def _distance(dfa: Dfa) -> list[int]:
    distance = np.where(dfa.accepting, 0, dfa.num_states + 1)
    for _ in range(dfa.num_states):
        below = np.where(dfa.table >= 0, distance[dfa.table], dfa.num_states + 1).min(axis=1) + 1
        closer = np.minimum(distance, below)
        if np.array_equal(closer, distance):
            break
        distance = closer
    return distance.tolist()
