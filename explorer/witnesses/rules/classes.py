"""The registry of the classes of differences, each with the rules that recognise it.

The rules are tried in order, and each takes the tokens that it recognises; what no rule recognises
is "unexplained", with the facts that are known. No rule guesses: each tests its reason on the
engine itself, most by asking for the constraint as the engine is assumed to read it
(`explorer.witnesses.rules.by_masks`), the others with a token or a whole text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.automata.machine import Bool
from explorer.witnesses.answers import Disagreement
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.rules.by_masks import (
    Recognise,
    Recognised,
    by_readings,
    forced_tokens,
    past_a_match,
    trim,
)
from explorer.witnesses.rules.by_texts import (
    against_a_judge,
    clues,
    half_a_character,
    lexer,
    other_class,
    other_layout,
    spelled_in_another_way,
)

UNEXPLAINED: Final = "unexplained"
"""The kind of a difference that no rule recognises."""

NOT_EXPLAINED: Final = "not explained: no reason that was tested holds"
"""The sentence of an unexplained difference."""


@dataclass(frozen=True)
class DifferenceClass:
    """A class of differences: its name, its definition in a sentence, and its rules.

    Args:
        first: A rule that is tried before the rules of all classes.
        exact: A rule that tests its reason token by token; tried next.
        by_place: A rule that groups tokens by the byte at which they fail; tried last.
    """

    name: str
    rule: str
    first: Recognise | None = None
    exact: Recognise | None = None
    by_place: Recognise | None = None


def _dialect(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    if comparison.statement.kind == "json_schema":
        yield from spelled_in_another_way(comparison, left)
    elif comparison.statement.kind == "lark":
        yield from lexer(comparison, left)


CLASSES: Final = (
    DifferenceClass(
        "forced tokens",
        "The engine allows one token, every byte of it is the only byte that can follow, and the "
        "engine goes on after the token that it masks.",
        exact=forced_tokens,
    ),
    DifferenceClass(
        "trim",
        "The token leads to a state of the constraint from which no tokens write a word, and the "
        "engine finds no end after it either.",
        exact=trim,
    ),
    DifferenceClass(
        "whitespace rule",
        "With another layout of JSON our mask is the engine's on the token, and the engine's own "
        "mask stays the same; or a text through the token has a value that the other writes with "
        "other white space.",
        exact=by_readings("whitespace rule"),
        by_place=other_layout,
    ),
    DifferenceClass(
        "unsupported keyword",
        "With a keyword left out of the schema (or `oneOf` read as `anyOf`) our mask is the "
        "engine's on the token, and the engine's own mask stays the same.",
        exact=by_readings("unsupported keyword"),
    ),
    DifferenceClass(
        "Unicode class",
        "With the engine's classes our mask is the engine's on the token, and the engine's own "
        "mask stays the same with the classes spelled out; or the token fails at a character that "
        "a class of the constraint, asked by itself, holds for one of the two alone.",
        exact=by_readings("Unicode class"),
        by_place=other_class,
    ),
    DifferenceClass(
        "dialect",
        "With the constraint read in another documented way our mask is the engine's on the token, "
        "and the engine's own mask stays the same with that reading spelled out; or a text through "
        "the token has a value that the other writes in another spelling; or Lark's own lexer "
        "refuses a text through the token as the engine does.",
        exact=by_readings("dialect"),
        by_place=_dialect,
    ),
    DifferenceClass(
        "byte handling",
        "The token holds part of a character, and no rule above recognises it.",
        by_place=half_a_character,
    ),
    DifferenceClass(
        "bug",
        "The engine masks what it goes on with when one more character must follow its own "
        "pattern, past a whole match of it, and refuses a text of that pattern (asked before all "
        "others); or no rule above recognises it, and an independent judge contradicts the engine "
        "on a whole text through tokens that fail at the same byte.",
        first=past_a_match,
        by_place=against_a_judge,
    ),
)
"""All classes, in the order in which their rules are tried."""


def classified(comparison: Comparison, position: int) -> tuple[Disagreement, ...]:
    """All differences of a comparison, grouped by reason.

    Raises:
        OutOfTime: The deadline of the comparison has passed.
    """
    left = comparison.differing.copy()
    groups: list[Disagreement] = []
    name = comparison.engine.split()[0]

    def take(kind: str, finding: Recognised) -> None:
        tokens = finding.tokens & left
        for allows in (True, False):
            rows = tokens & (comparison.theirs if allows else comparison.ours)
            if rows.any():
                ids = np.flatnonzero(rows).astype(np.int32)
                groups.append(
                    Disagreement(
                        name,
                        kind,
                        allows,
                        ids,
                        finding.sentence,
                        finding.evidence,
                        position,
                        finding.same_as,
                    )
                )

    ways = [(each.name, each.first) for each in CLASSES]
    ways += [(each.name, each.exact) for each in CLASSES]
    ways += [(each.name, each.by_place) for each in CLASSES]
    for kind, recognise in ways:
        comparison.check_time()
        for finding in (
            () if recognise is None or not left.any() else recognise(comparison, left.copy())
        ):
            take(kind, finding)
            left &= ~finding.tokens
    if left.any():
        take(UNEXPLAINED, Recognised(left, NOT_EXPLAINED, clues(comparison, left)))
    return tuple(groups)
