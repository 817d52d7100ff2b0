"""Whether a constraint accepts a text, and where it stops if not; no tokenizer takes part."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.analysis.explaining.answer import Answered
from explorer.analysis.places.spans import deciding_parts
from explorer.analysis.verdict.asked import as_bytes
from explorer.analysis.verdict.verdict import judge_text
from explorer.analysis.wording.words import Names
from explorer.arguments import instance
from explorer.languages.constraint import Constraint


@dataclass(frozen=True, eq=False)
class TextExplanation(Answered):
    """How far a constraint reads a text, or a token of a record.

    Made by `explain_text` and by `explorer.analysis.explaining.step.explain_recorded`. For a text
    the stage is `allowed` for a word of the constraint, `end_of_text` for the beginning of one,
    else `constraint`.

    Args:
        constraint: The constraint.
        recorded: For a token of a record: what it knows of the vocabulary.
        over_budget: For a token of a record: whether only the token budget removed it.
    """

    constraint: Constraint
    recorded: Names | None = None
    over_budget: bool = False

    @property
    def limits(self) -> tuple[str, ...]:
        """The sentence about the token budget, if it rules the token out."""
        return ("It does not fit into the token budget.",) if self.over_budget else ()

    @property
    def names(self) -> Names | None:
        """What the record knows of the vocabulary; ``None`` for a text."""
        return self.recorded


def explain_text(constraint: Constraint, text: str | bytes) -> TextExplanation:
    """Whether a constraint accepts a text, and where it stops if not.

    Args:
        constraint: The constraint.
        text: Any text, or bytes.

    Raises:
        ExplorerError: The argument is not a text.

    Example:
        >>> from explorer.languages.constraint import regex
        >>> why = explain_text(regex("[0-9]+-[0-9]+"), "12x")
        >>> print(why.prose)
        It starts well: '12'. Then the constraint expects '-' or 0-9; the text writes x.
        >>> why.spans
        ((0, 5), (6, 7))
    """
    constraint = instance(
        "constraint", constraint, Constraint, "a Constraint", remedy="Make one with regex(...)."
    )
    data = as_bytes(text)
    verdict = judge_text(constraint.machine, data)
    found = deciding_parts(constraint.source, constraint.machine, verdict)
    return TextExplanation(verdict, found, constraint)
