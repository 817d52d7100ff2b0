"""The labels that a machine over token ends reads besides bytes, as arcs with names to draw.

The end of a token is one symbol. The id of a token that is not text is eight digits and an end;
drawn, that is one arc with the ids for its name.
"""

from __future__ import annotations

from typing import Final

from explorer.alphabet import FIRST_DIGIT, NUM_DIGITS, TOKEN_END
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.build import is_over_tokens

END: Final = "end of token"
ANY_ID: Final = "a token that is not text"

MOST_IDS: Final = 4
"""How many ids are named."""


def marks_from(machine: ByteMachine, state: int) -> tuple[tuple[str, int], ...]:
    """The arcs of a state besides those of bytes: their names, and where they lead.

    Args:
        machine: Any byte machine; one that does not read the ends of tokens has no such arcs.
        state: One of its states.

    Example:
        >>> from explorer import regex
        >>> from explorer.budget import Meter
        >>> marks_from(regex("(?P<IMAGE>5|6)").for_tokens(Meter()), 0)
        (('token 5, 6', 9),)
    """
    if state == NO_ARC or not is_over_tokens(machine):
        return ()
    found: list[tuple[str, int]] = []
    end = machine.step(state, TOKEN_END)
    if end != NO_ARC:
        found.append((END, end))
    ids = _ids_from(machine, state)
    for target in dict.fromkeys(ids.values()):
        some = [number for number, there in ids.items() if there == target]
        more = len(some) > MOST_IDS
        listed = ", ".join(map(str, some[:MOST_IDS])) + (", …" if more else "")
        found.append((ANY_ID if some == [0, 1, 2, 3, 4] else f"token {listed}", target))
    return tuple(found)


def _ids_from(machine: ByteMachine, state: int) -> dict[int, int]:
    """The first ids that can be read from a state, one more than are named, and where they lead."""
    found: dict[int, int] = {}
    waiting = [(state, 0, 0)]
    while waiting and len(found) <= MOST_IDS:
        here, number, read = waiting.pop()
        if read == NUM_DIGITS:
            end = machine.step(here, TOKEN_END)
            if end != NO_ARC:
                found[number] = end
            continue
        for digit in range(15, -1, -1):  # The lowest comes off the pile first.
            there = machine.step(here, FIRST_DIGIT + digit)
            if there != NO_ARC:
                waiting.append((there, 16 * number + digit, read + 1))
    return found
