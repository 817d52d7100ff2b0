"""The words of a machine: a shortest one, all in order, and whether there are finitely many."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from explorer.alphabet import (
    ID_DIGITS,
    LETTER,
    LETTER_ID,
    NUM_BYTES,
    TOKEN_END,
    shown_letters,
    without_letters,
)
from explorer.automata.construction.minimize import by_target, fold, steps_from
from explorer.automata.machine import NO_ARC, ByteMachine, Dfa
from explorer.budget import Meter
from explorer.errors import ConstraintError, EmptyConstraint, caret

STAGE: Final = "The search for words"
_SECONDS_PER_CELL: Final = 1e-8


def _lowest_symbols(dfa: Dfa) -> list[int]:
    """The lowest byte of each class."""
    lowest = [-1] * dfa.num_classes
    for symbol, class_ in enumerate(dfa.symbol_class[:256]):
        if lowest[class_] < 0:
            lowest[class_] = symbol
    return lowest


def _arcs(machine: ByteMachine) -> Callable[[int], list[tuple[int, int]]]:
    """A function from a state to its targets, each with the lowest byte, sorted by byte."""
    marks = len(machine.symbol_class) > NUM_BYTES  # The end of a token is -1, as it writes nothing.
    dfa = machine.closed
    if dfa is None:

        def asked(state: int) -> list[tuple[int, int]]:
            arcs = [(byte, machine.step(state, byte)) for byte in machine.expected(state)]
            end = machine.step(state, TOKEN_END) if marks else NO_ARC
            return arcs if end == NO_ARC else [(-1, end), *arcs]

        return asked
    symbols = _lowest_symbols(dfa)
    order = sorted((symbol, c) for c, symbol in enumerate(symbols) if symbol >= 0 or marks)

    def arcs(state: int) -> list[tuple[int, int]]:
        row: list[int] = dfa.table[state].tolist()
        return [(symbol, row[c]) for symbol, c in order if row[c] != NO_ARC]

    return arcs


def shortest_word(
    machine: ByteMachine, state: int | None = None, meter: Meter | None = None
) -> bytes:
    """A shortest word, the first in byte order among those.

    Args:
        machine: A machine over bytes.
        state: The state to begin in; default the start.
        meter: Watches the time, if given.

    Raises:
        BudgetExceeded: The time is up.
        EmptyConstraint: No word can be read from the state.

    Example:
        >>> from explorer import regex
        >>> shortest_word(regex("(foo)+d").dfa)
        b'food'
    """
    begin = machine.start if state is None else state
    if begin != NO_ARC and machine.least(begin) is not None:
        return _guided_word(machine, begin, meter)
    arcs = _arcs(machine)
    came_from: dict[int, tuple[int, int]] = {}
    queue = deque([] if begin == NO_ARC else [begin])
    seen = {begin}
    while queue:
        here = queue.popleft()
        if meter is not None:
            meter.check_time(STAGE)
        if machine.is_accepting(here):
            word = bytearray()
            while here in came_from:
                here, symbol = came_from[here]
                if symbol >= 0:
                    word.append(symbol)
            return bytes(reversed(word))
        # By lowest byte, so that the first word found is also the first in byte order.
        for byte, target in arcs(here):
            if target not in seen:
                seen.add(target)
                came_from[target] = (here, byte)
                (queue.append if byte >= 0 else queue.appendleft)(target)
    raise _without_word()


def _without_word() -> EmptyConstraint:
    return EmptyConstraint(
        "No word can be read from here.",
        remedy="Look for parts of the constraint that exclude each other.",
    )


def _guided_word(machine: ByteMachine, begin: int, meter: Meter | None) -> bytes:
    """As `shortest_word`, of a machine that knows how long endings are at `least`."""
    queue = [(machine.least(begin) or 0, b"", begin)]
    seen = {begin}
    while queue:
        length, word, here = heapq.heappop(queue)
        if meter is not None:
            meter.check_time(STAGE)
        if length == len(word) and machine.is_accepting(here):
            return word
        for byte in machine.expected(here):
            target = machine.step(here, byte)
            if target not in seen:
                seen.add(target)
                least = max(length, len(word) + 1 + (machine.least(target) or 0))
                heapq.heappush(queue, (least, word + bytes((byte,)), target))
    raise _without_word()


def accepts(machine: ByteMachine, data: bytes) -> bool:
    """Whether a machine accepts exactly these bytes."""
    state = machine.start
    for byte in data:
        if state == NO_ARC:
            break
        state = machine.step(state, byte)
    return machine.is_accepting(state)


def has_no_word(machine: ByteMachine) -> bool:
    """Whether the language of a machine is empty; it then has no start state."""
    return machine.start == NO_ARC


def check_word(machine: ByteMachine, data: bytes) -> None:
    """Raise an error at the first wrong character of a text that a machine does not accept.

    Args:
        machine: A machine over bytes.
        data: A text, or the bytes of tokens.

    Raises:
        ConstraintError: The text is not a word; ``evidence`` has the ``offset`` in characters.

    Example:
        >>> from explorer import regex
        >>> check_word(regex("(foo)+d").dfa, b"foox")
        Traceback (most recent call last):
        explorer.errors.ConstraintError: The constraint does not allow this text ...
    """
    state, text = machine.start, shown_letters(data)
    for k, byte in enumerate(data):
        state = machine.step(state, byte)
        if state == NO_ARC:
            if LETTER in without_letters(data[:k]):  # It fails inside of a control token.
                k = data.rindex(LETTER, 0, k + 1)
            offset = len(shown_letters(data[:k], "ignore"))
            raise ConstraintError(
                f"The constraint does not allow this text from character {offset} on:\n"
                f"{caret(text, offset)}\n",
                remedy="explorer.explain_text(constraint, text) says what it expects there.",
                evidence={"offset": offset},
            )
    if not machine.is_accepting(state):
        raise ConstraintError(
            f"The text ends too early:\n{caret(text, len(text))}\n",
            remedy="explorer.explain_text(constraint, text) says what it expects there.",
            evidence={"offset": len(text)},
        )


def is_finite(dfa: Dfa, meter: Meter | None = None) -> bool:
    """Whether a trimmed machine has finitely many words, that is, no cycle.

    Args:
        dfa: A machine in which every state lies on an accepting path (minimal machines do).
        meter: Watches the time; default the limits of a `Budget`.

    Raises:
        BudgetExceeded: The time is up.
    """
    if dfa.num_states == 0:
        return True
    (meter or Meter()).check_time(STAGE, ahead=dfa.table.size * _SECONDS_PER_CELL)
    every = np.ones(dfa.num_states, np.bool_)
    return fold(dfa.table, dfa.accepting, every, dfa.start)[2] > 0


def words(
    machine: ByteMachine, meter: Meter | None = None, *, one_letter: bool = False
) -> Iterator[bytes]:
    """All words, shortest first, then in byte order; endless if there are infinitely many.

    Prefixes wait in a queue ordered by the length of their shortest word, so memory grows with the
    words returned, not with all words.

    Args:
        machine: A machine over bytes; one that discovers its states is searched as it grows.
        meter: Watches the time and the bytes in the queue; default the limits of a `Budget`.
        one_letter: Whether one id and one name represent all those of a control token.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    if has_no_word(machine):
        return
    meter = meter or Meter()
    known = None if machine.closed is None else _shortest_lengths(machine.closed, meter)
    lengths = lengths_when_asked(machine)

    def remaining(state: int) -> int:
        return lengths(state, meter) if known is None else known[state]

    arcs: dict[int, list[tuple[int, int]]] = {}
    queue: list[tuple[int, bytes, int]] = [(remaining(machine.start), b"", machine.start)]
    waiting = 0
    while queue:
        length, word, state = heapq.heappop(queue)
        waiting -= len(word)
        meter.check(STAGE, bytes=waiting)
        if length == len(word) and machine.is_accepting(state):
            yield word
        if state not in arcs:
            arcs[state] = [(byte, machine.step(state, byte)) for byte in machine.expected(state)]
        following_arcs = arcs[state]
        if one_letter and LETTER in word:
            following_arcs = _of_one_letter(word, following_arcs)
        for byte, target in following_arcs:
            waiting += len(word) + 1
            following = word + bytes([byte])
            # An accepting state may have longer words too; they come from its targets.
            heapq.heappush(queue, (len(following) + remaining(target), following, target))


def _of_one_letter(word: bytes, arcs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The arcs after a word; within a letter only those of one continuation."""
    begun = word.rindex(LETTER)
    at = word.find(LETTER_ID, begun)
    if at >= 0:
        return arcs[:1] if len(word) - at <= ID_DIGITS else arcs
    return [arc for arc in arcs if arc[0] == LETTER_ID] or arcs


def shown_words(machine: ByteMachine, meter: Meter) -> Iterator[str]:
    """The words as texts, each once: a control token stands in them by its name or id."""
    given: set[str] = set()
    for word in words(machine, meter, one_letter=True):
        text = shown_letters(word, "backslashreplace")
        if text not in given:
            given.add(text)
            yield text


def lengths_when_asked(machine: ByteMachine) -> Callable[[int, Meter], int]:
    """From a state to the length of a shortest word from it, searched where it is asked for."""
    known: dict[int, int] = {}

    def length(state: int, meter: Meter) -> int:
        if state not in known:
            word = shortest_word(machine, state, meter)
            for k, byte in enumerate(word):  # The rest of a shortest word is a shortest one.
                known.setdefault(state, len(word) - k)
                state = machine.step(state, byte)
            known.setdefault(state, 0)
            return len(word)
        return known[state]

    return length


def _shortest_lengths(dfa: Dfa, meter: Meter) -> list[int]:
    """For each state the length of a shortest word from it."""
    meter.check_time(STAGE, ahead=dfa.table.size * _SECONDS_PER_CELL)
    rows, columns = np.ones(dfa.num_states, np.bool_), np.ones(dfa.num_classes, np.bool_)
    steps = steps_from(*by_target(dfa.table, rows, columns), dfa.accepting)
    return (steps - 1).tolist()
