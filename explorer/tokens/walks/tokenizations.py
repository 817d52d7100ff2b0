"""All ways of writing a text with tokens, under a token machine.

A text alone does not say with which tokens it was written. What can be said of all of them is how
far the text can be written at all: a set of places (an offset and a state) is followed, each
reached by tokens that the machine allows, until no token leads on. The first byte that no token
writes from any of these places breaks the constraint, however the text was cut.

For most machines the bytes alone decide the state, so each offset has one; a filter, such as that
of canonical tokenization, may have several.

Cost: where the tokens that are given are allowed, a step for each of them; else some 10 µs per byte
and token that stands there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.automata.machine import Int32
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.spelling import nodes_along, tokens_at
from explorer.tokens.walks.trie import Trie, trie_of
from explorer.tokens.words import DEAD, DONE

LOOK_BACK: Final = 65_536
"""Other ways are looked for so many bytes before the place where the given tokens fail."""

_BETWEEN_LOOKS: Final = 1024


@dataclass(frozen=True, slots=True)
class TextReading:
    """The part of a text that a token machine lets tokens write.

    Args:
        ids: Tokens that are allowed, one way of writing a beginning of the text; all of it, where
            tokens can write it to its end.
        states: int[len(ids) + 1], the state before each of them and after the last.
        num_bytes: How many bytes they write.
        writable: How many bytes some way writes; where it is less than the text's length, no
            tokens write the byte there. A token may go on past the last of them.
        refused: A token that stands in the text after ``ids`` and that the machine masks; ``None``
            where there is none.
        only: Whether no other token could be the first one that is masked, however the text is cut.
    """

    ids: tuple[int, ...]
    states: tuple[int, ...]
    num_bytes: int
    writable: int
    refused: int | None = None
    only: bool = False


Place = tuple[int, int]
"""An offset into the text, and a state of the machine."""


@dataclass(frozen=True, slots=True)
class _Masked:
    """A token that stands in the text at a place, and that the machine masks there."""

    place: Place
    token: int
    end: int


def read_tokenizations(
    machine: TokenMachine,
    data: bytes,
    given: Sequence[int] = (),
    meter: Meter | None = None,
    look_back: int = LOOK_BACK,
) -> TextReading:
    """Write a text with tokens that a machine allows, in whichever way goes furthest.

    Args:
        data: The text.
        given: Tokens that write it, the tokenizer's own for example: taken where the machine allows
            them; empty for none.
        meter: The clock; ``None`` for as long as it takes.
        look_back: How far before the place where these fail other ways are looked for, in bytes.

    Raises:
        BudgetExceeded: The time is up.

    Example:
        >>> from explorer import Vocabulary, choice, compile
        >>> vocab = Vocabulary.from_bytes([b" y", b"y", b"e", b"es", b"s", b"a"], eos_ids=[6])
        >>> machine = compile(choice(["yes", "no", "yeah"][:1]), vocab)
        >>> read_tokenizations(machine, b"yes").ids, read_tokenizations(machine, b"yea").writable
        ((1, 3), 2)
    """
    meter = meter or Meter()
    own = _follow(machine, data, given, meter)
    if own.num_bytes == len(data):
        return own
    kept, at = _kept(machine, own, look_back)
    ways, masked = _ways(machine, data, (at, own.states[kept]), meter)
    furthest = max(offset for offset, _ in ways)
    if furthest == len(data):
        ends = [place for place in ways if place[0] == furthest]
        # Of several ways to the end, one after which the text may end.
        final = next((place for place in ends if machine.is_final(place[1])), ends[0])
        return _path(ways, final, own, kept, len(data))
    writable = max(
        _reached(machine, data, place)
        for place in ways
        if place[0] > furthest - trie_of(machine.vocabulary).max_depth
    )
    only = len(masked) == 1 and len(_same(machine, masked[0].token)) == 1
    if own.refused is not None and _covers(own, data, machine, writable):
        return TextReading(own.ids, own.states, own.num_bytes, writable, own.refused, only)
    over = [one for one in masked if one.place[0] <= writable < one.end] or masked
    last = max(over, key=lambda one: (one.place[0], one.end), default=None)
    place = max(ways) if last is None else last.place
    refused = None if last is None else last.token
    return _path(ways, place, own, kept, writable, refused, only)


def _follow(machine: TokenMachine, data: bytes, given: Sequence[int], meter: Meter) -> TextReading:
    """The tokens that were given, as far as they write the text and are allowed."""
    states = [machine.start]
    ids: list[int] = []
    at = 0
    for token in given:
        if len(ids) % _BETWEEN_LOOKS == 0:
            check_time(meter, len(given), "id")
        piece = machine.vocabulary.tokens[token] or b""
        if not piece or not data.startswith(piece, at):
            break
        following = machine.step(states[-1], token)
        if following is None:
            return TextReading(tuple(ids), tuple(states), at, at, token)
        ids.append(token)
        states.append(following)
        at += len(piece)
    return TextReading(tuple(ids), tuple(states), at, at)


def _covers(own: TextReading, data: bytes, machine: TokenMachine, byte: int) -> bool:
    """Whether the token at which the given ones fail writes a byte."""
    piece = machine.vocabulary.tokens[own.refused or 0] or b""
    return own.num_bytes <= byte < own.num_bytes + len(piece) and byte < len(data)


Ways = dict[Place, tuple[Place, int] | None]
"""For each place the one before it and the token between them; ``None`` where the ways begin."""


def _ways(
    machine: TokenMachine, data: bytes, begin: Place, meter: Meter
) -> tuple[Ways, list[_Masked]]:
    """The places that tokens lead to from one place, and the tokens that are masked there."""
    trie = trie_of(machine.vocabulary)
    ways: Ways = {begin: None}
    masked: list[_Masked] = []
    waiting: dict[int, list[int]] = {begin[0]: [begin[1]]}
    for offset in range(begin[0], len(data)):
        if offset % _BETWEEN_LOOKS == 0:
            check_time(meter, len(data), "byte")
        for state in waiting.pop(offset, ()):
            for end, token in tokens_at(trie, data, offset):
                reached = list(_targets(machine, state, token))
                if not reached:
                    masked.append(_Masked((offset, state), token, end))
                for used, target in reached:
                    if (end, target) not in ways:
                        ways[end, target] = (offset, state), used
                        if target not in (DONE, DEAD):
                            waiting.setdefault(end, []).append(target)
    return ways, masked


def _kept(machine: TokenMachine, own: TextReading, look_back: int) -> tuple[int, int]:
    """The given tokens that stand before the place from which other ways are looked for.

    Returns:
        Their number, and how many bytes they write.
    """
    kept = at = 0
    while at < own.num_bytes - look_back:
        at += len(machine.vocabulary.tokens[own.ids[kept]] or b"")
        kept += 1
    return kept, at


def _targets(machine: TokenMachine, state: int, token: int) -> Iterator[tuple[int, int]]:
    """The states after a token, or after one that writes the same where only that is allowed."""
    following = machine.step(state, token)
    if following is not None:
        yield token, following
        return
    for other in _same(machine, token):
        if other != token and (following := machine.step(state, other)) is not None:
            yield other, following
            return


def _same(machine: TokenMachine, token: int) -> tuple[int, ...]:
    """The ids that write what a token writes."""
    return machine.vocabulary.ids_of(machine.vocabulary.tokens[token] or b"")


def _path(
    ways: Ways,
    place: Place,
    own: TextReading,
    kept: int,
    writable: int,
    refused: int | None = None,
    only: bool = False,
) -> TextReading:
    """The reading along the way to a place."""
    end = place[0]
    ids: list[int] = []
    states = [place[1]]
    while (before := ways[place]) is not None:
        place, token = before
        ids.append(token)
        states.append(place[1])
    # Before the place where the ways begin stand tokens that were given.
    ids, states = [*own.ids[:kept], *ids[::-1]], [*own.states[:kept], *states[::-1]]
    return TextReading(tuple(ids), tuple(states), end, writable, refused, only)


def _reached(machine: TokenMachine, data: bytes, place: Place) -> int:
    """The offset up to which the beginning of an allowed token writes the bytes after a place."""
    offset, state = place
    if state in (DONE, DEAD):
        return offset
    trie, allowed = trie_of(machine.vocabulary), machine.allowed(state)
    far = offset
    for end, node in nodes_along(trie, data, offset):
        if not allowed[_ids_below(trie, node)].any():
            break
        far = end
    return far


def _ids_below(trie: Trie, node: int) -> Int32:
    """The ids of the words that pass through a node."""
    words = trie.word[node : trie.skip[node]]
    words = words[words >= 0]
    further = (trie.further_word >= words[0]) & (trie.further_word <= words[-1])
    return np.concatenate([trie.first_id[words], trie.further_id[further]])


def check_time(meter: Meter, count: int, noun: str) -> None:
    """Look at the clock while a run is read.

    Args:
        meter: The clock.
        count: How many ids or bytes the run has.
        noun: Which of the two.

    Raises:
        BudgetExceeded: The time is up.
    """
    try:
        meter.check_time(f"Reading {count:,} {noun}s")
    except BudgetExceeded as error:
        remedy = "Read fewer ids, or raise the limit with Budget(seconds=...)."
        raise error.advising(remedy) from None
