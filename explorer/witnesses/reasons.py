"""The reasons for which another engine's mask differs from ours, each tested.

A *reading* (the constraint with one change, `explorer.witnesses.readings`) is the reason for tokens
if our mask under it is the engine's on them and the engine, asked for the changed constraint, has
the same mask as without the change. So a reason is never guessed: take the
keyword away, and the two engines agree. What no reading explains is judged by an independent parser
on a whole text through the token, or is not explained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from explorer.alphabet import in_quotes
from explorer.analysis.explaining.explanation import explain
from explorer.automata.machine import Bool
from explorer.errors import ExplorerError
from explorer.witnesses.answers import Disagreement
from explorer.witnesses.judging import Judge, judge_of
from explorer.witnesses.messages import Statement
from explorer.witnesses.readings import ComparedState, readings_of

_SAME: Final = (
    "our mask equals the engine's on the token, and the engine's own mask does not change"
)

CLASSES: Final[Mapping[str, str]] = {
    "forced tokens": "If only the longest token of a text that must follow is allowed, our mask "
    "equals the engine's.",
    "trim": "If the states are kept that no tokens of the vocabulary can finish, our mask equals "
    "the engine's.",
    "whitespace rule": f"With another layout of JSON, {_SAME}.",
    "dialect": "With another documented reading (a dot that matches a new line or does not, "
    f"members in any order, no unnamed members), {_SAME}.",
    "unsupported keyword": f"With a keyword left out (or `oneOf` read as `anyOf`), {_SAME}.",
    "Unicode class": f"With other characters in `\\d`, `\\w` and `\\s`, spelled out, {_SAME}.",
    "contradicted": "No reading explains it, and an independent judge contradicts the engine: it "
    "accepts a whole text through a token that the engine masks, or refuses a text that the engine "
    "ends.",
    "unexplained": "No reading explains it; the evidence is a whole text through the token, and "
    "what the judge says.",
}
"""The classes of differences, and the test of each."""

PREDICTED: Final = 0.75
"""The fraction of the tokens that a reading changes on which the engine must differ from us too."""

MOST_JUDGED: Final = 128
"""The most tokens for which a judge is asked."""

Ask = Callable[[Statement], "Bool | None"]
"""From a constraint to the engine's mask after the same prefix."""


def reasons_of(
    place: ComparedState, engine: str, theirs: Bool, ask: Ask
) -> tuple[Disagreement, ...]:
    """All differences of an engine's mask from ours, grouped by reason.

    Args:
        theirs: bool[len(vocabulary)], the engine's mask.
        ask: Asks the engine for another constraint at this place.
    """
    ours = place.ours.copy()
    # An engine knows only one end-of-text token, so the others are not compared.
    others = list(place.machine.vocabulary.eos_ids[1:])
    ours[others] = theirs[others]
    left = ours != theirs
    groups: list[Disagreement] = []

    def take(
        tokens: Bool, kind: str, sentence: str, evidence: Mapping[str, str],
        same_as: Statement | None = None,
    ) -> None:  # fmt: skip
        for allows in (True, False):
            if (rows := tokens & (theirs == allows)).any():
                ids = np.flatnonzero(rows).astype(np.int32)
                groups.append(
                    Disagreement(
                        engine, kind, allows, ids, sentence, evidence, len(place.prefix), same_as
                    )
                )

    for reading in readings_of(place):
        if not left.any():
            break
        mask = reading.mask()
        if mask is None:
            continue
        changes = mask != ours
        changes[others] = False
        explained = changes & (mask == theirs) & left
        # A change whose other predictions fail is not the reason. Dropping a keyword is exempt: it
        # also allows spellings of numbers that the engine masks for others.
        share = 0.0 if reading.kind == "unsupported keyword" else PREDICTED
        if not explained.any() or (changes & (mask == theirs)).sum() < share * changes.sum():
            continue
        many = "it" if explained.sum() == 1 else f"all {int(explained.sum()):,}"
        evidence = {"with that change": f"our mask is the engine's on {many}"}
        if reading.statement is not None:
            same = ask(reading.statement)
            if same is None or not np.array_equal(same, theirs):
                continue
            evidence["the engine asked with that change"] = "its mask here is the same"
        take(explained, reading.kind, reading.sentence, evidence, reading.statement)
        left &= ~explained
    if left.any():
        _judge(place, theirs, left, take)
    return tuple(groups)


def _judge(place: ComparedState, theirs: Bool, left: Bool, take: Callable[..., None]) -> None:
    """Group the tokens that no reading explains by what an independent judge says of them.

    A judge can show that an engine is wrong to mask a token that begins a text of the language, or
    to allow the end of a text that is not in it.
    """
    judge = judge_of(place.statement)
    tokens, ends = place.machine.vocabulary.tokens, place.machine.vocabulary.eos_ids
    wrong, evidence, rest = np.zeros_like(left), dict[str, str](), dict[str, str]()
    asked: list[int] = [t for t in np.flatnonzero(left).tolist() if t in ends or not theirs[t]]
    # The shortest tokens are asked about first.
    for token in sorted(asked, key=lambda token: len(tokens[token] or b""))[:MOST_JUDGED]:
        text = _whole_text(place, token)
        if text is None:
            continue
        said = {"a whole text through it": _said(judge, text)}
        if judge is not None and judge.verdict(text) is (not theirs[token]):
            wrong[token] = True
            evidence = evidence or said
        rest = rest or said
    if wrong.any():
        take(wrong, "contradicted", "an independent judge of a whole text contradicts it", evidence)
    if (left & ~wrong).any():
        take(left & ~wrong, "unexplained", "not explained: no reading that was tried holds", rest)


def _whole_text(place: ComparedState, token: int) -> bytes | None:
    """A complete text of our machine that goes on with a token; ``None`` if none was found."""
    if token in place.machine.vocabulary.eos_ids:
        return place.text
    try:
        completion = explain(place.machine, place.state, token, text=place.text).completion
    except ExplorerError:
        return None
    return None if completion is None else completion.text


def _said(judge: Judge | None, text: bytes) -> str:
    verdict = None if judge is None else judge.verdict(text)
    word = {True: "accepts it", False: "refuses it", None: "does not say"}[verdict]
    shown = in_quotes(text.decode(errors="replace"))
    return f"{shown}; {'no judge reads it' if judge is None else f'{judge.name} {word}'}"
