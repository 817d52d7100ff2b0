"""The rule for an engine that masks what its own pattern matches, once a match lies behind it.

The engine's own pattern is taken from the engine (for a schema it writes one). The engine itself
says what that pattern goes on with: asked for the pattern and one more character behind it, it sees
no match before that character. A token that it allows then, and masks without the character, is
lost to a match. Where the match lies is read from the same pattern, with Rust's classes, compiled
by us: directly before the token's last byte (the engine sees a match one byte late, and drops a
token that leaves it), or anywhere earlier (it stays with the alternative, or the lazy repeat, that
matched first). The class is taken only where the engine refuses a whole text of its own pattern.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Final

import numpy as np

from explorer.analysis.characters.display import show_text
from explorer.automata.machine import NO_ARC, Bool, ByteMachine
from explorer.automata.words import shortest_word
from explorer.errors import ExplorerError
from explorer.languages.constraint import regex
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.messages import Statement
from explorer.witnesses.readings.rust_classes import as_rust_reads, rust_classes
from explorer.witnesses.readings.variants import machine_of
from explorer.witnesses.rules.recognised import Recognised, flags_of

SIGNS: Final = (b"\x01", b"\x02", b"\x7f", b"~", b"Z", b"0")
"""Characters of which one is put behind the pattern: the first that the vocabulary can write."""

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
    goes_on = _goes_on(comparison, pattern)
    if goes_on is None:
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
    except (ExplorerError, re.error):
        return
    found: dict[str, list[int]] = {DIRECTLY: [], LATER: []}
    for token in map(int, np.flatnonzero(goes_on & masked)):
        data = comparison.vocabulary.tokens[token]
        place = None if not data else _place(machine.byte_machine, *walked, data)
        if place is not None:
            found[place].append(token)
    for sentence, tokens in found.items():
        if not tokens:
            continue
        shown = _evidence(comparison, machine.byte_machine, walked[0], tokens, pattern, judge)
        if shown is not None:
            yield Recognised(flags_of(tokens, len(left)), sentence, shown)


def _goes_on(comparison: Comparison, pattern: str) -> Bool | None:
    """What the engine allows if one more character must follow the whole pattern."""
    tokens = comparison.vocabulary.tokens
    for sign in SIGNS:
        if sign not in comparison.text and comparison.vocabulary.ids_of(sign):
            more = Statement("regex", f"(?:{pattern})\\x{sign[0]:02x}")
            mask = comparison.ask(more, comparison.prefix).mask
            if mask is None:
                return None
            with_sign = np.fromiter((sign in (data or b"") for data in tokens), np.bool_)
            return mask & ~with_sign
    return None


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
    taken: list[int],
    pattern: str,
    judge: re.Pattern[str],
) -> dict[str, str] | None:
    """A text of the engine's own pattern that the engine refuses; ``None`` where there is none."""
    tokens = comparison.vocabulary.tokens
    token = min(taken, key=lambda token: len(tokens[token] or b""))
    said: dict[str, str] = {}
    if comparison.statement.text != pattern:
        said["its own pattern"] = pattern
    data = tokens[token] or b""
    for byte in data:
        state = machine.step(state, byte)
    try:
        text = comparison.text + data + shortest_word(machine, state)
        matches = judge.fullmatch(text.decode()) is not None
    except (ExplorerError, UnicodeDecodeError):
        return None
    if not matches or comparison.accepts(text) is not False:
        return None
    said["re.fullmatch"] = f"its own pattern matches {show_text(text)}"
    said["the engine"] = f"refuses {show_text(text)}, byte by byte"
    said["asked for its own pattern and one more character"] = "the engine allows them here"
    return said
