"""The everyday causes why a token is masked, each tested by undoing it.

A cause is a change of the constraint: white space is allowed, the properties may come in any order,
a keyword is left out, a code fence may stand around the answer. A change is the cause if the
changed constraint reads the text and the token. So what is said is what would help, whatever the
wording of the source, and where no change helps nothing is said.

What it does not do: combine two changes, or say that the change is what a user wants.
Cost: one discovered machine for each change that is tried, at most a dozen, within `LIMITS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Final

from explorer.analysis.places.part import SourcePart, state_after
from explorer.analysis.places.widening import put_source, ways_to
from explorer.analysis.verdict.verdict import Verdict
from explorer.automata.machine import NO_ARC
from explorer.automata.tree.changes import Change
from explorer.automata.tree.nodes import Source
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint, regex
from explorer.languages.stages.staged import token_stages

MOST_TRIED: Final = 12
"""The most changes that are tried for one token."""


@dataclass(frozen=True)
class Cause:
    """The everyday reason why a token is masked, and the change that would allow it.

    Args:
        change: The reason and the change, in words.
        constraint: The constraint with the change, which reads the text and the token.
    """

    change: Change
    constraint: Constraint

    def __str__(self) -> str:
        return f"{self.change.sentence} {self.change.remedy}"

    def to_dict(self) -> dict[str, object]:
        """The words as plain values for JSON."""
        return asdict(self.change)


_AROUND: Final[tuple[tuple[tuple[bytes, ...], Change, Callable[[Constraint], Constraint]], ...]] = (
    ((b" ", b"\n", b"\t", b"\r"), Change(
        "leading space",
        "The answer begins with white space, which the constraint does not allow.",
        'End the prompt with the space, or allow it: regex(r"\\s?") + constraint.',
        "allow a leading space",
    ), lambda asked: regex(r"\s?") + asked),
    ((b"```json\n", b"```\n"), Change(
        "code fence",
        "The model opens a code fence before the answer.",
        'Ask for the bare answer, or allow the fence: "```json\\n" + constraint + "\\n```".',
        "allow a code fence",
    ), lambda asked: regex("(?:```(?:json)?\n)?") + asked + regex("(?:\n```)?")),
    ((b"<think>",), Change(
        "reasoning block",
        "The model begins with its reasoning.",
        "Let the constraint begin after </think>, or allow a block of reasoning before it.",
        "allow a block of reasoning",
    ), lambda asked: regex(r"(?:<think>(?:[^<]|<(?!/think>))*</think>\s*)?") + asked),
)  # fmt: skip
"""Text around an answer that models write and constraints seldom allow: its openings, the change in
words, and the constraint that has room for it."""

_SAYS_NOTHING: Final = b"<"
"""A beginning of `<think>` that is one of tags and of much else."""


def cause_of(
    constraint: Constraint | None, verdict: Verdict, parts: Sequence[SourcePart], offered: bytes
) -> Cause | None:
    """The everyday cause of a masked token; ``None`` where no change of the kinds known allows it.

    Args:
        constraint: The constraint; ``None`` has no cause.
        verdict: Why; only the stage ``constraint`` has a cause.
        parts: The parts of the source that decide.
        offered: The token and all that was asked about after it.

    Example:
        >>> from explorer.languages.schema.functions import json_schema
        >>> from explorer.analysis.explaining.answer import explain_text
        >>> asked = json_schema({"properties": {"name": {"type": "string"}}})
        >>> explain_text(asked, '{"name": ').cause.change.sentence
        'The model writes white space here, and this constraint has none.'
    """
    if constraint is None or verdict.stage != "constraint" or verdict.byte_offset is None:
        return None
    if constraint.over_tokens or token_stages(constraint.source):
        return None  # What the text allows, they may still mask.
    written = verdict.prefix + (verdict.data or b"")
    for cause in islice(_changes(constraint, verdict, parts, offered), MOST_TRIED):
        try:
            if state_after(cause.constraint.machine, written) != NO_ARC:
                return cause
        except ExplorerError:
            continue  # It cannot be read so, or is too large: not this one.
    return None


def _changes(
    constraint: Constraint, verdict: Verdict, parts: Sequence[SourcePart], offered: bytes
) -> Iterator[Cause]:
    whole = constraint.source
    if not verdict.prefix and offered not in (b"", _SAYS_NOTHING):
        for openings, change, around in _AROUND:
            if any(offered.startswith(each) or each.startswith(offered) for each in openings):
                yield Cause(change, around(constraint))
    labels: dict[Source, list[str]] = {}
    for part in parts:
        for place in part.positions:
            labels.setdefault(place.source, []).append(place.label)
    for source, decides in labels.items():
        for way in ways_to(whole, source)[:1]:
            for change, changed in source.relaxed(decides):
                yield Cause(change, Constraint(put_source(whole, way, changed)))
