"""Token sequences as words: any transducer from token ids to bytes, composed with a byte machine.

If the bytes of a token depend on the tokens before it, a token state is more than a state of the
byte machine. So the composition becomes a byte machine of its own, whose words are sequences of
token *names*, each between a beginning and an end mark (`explorer.automata.tree.build`); everything
that works on machines over token ends then works on it.

Cost: pairs of states that are reached × arcs of the transducer's state, in plain Python; it is
meant for transducers that somebody writes by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from explorer.alphabet import NUM_PART_SYMBOLS, TOKEN_BEGIN, TOKEN_END
from explorer.automata.construction.operations import minimal_dfa
from explorer.automata.machine import NO_ARC, Dfa, Nfa
from explorer.budget import Meter

STAGE: Final = "Composing the transducer"


def token_sequences(
    arcs: Iterable[tuple[int, int | None, bytes, int]],
    accepting: frozenset[int],
    names: Mapping[int, Sequence[int]],
    dfa: Dfa,
    meter: Meter,
) -> Dfa:
    """The sequences of tokens for which a transducer can write a word of a machine.

    Args:
        arcs: ``(source, token or None, bytes, target)``; state 0 is the start.
        names: The symbols of each token's name.
        dfa: The byte machine.

    Returns:
        A minimal machine over `NUM_PART_SYMBOLS`.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    leaving: dict[int, list[tuple[int | None, bytes, int]]] = {}
    for source, token, data, target in arcs:
        leaving.setdefault(source, []).append((token, data, target))
    number: dict[tuple[int, int], int] = {}
    ends: list[int] = []
    waiting: list[tuple[int, int]] = []
    rows: list[tuple[int, int, int, int]] = []
    silent: list[tuple[int, int]] = []
    states = 0

    def state() -> int:
        nonlocal states
        states += 1
        return states - 1

    def of(pair: tuple[int, int]) -> int:
        if pair not in number:
            number[pair] = state()
            waiting.append(pair)
            if pair[0] in accepting and dfa.accepting[pair[1]]:
                ends.append(number[pair])
        return number[pair]

    if dfa.start != NO_ARC:
        of((0, dfa.start))
    for here, at in waiting:
        meter.check(STAGE, states=states, arcs=len(rows), bytes=200 * len(rows))
        source = number[here, at]
        begun: dict[tuple[int, int], int] = {}  # Names with a common beginning share states.
        for token, data, there in leaving.get(here, ()):
            after = at
            for byte in data:
                after = dfa.step(after, byte)
                if after == NO_ARC:
                    break
            if after == NO_ARC:
                continue
            target = of((there, after))
            if token is None:
                silent.append((source, target))
                continue
            inner = source
            for symbol in (TOKEN_BEGIN, *names[token]):
                if (inner, symbol) not in begun:
                    begun[inner, symbol] = state()
                    rows.append((inner, symbol, symbol, begun[inner, symbol]))
                inner = begun[inner, symbol]
            rows.append((inner, TOKEN_END, TOKEN_END, target))
    nfa = Nfa(
        max(states, 1),
        0,
        np.array(rows, np.int32).reshape(-1, 4),
        np.array(silent, np.int32).reshape(-1, 2),
        np.array(ends, np.int32),
        NUM_PART_SYMBOLS,
    )
    return minimal_dfa(nfa, meter)
