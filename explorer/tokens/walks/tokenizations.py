"""All tokenizations of a text that a token machine allows.

A text alone does not determine its tokens. The machine decides how far the text can be written at
all: a set of places (an offset and a state) is followed, each reached by allowed tokens, until no
token leads on. The first byte that no token writes from any of these places breaks the constraint,
whatever the tokenization.

For most machines the bytes alone decide the state, so each offset has one; a filter, such as that
of canonical tokenization, may have several.

Cost: where the given tokens are allowed, a step for each of them; else some 10 µs per byte and
token that begins there.
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
"""Other tokenizations begin at most this many bytes before the failure of the given tokens."""

_BETWEEN_LOOKS: Final = 1024


@dataclass(frozen=True, slots=True)
class TextReading:
    """The part of a text that a token machine lets tokens write.

    Args:
        ids: Allowed tokens that write a prefix of the text; the whole text where that is
            possible.
        states: int[len(ids) + 1], the state before each of them and after the last.
        num_bytes: The number of bytes that they write.
        writable: The number of bytes that some tokenization writes; where it is less than the
            text's length, no token writes the byte there. A token may go on past the last of them.
        refused: A masked token that the text has after ``ids``; ``None`` if
            the text has no such token.
        only: Whether every tokenization has that token as its first masked one.
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
    """A token that the text has at a place, where the machine masks it."""

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
    """The tokenization of a text that goes furthest under a machine.

    Args:
        data: The text.
        given: Tokens that write it, such as the tokenizer's own, used as far as the machine allows
            them; may be empty.
        meter: The clock; ``None`` for no limit.
        look_back: The bytes before the failure of ``given`` from which other ways are tried.

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
        # Of several ways to the end, prefer one after which the text may end.
        final = next((place for place in ends if machine.is_final(place[1])), ends[0])
        return _path(ways, final, own, kept, len(data))
    writable = max(
        _reached(machine, data, place)
        for place in ways
        if place[0] > furthest - trie_of(machine.vocabulary, machine.byte_machine).max_depth
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
    """The given tokens, up to the first that is masked or does not write the text."""
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
    """Whether the first masked one of the given tokens covers a byte."""
    piece = machine.vocabulary.tokens[own.refused or 0] or b""
    return own.num_bytes <= byte < own.num_bytes + len(piece) and byte < len(data)


Ways = dict[Place, tuple[Place, int] | None]
"""The predecessor of each place and the token between them; ``None`` at the beginning."""


def _ways(
    machine: TokenMachine, data: bytes, begin: Place, meter: Meter
) -> tuple[Ways, list[_Masked]]:
    """The places that tokens reach from one place, and the tokens that are masked there."""
    trie = trie_of(machine.vocabulary, machine.byte_machine)
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
    """The given tokens before the place from which other ways are tried.

    Returns:
        Their number, and the number of bytes that they write.
    """
    kept = at = 0
    while at < own.num_bytes - look_back:
        at += len(machine.vocabulary.tokens[own.ids[kept]] or b"")
        kept += 1
    return kept, at


def _targets(machine: TokenMachine, state: int, token: int) -> Iterator[tuple[int, int]]:
    """The state after a token; where it is masked, after an allowed one with the same bytes."""
    following = machine.step(state, token)
    if following is not None:
        yield token, following
        return
    for other in _same(machine, token):
        if other != token and (following := machine.step(state, other)) is not None:
            yield other, following
            return


def _same(machine: TokenMachine, token: int) -> tuple[int, ...]:
    """The ids with the same bytes as a token."""
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
    """The reading along the path to a place."""
    end = place[0]
    ids: list[int] = []
    states = [place[1]]
    while (before := ways[place]) is not None:
        place, token = before
        ids.append(token)
        states.append(place[1])
    # Given tokens precede the place where the paths begin.
    ids, states = [*own.ids[:kept], *ids[::-1]], [*own.states[:kept], *states[::-1]]
    return TextReading(tuple(ids), tuple(states), end, writable, refused, only)


def _reached(machine: TokenMachine, data: bytes, place: Place) -> int:
    """The furthest offset to which a prefix of an allowed token writes the bytes after a place."""
    offset, state = place
    if state in (DONE, DEAD):
        return offset
    trie, allowed = trie_of(machine.vocabulary, machine.byte_machine), machine.allowed(state)
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
    """Check the clock while a run is read.

    Args:
        meter: The clock.
        count: The number of ids or bytes of the run.
        noun: ``"id"`` or ``"byte"``.

    Raises:
        BudgetExceeded: The time is up.
    """
    try:
        meter.check_time(f"Reading {count:,} {noun}s")
    except BudgetExceeded as error:
        remedy = "Read fewer ids, or raise the limit with Budget(seconds=...)."
        raise error.advising(remedy) from None
