"""The rule for an engine that masks what its own pattern matches, once a match lies behind it.

The engine's own pattern is taken from the engine (for a schema it writes one), read with Rust's
classes, and compiled by us. A token is recognised where that pattern goes on with it, and a whole
match ends before the token's last byte. Two such places are told apart by the masks: directly after
a match (the engine sees a match one byte late, and drops a token that leaves it), and anywhere
later (it stays with the alternative, or the lazy repeat, that matched first).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Final

import numpy as np

from explorer.analysis.characters.display import show_text
from explorer.automata.constraint import regex
from explorer.automata.machine import NO_ARC, Bool, ByteMachine
from explorer.automata.words import shortest_word
from explorer.errors import ExplorerError
from explorer.tokens.words import unpack
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.rules.recognised import Recognised, flags_of
from explorer.witnesses.rust_classes import as_rust_reads, rust_classes
from explorer.witnesses.variants import machine_of

EXPLAINED: Final = 0.9
"""The part of what the engine masks beyond its pattern that must lie past a match."""

DIRECTLY: Final = (
    "its own pattern goes on with these, and it masks them: a whole match ends just before the "
    "token's last byte, and that byte does not complete another"
)
LATER: Final = (
    "its own pattern goes on with these, and it masks them: a whole match lies behind, and the "
    "longer texts that the pattern matches too are lost"
)
SENTENCES: Final = (DIRECTLY, LATER)
"""Reasons that name no text, so that they are the same at every state."""


def past_a_match(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens that an engine masks past a whole match of its own pattern.

    Args:
        comparison: The masks.
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    masked = left & comparison.ours & ~comparison.theirs
    pattern = comparison.own_pattern() if masked.any() else None
    if pattern is None:
        return
    read = rust_classes(as_rust_reads(pattern) or pattern)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            judge = re.compile(read)
        machine = machine_of(regex(read), comparison.vocabulary)
        walked = _behind(machine.byte_machine, comparison.text)
        if machine.byte_machine is None or walked is None:
            return
        state = machine.start
        for token in comparison.prefix:
            following = machine.step(state, token)
            if following is None:
                return
            state = following
        goes_on = unpack(machine.mask(state), len(comparison.vocabulary)) & ~comparison.theirs
    except (ExplorerError, re.error):
        return
    found: dict[str, list[int]] = {DIRECTLY: [], LATER: []}
    lost = [int(token) for token in np.flatnonzero(goes_on)]
    for token in lost:
        data = comparison.vocabulary.tokens[token]
        place = None if not data else _place(machine.byte_machine, *walked, data)
        if place is not None:
            found[place].append(token)
    explained = sum(map(len, found.values()))
    if not explained or explained < EXPLAINED * len(lost):
        return  # It reads the pattern in another way.
    for sentence, tokens in found.items():
        taken = flags_of(tokens, len(left)) & masked
        if taken.any():
            yield Recognised(
                taken, sentence,
                _evidence(comparison, machine.byte_machine, walked[0], taken, pattern, judge),
            )  # fmt: skip


def _behind(machine: ByteMachine | None, text: bytes) -> tuple[int, bool] | None:
    """The state after a text, and whether a match ends somewhere before its end."""
    if machine is None:
        return None
    state, ended = machine.start, False
    for byte in text:
        ended = ended or machine.is_accepting(state)
        state = machine.step(state, byte)
        if state == NO_ARC:
            return None
    return state, ended


def _place(machine: ByteMachine, state: int, ended: bool, data: bytes) -> str | None:
    """The sentence for a token after a state; ``None`` where no match lies behind it."""
    directly = False
    for byte in data:
        directly = machine.is_accepting(state)
        ended = ended or directly
        state = machine.step(state, byte)
    if state == NO_ARC:
        return None
    if directly and not machine.is_accepting(state):
        return DIRECTLY
    return LATER if ended else None


def _evidence(
    comparison: Comparison,
    machine: ByteMachine,
    state: int,
    taken: Bool,
    pattern: str,
    judge: re.Pattern[str],
) -> dict[str, str]:
    tokens = comparison.vocabulary.tokens
    ids = sorted(map(int, np.flatnonzero(taken)), key=lambda token: len(tokens[token] or b""))
    said: dict[str, str] = {}
    if comparison.statement.text != pattern:
        said["its own pattern"] = pattern
    data = tokens[ids[0]] or b""
    for byte in data:
        state = machine.step(state, byte)
    try:
        text = comparison.text + data + shortest_word(machine, state)
        matches = judge.fullmatch(text.decode()) is not None
    except (ExplorerError, UnicodeDecodeError):
        return said
    verb = "matches" if matches else "does not match"
    said["re.fullmatch"] = f"its own pattern {verb} {show_text(text)}"
    index = comparison.accepts(text)
    if index is not None:
        said["the engine"] = f"{'accepts' if index else 'refuses'} {show_text(text)}, byte by byte"
    return said
