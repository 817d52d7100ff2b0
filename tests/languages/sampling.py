"""Words of a machine at random: every arc that can be taken is taken now and then."""

from __future__ import annotations

import random
from collections.abc import Iterator

from explorer.automata.machine import ByteMachine
from explorer.automata.words import shortest_word


def sampled(dfa: ByteMachine, count: int, seed: int = 0, longest: int = 80) -> Iterator[str]:
    """Words of a machine, each by a random walk over bytes that is then led to an end.

    Args:
        dfa: A machine over UTF-8.
        count: How many.
        seed: Of the walks.
        longest: How many bytes a walk takes at most before it is led to an end.
    """
    draw = random.Random(seed)
    ends: dict[int, bytes] = {}
    for _ in range(count):
        state, word = dfa.start, bytearray()
        for _ in range(draw.randrange(longest)):
            choices = dfa.expected(state)
            if not choices or (dfa.is_accepting(state) and draw.random() < 0.1):
                break
            byte = draw.choice(choices)
            word.append(byte)
            state = dfa.step(state, byte)
        if state not in ends:
            ends[state] = shortest_word(dfa, state)
        yield (bytes(word) + ends[state]).decode()
