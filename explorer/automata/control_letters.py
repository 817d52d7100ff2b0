"""Machines that read control tokens, the tokens that are not text.

A machine reads a control token as its *letter* (`explorer.alphabet.letter`): a byte that never
occurs in UTF-8, the token's name, and its id. So a machine that reads letters is an ordinary byte
machine, and everything composes: sequences, grammars, schemas, discovered machines and tables. A
class of characters contains no letter, because it contains only valid UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

import numpy as np

from explorer.alphabet import (
    FIRST_ID_DIGIT,
    ID_DIGITS,
    LAST_ID_DIGIT,
    LETTER,
    LETTER_ID,
    id_digits,
)
from explorer.automata.construction import operations
from explorer.automata.machine import NO_ARC, Dfa, Int32, Nfa
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter

Arc = tuple[int, int, int, int]


def letter_arcs(source: int, target: int, fresh: int) -> tuple[list[Arc], int]:
    """Arcs that read any letter between two states, and the number of states added.

    Args:
        fresh: The number of the first unused state.
    """
    digits = [fresh + 1 + k for k in range(ID_DIGITS)]
    arcs = [(source, LETTER, LETTER, fresh), (fresh, 0, LETTER - 1, fresh)]
    arcs.append((fresh, LETTER_ID, LETTER_ID, digits[0]))
    steps = zip(digits, [*digits[1:], target], strict=True)
    arcs += [(here, FIRST_ID_DIGIT, LAST_ID_DIGIT, there) for here, there in steps]
    return arcs, 1 + ID_DIGITS


@lru_cache(maxsize=256)
def control_letters_of(tokens: frozenset[str | int]) -> Dfa:
    """The machine of some control tokens' letters, given by name (any id) or by id (any name).

    Example:
        >>> from explorer.alphabet import letter
        >>> machine = control_letters_of(frozenset({"<a>", 7}))
        >>> [machine.accepts(letter(*each)) for each in (("<a>", 3), ("<b>", 7), ("<b>", 3))]
        [True, True, False]
    """
    arcs: list[Arc] = []
    states = 2
    for token in sorted(tokens, key=str):
        if isinstance(token, int):
            more, inner = letter_arcs(0, 1, states)
            digits = id_digits(token)
            exact = [(a, digits[k], digits[k], b) for k, (a, _, _, b) in enumerate(more[3:])]
            arcs += [*more[:3], *exact]
        else:
            spelled = [LETTER, *token.encode()]
            chain = [0, *range(states, states + len(spelled))]
            states += len(spelled)
            arcs += [
                (chain[k], byte, byte, chain[k + 1]) for k, byte in enumerate(spelled)
            ]  # fmt: skip
            more, inner = letter_arcs(0, 1, states)
            arcs += [(chain[-1], *more[2][1:]), *more[3:]]
        states += inner
    return _machine(arcs, states)


@lru_cache(maxsize=256)
def control_letters_but(excluded: frozenset[str | int]) -> Dfa:
    """The machine of the letters of all control tokens except some.

    Example:
        >>> from explorer.alphabet import letter
        >>> others = control_letters_but(frozenset({"<a>"}))
        >>> [others.accepts(letter(name, 3)) for name in ("<a>", "<b>")]
        [False, True]
    """
    arcs, inner = letter_arcs(0, 1, 2)
    every = _machine(arcs, 2 + inner)
    if not excluded:
        return every
    return operations.difference(every, control_letters_of(excluded), Meter())


@cache
def texts_and_letters() -> Dfa:
    """The machine of any text with letters between its characters."""
    text = operations.dfa_to_nfa(any_text())
    letters, _ = letter_arcs(text.start, text.start, text.num_states)
    rows = np.concatenate([text.arcs, np.array(letters, np.int32)])
    states = text.num_states + 1 + ID_DIGITS
    nfa = Nfa(states, text.start, rows, np.empty((0, 2), np.int32), text.accepting)
    return operations.minimal_dfa(nfa, Meter())


def _machine(arcs: Iterable[Arc], states: int) -> Dfa:
    rows = np.array(list(arcs), np.int32).reshape(-1, 4)
    no_epsilons = np.empty((0, 2), np.int32)
    return operations.minimal_dfa(
        Nfa(states, 0, rows, no_epsilons, np.ones(1, np.int32)), Meter()
    )  # fmt: skip


def inside_letters(machine: Dfa) -> Int32:
    """The states of a trimmed machine in which a letter has begun and not ended, ascending."""
    inside: set[int] = set()
    begun = machine.table[:, machine.symbol_class[LETTER]]
    # A state, and the number of digits read; −1 within the name.
    waiting = [(state, -1) for state in set(begun[begun != NO_ARC].tolist())]
    while waiting:
        state, digits = waiting.pop()
        if state in inside or digits == ID_DIGITS:
            continue
        inside.add(state)
        after_id = int(machine.table[state, machine.symbol_class[LETTER_ID]])
        if digits >= 0 or after_id != NO_ARC:
            symbols = range(FIRST_ID_DIGIT, LAST_ID_DIGIT + 1) if digits >= 0 else [LETTER_ID]
            row = machine.table[state, machine.symbol_class[list(symbols)]]
            waiting += [(there, max(digits, -1) + 1) for there in set(row[row != NO_ARC].tolist())]
        if digits < 0:
            row = machine.table[state, machine.symbol_class[:LETTER]]
            waiting += [(there, -1) for there in set(row[row != NO_ARC].tolist())]
    return np.array(sorted(inside), np.int32)
