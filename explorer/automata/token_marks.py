"""Named arcs for drawings, of the symbols that a machine reads besides bytes of text.

The end of a token is one symbol. A control token is a letter of many bytes
(`explorer.automata.control_letters`); drawn, it is one arc that bears the names of tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from explorer.alphabet import (
    FIRST_ID_DIGIT,
    ID_DIGITS,
    LAST_ID_DIGIT,
    LETTER,
    LETTER_ID,
    TOKEN_END,
)
from explorer.automata.machine import NO_ARC, ByteMachine

END: Final = "end of token"
ANY_ID: Final = "a token that is not text"

MOST_IDS: Final = 4
"""The most tokens that one arc names."""

_ANY_BYTE: Final = 1
"""A byte that occurs in no name: a state that reads it reads any name."""


def marks_from(machine: ByteMachine, state: int) -> tuple[tuple[str, int], ...]:
    """The names and the targets of a state's arcs that do not read a byte of text.

    Args:
        machine: Any byte machine; one that reads neither the ends of tokens nor control tokens has
            no such arcs.
        state: One of its states.

    Example:
        >>> import explorer
        >>> from explorer.budget import Meter
        >>> marks_from(explorer.regex("(?P<IMAGE>5|6)").for_tokens(Meter()), 0)
        (('token 5, 6', 7),)
        >>> marks_from((explorer.token("<a>") | explorer.token("<b>")).dfa, 0)
        (('<a>, <b>', 9),)
    """
    if state == NO_ARC:
        return ()
    over_tokens = machine.over_tokens
    marks: list[tuple[str, int]] = []
    if over_tokens and (end := machine.step(state, TOKEN_END)) != NO_ARC:
        marks.append((END, end))
    named: dict[int, list[str | int]] = {}
    others: set[int] = set()
    for token, target in control_tokens_from(machine, state):
        end = machine.step(target, TOKEN_END) if over_tokens else target
        if end != NO_ARC and token is None:
            others.add(end)
        elif end != NO_ARC:
            named.setdefault(end, []).append(token or "")
    marks += [(_listed(tokens), target) for target, tokens in named.items() if target not in others]
    return (*marks, *((ANY_ID, target) for target in sorted(others)))


def control_tokens_from(
    machine: ByteMachine, state: int, most: int = MOST_IDS + 1
) -> list[tuple[str | int | None, int]]:
    """The control tokens that can be read from a state, and the state after each.

    Args:
        most: The most names or ids to find.

    Returns:
        Pairs of a name or an id and a state; ``None`` and a state stand for all tokens without a
        pair of their own.
    """
    begun = machine.step(state, LETTER)
    if begun == NO_ARC:
        return []
    pairs: list[tuple[str | int | None, int]] = []
    for name, here, other in _names(machine, begun):
        digits = machine.step(here, LETTER_ID)
        if digits == NO_ARC:
            continue
        beside = NO_ARC if other == NO_ARC else machine.step(other, LETTER_ID)
        for token, target in _ids(machine, digits, beside):
            pairs.append((name if token is None else token, target))
        if len(pairs) >= most:
            break
    return pairs


def _names(machine: ByteMachine, begun: int) -> Iterator[tuple[str | None, int, int]]:
    """The names whose state differs from that of an unmentioned name.

    Yields each with the state after it and the state after an unmentioned name; ``None`` stands for
    the unmentioned names.
    """
    free = machine.step(begun, _ANY_BYTE)
    if free != NO_ARC:
        yield None, free, NO_ARC
    waiting = [(b"", begun, NO_ARC if free == NO_ARC else begun, False)]
    while waiting:
        name, here, other, apart = waiting.pop()
        if (apart or free == NO_ARC) and machine.step(here, LETTER_ID) != NO_ARC:
            yield name.decode(errors="replace"), here, other
        for byte in reversed(machine.expected(here)):
            if byte < LETTER:
                there = machine.step(here, byte)
                beside = NO_ARC if other == NO_ARC else free
                if there != beside:
                    waiting.append((name + bytes([byte]), there, beside, True))


def _ids(machine: ByteMachine, digits: int, other: int) -> Iterator[tuple[int | None, int]]:
    """The ids that can be read and the state after each; ``None`` if all ids can."""
    here, every = digits, True
    for _ in range(ID_DIGITS):
        row = {machine.step(here, each) for each in range(FIRST_ID_DIGIT, LAST_ID_DIGIT + 1)}
        every = every and len(row) == 1 and NO_ARC not in row
        if not every:
            break
        here = row.pop()
    if every:
        yield None, here
        return
    waiting = [(digits, 0, 0, other)]
    while waiting:
        here, number, read, beside = waiting.pop()
        if read == ID_DIGITS:
            yield number, here
            continue
        for digit in range(LAST_ID_DIGIT - FIRST_ID_DIGIT, -1, -1):  # The lowest is popped first.
            there = machine.step(here, FIRST_ID_DIGIT + digit)
            after = NO_ARC if beside == NO_ARC else machine.step(beside, FIRST_ID_DIGIT + digit)
            if there not in (NO_ARC, after):
                waiting.append((there, number * 64 + digit, read + 1, after))


def _listed(tokens: list[str | int]) -> str:
    some = tokens[:MOST_IDS]
    more = ", …" if len(tokens) > MOST_IDS else ""
    ids = ", ".join(str(each) for each in some if isinstance(each, int))
    names = [str(each) for each in some if not isinstance(each, int)]
    return ", ".join([*names, *([f"token {ids}"] if ids else [])]) + more
