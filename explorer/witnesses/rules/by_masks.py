"""The rules that ask an engine for further masks: of a changed constraint, or at a later state.

A *reading* (the constraint with one change) is the reason for tokens if two things hold: our mask
for the changed constraint agrees with the engine's on them, and the engine has the same mask with
the change as without it. The first alone would be a guess: a keyword may be read and still mean
something else to the engine.

*Forced* and *trimmed* tokens: the engine is asked whether it continues after a token that it masks,
and whether it finds an end after a token that we trim.

*Past a match* an engine may mask tokens that its own pattern matches. That pattern is taken from
the engine (for a schema it generates one). The engine itself shows how the pattern continues: asked
for the pattern followed by one more character, it sees no match before that character. A token that
it allows then, but masks without the character, is lost because of a match. We compile the same
pattern, with Rust's classes, to see where that match ends: directly before the token's last byte
(the engine notices a match one byte late and drops a token that leaves it), or anywhere earlier (it
stays with the alternative, or the lazy repetition, that matched first). The rule applies only if
the engine refuses a whole text of its own pattern.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from explorer.analysis.characters.display import show_text
from explorer.automata.machine import NO_ARC, Bool, ByteMachine
from explorer.automata.words import shortest_word
from explorer.errors import ExplorerError
from explorer.languages.constraint import regex
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.messages import Statement
from explorer.witnesses.plain_patterns import as_rust_reads, rust_classes
from explorer.witnesses.variants import BUDGET, SHORT_BUDGET, machine_of, mask_after, variants_of


@dataclass(frozen=True, eq=False)
class Recognised:
    """Tokens whose difference a rule recognises.

    Args:
        tokens: bool[len(vocabulary)].
        same_as: A changed constraint for which the engine has the same mask here, if that is the
            reason.
    """

    tokens: Bool
    sentence: str
    evidence: Mapping[str, str] = field(default_factory=dict[str, str])
    same_as: Statement | None = None


Recognise = Callable[[Comparison, Bool], Iterable[Recognised]]


def flags_of(tokens: Iterable[int], size: int) -> Bool:
    """The ids as flags, bool[size]."""
    flags = np.zeros(size, np.bool_)
    flags[list(tokens)] = True
    return flags


PREDICTED: Final = 0.9
"""The fraction of the tokens that a change affects on which the engine must differ from us too."""


def by_readings(kind: str) -> Recognise:
    """The rule that tries every reading of one class."""

    def recognise(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
        left = left.copy()
        budget = BUDGET if math.isinf(comparison.deadline) else SHORT_BUDGET
        for variant in variants_of(comparison):
            if variant.kind != kind or not left.any():
                continue
            comparison.check_time()
            try:
                mask = mask_after(variant.make(), comparison.vocabulary, comparison.prefix, budget)
                if mask is None:
                    continue
                changes = mask != comparison.ours
                explained = changes & (mask == comparison.theirs) & left
                # A change whose other predictions fail is not the reason. Dropping a keyword is
                # exempt: it also allows spellings of numbers that the engine masks for others.
                predicted = int((changes & comparison.differing).sum())
                share = 0 if kind == "unsupported keyword" else PREDICTED
                if not explained.any() or predicted < share * int(changes.sum()):
                    continue
                asked = variant.ask()
            except ExplorerError:
                continue
            if asked is None or not comparison.shows_the_same_for(asked):
                continue
            left &= ~explained
            many = "it" if explained.sum() == 1 else f"all {int(explained.sum()):,}"
            yield Recognised(
                explained, variant.sentence,
                {
                    "compiled anew with that change": f"our mask is the engine's on {many}",
                    "the engine asked with that change": "its mask here is the same, token by "
                    "token",
                },
                asked,
            )  # fmt: skip

    return recognise


MOST_ASKED: Final = 48
"""The most tokens about which the engine is asked; a rule claims no others."""


def forced_tokens(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens that an engine masks but continues after, where only one text can follow.

    Args:
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
    """The tokens that only the engine allows, and after which neither side finds an end.

    Args:
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


SIGNS: Final = (b"\x01", b"\x02", b"\x7f", b"~", b"Z", b"0")
"""Candidates for the character after the pattern; the first that the vocabulary writes is used."""

DIRECTLY: Final = (
    "its own pattern goes on with these, and it masks them: a whole match ends just before the "
    "token's last byte, and that byte does not complete another"
)
LATER: Final = (
    "its own pattern goes on with these, and it masks them: a whole match lies behind, and the "
    "longer texts that the pattern matches too are lost"
)
SENTENCES: Final = (DIRECTLY, LATER)
"""The reasons that name no text and so are the same at every state."""


def past_a_match(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens that an engine masks past a whole match of its own pattern.

    Args:
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
    taken: dict[str, list[int]] = {DIRECTLY: [], LATER: []}
    for token in map(int, np.flatnonzero(goes_on & masked)):
        data = comparison.vocabulary.tokens[token]
        place = None if not data else _place(machine.byte_machine, *walked, data)
        if place is not None:
            taken[place].append(token)
    for sentence, tokens in taken.items():
        if not tokens:
            continue
        shown = _evidence(comparison, machine.byte_machine, walked[0], tokens, pattern, judge)
        if shown is not None:
            yield Recognised(flags_of(tokens, len(left)), sentence, shown)


def _goes_on(comparison: Comparison, pattern: str) -> Bool | None:
    """The mask of the engine when one more character must follow the whole pattern."""
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
    """The state after a text, and whether a proper beginning of it matches."""
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
    """The sentence for a token at a state; ``None`` if no match ends before the token's end."""
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
    """Evidence: a text that the engine's own pattern matches and the engine refuses, if any."""
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
