"""Terminals over tokens: their words are sequences of whole tokens.

*TEXT_TOKEN*       one token that is text;
*PARAGRAPH_TOKEN*  one token that is text and has no newline (``\\n``) in it;
*TEXT_UNTIL*       text tokens up to a stop phrase, which ends the last and occurs nowhere before;
*IMAGE*            one token that is not text; with arguments, one of these ids.

A token that holds half a character counts as one token too; the whole text is always valid UTF-8.
The text after a terminal begins with a new token, so no token crosses its edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final

import numpy as np

from explorer.alphabet import (
    LETTER,
    MOST_ID,
    NUM_PART_SYMBOLS,
    TOKEN_BEGIN,
    TOKEN_END,
)
from explorer.automata.construction import operations
from explorer.automata.control_letters import control_letters_but, control_letters_of
from explorer.automata.machine import Dfa, Nfa
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import ANY, NOT_NEWLINE, CharSet
from explorer.automata.tree.nodes import Class, Empty, Node, Repeat, TokenPiece
from explorer.budget import Meter
from explorer.languages.phases.free import check_lengths, text_up_to_first
from explorer.languages.terminals.kinds import Terminal, TerminalGroup, register_terminal

Arc = tuple[int, int, int, int]

_LAST_BYTE: Final = LETTER - 1
"""The largest byte of text; larger symbols, from `LETTER` on, are letters of control tokens."""
_NEWLINE: Final = ord("\n")


def _machine(arcs: Sequence[Arc], accepting: int, start: int = 0) -> Dfa:
    """The minimal machine of some arcs over bytes and the ends of tokens."""
    states = max(max(arc[0], arc[3]) for arc in arcs) + 1
    rows = np.array(arcs, np.int32)
    ends = np.array([accepting], np.int32)
    nfa = Nfa(states, start, rows, np.empty((0, 2), np.int32), ends, NUM_PART_SYMBOLS)
    return operations.minimal_dfa(nfa, Meter())


@lru_cache(maxsize=16)
def _one_token(ranges: tuple[tuple[int, int], ...]) -> Dfa:
    """The machine of one token of bytes within some ranges, at least one byte."""
    inside = [(here, low, high, 2) for here in (1, 2) for low, high in ranges]
    begin, end = (0, TOKEN_BEGIN, TOKEN_BEGIN, 1), (2, TOKEN_END, TOKEN_END, 3)
    return _machine([begin, *inside, end], 3)


@lru_cache(maxsize=8)
def _some(chars: CharSet) -> Dfa:
    """The machine of all non-empty texts of some characters."""
    return build(Repeat(0, 0, Class(0, 0, chars), 1, None, False), Meter())


def _empty_text() -> Dfa:
    return build(Empty(0, 0), Meter())


@lru_cache(maxsize=64)
def _until(phrase: str) -> Dfa:
    check_lengths([phrase])
    text = operations.dfa_to_nfa(text_up_to_first((phrase,)))
    n, (end,) = text.num_states, text.accepting.tolist()
    # State k between tokens; k + n after a beginning; k + 2n inside a token.
    arcs = [
        (a + s * n, low, high, b + 2 * n) for s in (1, 2) for a, low, high, b in text.arcs.tolist()
    ]
    arcs += [(k, TOKEN_BEGIN, TOKEN_BEGIN, k + n) for k in range(n) if k != end]
    arcs += [(k + 2 * n, TOKEN_END, TOKEN_END, k) for k in range(n)]
    return _machine(arcs, end, start=text.start)


@lru_cache(maxsize=64)
def _image(ids: tuple[int, ...]) -> Dfa:
    no_tokens: frozenset[str | int] = frozenset()
    letters = control_letters_of(no_tokens.union(ids)) if ids else control_letters_but(no_tokens)
    nfa = operations.dfa_to_nfa(letters)
    n = nfa.num_states
    marks = [(n, TOKEN_BEGIN, TOKEN_BEGIN, nfa.start)]
    marks += [(state, TOKEN_END, TOKEN_END, n + 1) for state in nfa.accepting.tolist()]
    rows = np.concatenate([nfa.arcs, np.array(marks, np.int32)])
    ends = np.array([n + 1], np.int32)
    whole = Nfa(n + 2, n, rows, np.empty((0, 2), np.int32), ends, NUM_PART_SYMBOLS)
    return operations.minimal_dfa(whole, Meter())


def _text_until(group: TerminalGroup) -> Node:
    phrase = group.arguments[0].text
    if not phrase:
        raise group.bad(
            "the stop phrase is empty", "Write it after the name: (?P<TEXT_UNTIL>stop phrase)."
        )
    return TokenPiece(
        group.start, group.end, partial(_until, phrase), partial(text_up_to_first, (phrase,))
    )


def _image_of(group: TerminalGroup) -> Node:
    ids: list[int] = []
    for argument in group.arguments:
        written = argument.text.strip()
        if not (written.isascii() and written.isdecimal()) or int(written) > MOST_ID:
            raise group.bad(
                f"{argument.text!r} is not a token id",
                "Write ids with a bar between them, as in (?P<IMAGE>10|11); none at all stands "
                "for every id that is not text.",
                argument,
            )
        ids.append(int(written))
    chosen = tuple(sorted(set(ids)))
    return TokenPiece(group.start, group.end, partial(_image, chosen), _empty_text)


def _token_of(
    ranges: tuple[tuple[int, int], ...], chars: CharSet
) -> Callable[[TerminalGroup], Node]:
    """Makes the node of one token of some bytes and characters."""
    machines = partial(_one_token, ranges), partial(_some, chars)
    return lambda group: TokenPiece(group.start, group.end, *machines)


_BUT_NEWLINE: Final = ((0, _NEWLINE - 1), (_NEWLINE + 1, _LAST_BYTE))

_OVER_TOKENS: Final = (
    Terminal("TEXT_TOKEN", "", 0, 0, _token_of(((0, _LAST_BYTE),), ANY)),
    Terminal(
        "PARAGRAPH_TOKEN", "", 0, 0, _token_of(_BUT_NEWLINE, NOT_NEWLINE),
        refusal=lambda data, at: "contains a newline" if data[at : at + 1] == b"\n" else "",
    ),
    Terminal(
        "TEXT_UNTIL", "stop phrase", 1, 1, _text_until,
        refusal=lambda data, at: "goes on after the stop phrase" if at else "",
    ),
    Terminal("IMAGE", "id|id|…", 0, None, _image_of, refusal=lambda data, at: "is text"),
)  # fmt: skip

for _each in _OVER_TOKENS:
    register_terminal(replace(_each, closed=True, over_tokens=True))
