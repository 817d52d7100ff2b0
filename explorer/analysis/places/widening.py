"""The smallest change to one place of a source that would let a token through.

The source proposes what could stand in the place (`Source.wider`), fewest characters first. A
change counts only if the changed constraint, compiled again for the same vocabulary, allows the
token after the same text.

What it does not do: change two places, or say that the change is what a user wants.
Cost: up to four compilations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer.analysis.places.part import SourcePart
from explorer.analysis.verdict.verdict import Verdict
from explorer.automata.machine import NO_ARC
from explorer.automata.tree.nodes import Source
from explorer.budget import Budget, Meter
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.stages.staged import token_stages
from explorer.tokens.compile import compile
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.failing import run

LIMITS: Final = Budget(states=200_000, seconds=5.0)


@dataclass(frozen=True)
class Widening:
    """A change of one place of a pattern.

    Args:
        pattern: The pattern as it was.
        start, end: The span that changes.
        replacement: The text that takes its place.
        constraint: The whole constraint with the change; it allows the token.
    """

    pattern: str
    start: int
    end: int
    replacement: str
    constraint: Constraint

    @property
    def changed(self) -> str:
        """The pattern with the change."""
        return self.pattern[: self.start] + self.replacement + self.pattern[self.end :]


def widen(machine: TokenMachine, verdict: Verdict, parts: Sequence[SourcePart]) -> Widening | None:
    """The smallest change that lets a token through, where exactly one place is live.

    Args:
        verdict: Why; only `constraint` can be widened.
        parts: The parts of the source that decide.

    Returns:
        ``None`` unless exactly one literal or class is live, and also where the token does not
        write whole characters or no change of the place helps.
    """
    if verdict.stage != "constraint" or len(parts) != 1 or parts[0].role != "expects":
        return None
    part, whole = parts[0], machine.constraint
    if len(part.positions) != 1 or whole is None or whole.over_tokens:
        return None
    if token_stages(whole.source):  # What the text allows, they may still mask.
        return None
    place = part.positions[0]
    source = place.source
    ways = ways_to(part.source, source)
    if place.start is None or place.end is None or not source.plain_text or len(ways) != 1:
        return None
    try:
        rest = (verdict.prefix + (verdict.data or b""))[verdict.char_begin :].decode()
    except UnicodeDecodeError:
        return None
    written = verdict.prefix + (verdict.data or b"")
    text = source.text
    for replacement in source.wider(place.start, place.end, rest):
        try:
            changed = type(source).read(text[: place.start] + replacement + text[place.end :])
            constraint = Constraint(put_source(whole.source, (*part.path, *ways[0]), changed))
            char_dfa = constraint.build(Meter(LIMITS))
            start = char_dfa.start
            if start == NO_ARC or run(char_dfa, start, written)[-1] == NO_ARC:
                continue
            compiled = compile(constraint, machine.vocabulary, LIMITS, lazy=False)
            here = int(run(char_dfa, start, verdict.prefix)[-1])
            state = {int(q): k for k, q in enumerate(compiled.char_state)}.get(here)
        except ExplorerError:
            continue  # The change cannot be read, or makes too large a machine: not this one.
        if state is not None and verdict.token is not None:
            if compiled.step(state, verdict.token) is None:
                continue
            return Widening(text, place.start, place.end, replacement, constraint)
    return None


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
