"""Changes of a source that would let a token through: the everyday ones, and the smallest one.

*An everyday cause* is a change of the constraint: white space is allowed, the properties may come
in any order, a keyword is left out, a code fence may surround the answer. A change is the cause
if the changed constraint reads the text and the token. So only a change that helps is reported,
whatever the wording of the source.

*The smallest* change is to one place of the source, which proposes replacements (`Source.wider`),
fewest characters first. It counts only if the vocabulary can finish after the token, too.

What it does not do: combine two changes, or say that a change is what a user wants.
Cost: a machine over bytes for each change that is tried, at most a dozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Final

from explorer.analysis.places.spans import SourcePart, state_after
from explorer.analysis.verdict.verdict import Verdict
from explorer.automata.machine import NO_ARC
from explorer.automata.tree.changes import Change
from explorer.automata.tree.nodes import Source
from explorer.budget import Budget, Meter
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint, regex
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.finishing import Finishing
from explorer.tokens.walks.trie import trie_of

LIMITS: Final = Budget(states=200_000, seconds=5.0)


def ways_to(source: Source, wanted: Source) -> list[tuple[int, ...]]:
    """The paths from a source to one of its parts."""
    if source == wanted:
        return [()]
    return [
        (k, *path) for k, child in enumerate(source.children) for path in ways_to(child, wanted)
    ]


def put_source(source: Source, path: tuple[int, ...], new: Source) -> Source:
    """The source with one part replaced."""
    if not path:
        return new
    children = list(source.children)
    children[path[0]] = put_source(children[path[0]], path[1:], new)
    return source.with_children(tuple(children))


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

    @property
    def is_everyday(self) -> bool:
        """Whether it says what is wrong, not only which place of a pattern would be wider."""
        return bool(self.change.sentence)

    def __str__(self) -> str:
        return f"{self.change.sentence} {self.change.remedy}".lstrip()

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

_REASONING: Final = _AROUND[-1][1]


def _after_reasoning(asked: Constraint) -> Constraint:
    """The constraint, with room before it for a block of reasoning between control tokens."""
    end = "</think>"
    from explorer.languages.phases.functions import any_tokens, token

    block = token("<think>") + any_tokens(excluding=[end]) + token(end) + regex(r"\s*")
    return (block + asked) | asked


_SAYS_NOTHING: Final = b"<"
"""A prefix of `<think>` that is also one of tags and much else."""


def cause_of(
    constraint: Constraint | None, verdict: Verdict, parts: Sequence[SourcePart], offered: bytes,
    machine: TokenMachine | None = None,
) -> Cause | None:  # fmt: skip
    """The cause of a masked token; ``None`` where no known change allows it.

    Args:
        constraint: The constraint; ``None`` has no cause.
        verdict: The verdict; only the stage ``constraint`` has a cause, and a control token that
            begins a block of reasoning.
        parts: The parts of the source that decide.
        offered: The token and the text asked about after it, or the name of a control token.
        machine: The token machine, whose vocabulary must finish after the smallest change.

    Example:
        >>> from explorer.languages.schema.source import json_schema
        >>> from explorer.analysis.explaining.answer import explain_text
        >>> asked = json_schema({"properties": {"name": {"type": "string"}}})
        >>> explain_text(asked, '{"name": ').cause.change.sentence
        'The model writes white space here, and this constraint has none.'
    """
    if constraint is None:
        return None
    if verdict.stage == "not_text" and not verdict.prefix and offered == b"<think>":
        return Cause(_REASONING, _after_reasoning(constraint))
    if constraint.over_tokens or constraint.source.token_stages:
        return None  # The stages may still mask what the text allows.
    written = verdict.prefix + (verdict.data or b"")
    if verdict.stage == "end_of_text" and verdict.token is not None:
        written = verdict.prefix
    elif verdict.stage != "constraint" or verdict.byte_offset is None:
        return None
    elif verdict.token is None:  # What comes later in a text may be wrong too.
        written = written[: len(verdict.read) + 1]
    for cause, is_tested in islice(_changes(constraint, verdict, parts, offered), MOST_TRIED):
        if is_tested:
            return cause
        try:
            made = cause.constraint.discover(Meter(LIMITS))
            after = state_after(made, written)
            ends = verdict.stage == "end_of_text"
            if after != NO_ARC and (not ends or made.is_accepting(after)):
                return cause
        except ExplorerError:
            continue  # The change does not parse, or makes too large a machine.
    return None if machine is None else _smallest(machine, verdict, parts)


def _smallest(machine: TokenMachine, verdict: Verdict, parts: Sequence[SourcePart]) -> Cause | None:
    """The smallest change of the only live literal or class that lets a token through."""
    places = [place for part in parts for place in part.positions if part.role == "expects"]
    whole, written = machine.constraint, verdict.prefix + (verdict.data or b"")
    if verdict.stage != "constraint" or len(parts) != 1 or len(places) != 1 or whole is None:
        return None
    place, source = places[0], places[0].source
    ways = ways_to(parts[0].source, source)
    if place.start is None or place.end is None or not source.plain_text or len(ways) != 1:
        return None
    text, was = source.text, place.text
    try:
        rest = written[verdict.char_begin :].decode()
    except UnicodeDecodeError:
        return None
    for new in source.wider(place.start, place.end, rest):
        try:
            changed = type(source).read(wider := text[: place.start] + new + text[place.end :])
            constraint = Constraint(put_source(whole.source, (*parts[0].path, *ways[0]), changed))
            made = constraint.discover(Meter(LIMITS))
            finishing = Finishing(made, trie_of(machine.vocabulary, made))
            after = state_after(made, written)
            if after != NO_ARC and finishing.can_finish(after, Meter(LIMITS)):
                remedy = f"With {new} in place of {was} it would be allowed: {wider}"
                return Cause(Change("pattern", "", remedy, f"use {wider}"), constraint)
        except ExplorerError:
            continue  # The change does not parse, or makes too large a machine.
    return None


def _changes(
    constraint: Constraint, verdict: Verdict, parts: Sequence[SourcePart], offered: bytes
) -> Iterator[tuple[Cause, bool]]:
    """The causes that may apply, each with whether its source was tested as it is."""
    whole = constraint.source
    if not verdict.prefix and offered not in (b"", _SAYS_NOTHING):
        for openings, change, around in _AROUND:
            if any(offered.startswith(each) or each.startswith(offered) for each in openings):
                yield Cause(change, around(constraint)), False
    places = {
        (place.source, place.label): place for part in parts for place in part.positions
    }  # fmt: skip
    proposed = [
        (change, changed, place.source)
        for place in places.values()
        for change, changed in place.changes()
    ]
    # The missing part may also be written first, so changes that keep it are tried first.
    for change, changed, source in sorted(proposed, key=lambda each: each[0].missing):
        for way in ways_to(whole, source)[:1]:
            if isinstance(changed, Source):
                yield Cause(change, Constraint(put_source(whole, way, changed))), not way
