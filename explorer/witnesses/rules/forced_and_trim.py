"""The rules for what a token leads to: one text that must follow, or no word at all.

Both ask the engine whether it does what the reason says: whether it goes on after a token that it
masks, and whether it finds an end after a token that we trim.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from explorer.analysis.characters.display import show_text
from explorer.automata.machine import Bool
from explorer.automata.words import shortest_word
from explorer.errors import ExplorerError
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.rules.recognised import Recognised, flags_of

MOST_ASKED: Final = 48
"""Tokens about which the engine is asked; no more are claimed."""


def forced_tokens(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens that an engine masks and yet goes on after, where one text alone can follow.

    Args:
        comparison: The masks.
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    allowed = np.flatnonzero(comparison.theirs)
    ours = comparison.ours
    if len(allowed) != 1 or not ours[allowed[0]] or int(ours.sum()) < 2:
        return
    data = comparison.vocabulary.tokens[int(allowed[0])]
    byte_machine = comparison.machine.byte_machine
    if data is None or byte_machine is None:
        return
    state = comparison.machine.byte_state(comparison.state)
    for byte in data:
        if byte_machine.expected(state) != bytes([byte]) or byte_machine.is_accepting(state):
            return
        state = byte_machine.step(state, byte)
    taken: list[int] = []
    for token in np.flatnonzero(ours & left & comparison.differing).tolist()[:MOST_ASKED]:
        comparison.check_time()
        if comparison.vocabulary.tokens[token] is not None and comparison.follows(token):
            taken.append(token)
    if taken:
        yield Recognised(
            flags_of(taken, len(left)),
            f"only {show_text(data)} can follow, and it allows the longest token of it alone; the "
            "others that begin the same text are masked, which changes what the model says about "
            "them",
            {"forced text": show_text(data), "the engine": "goes on after each of the others"},
        )


def trim(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens after which neither of the two finds an end, and which only the engine allows.

    Args:
        comparison: The masks.
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    dead = comparison.stages["dead_end"] & comparison.theirs & left
    taken: list[int] = []
    for token in np.flatnonzero(dead).tolist()[:MOST_ASKED]:
        comparison.check_time()
        if comparison.finish((*comparison.prefix, token)) is None:
            taken.append(token)
    if not taken:
        return
    data = comparison.vocabulary.tokens[taken[0]] or b""
    evidence = {"the engine": "no way to an end was found after the token by what it allows"}
    byte_machine = comparison.machine.byte_machine
    if byte_machine is not None:
        state = comparison.machine.byte_state(comparison.state)
        for byte in data:
            state = byte_machine.step(state, byte)
        try:
            word = comparison.text + data + shortest_word(byte_machine, state)
            evidence["a word that it leads to"] = f"{show_text(word)}, which no tokens write"
        except ExplorerError:
            pass
    yield Recognised(
        flags_of(taken, len(left)),
        "the text may go on, but no tokens of this vocabulary can finish it: we trim such states, "
        "it does not",
        evidence,
    )
