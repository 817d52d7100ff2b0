"""Stages that take away spellings of a text which no tokenizer would choose, one kind at a time.

They are weaker than `canonical`, and faster: each is a small machine over tokens, so what they
leave is again a table (`explorer.tokens.filtered.table`). Cognetta et al. (2025) show what the mass
of such spellings does to a model's probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from explorer.languages.stages.stage import TokenStage, register_stage
from explorer.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True)
class SpellingStage(TokenStage):
    """A stage of the tokens that asks a vocabulary.

    Args:
        given: The vocabulary of the tokenizer that the user gave; ``None`` for the one that the
            constraint is compiled for.
    """

    alone: ClassVar[bool] = True

    given: Vocabulary | None = field(default=None, compare=False, repr=False)

    def fields(self) -> dict[str, object]:
        """No fields: the vocabulary decides."""
        return {}

    @classmethod
    def load(cls, fields: Mapping[str, object]) -> Self:
        """The stage of whichever vocabulary it is compiled for."""
        return cls()

    def to_send(self) -> Self:
        """The stage without the vocabulary, which the other side has."""
        return type(self)()


@register_stage
@dataclass(frozen=True)
class WithoutRedundantBytes(SpellingStage):
    """Characters that have a token are not written byte by byte."""

    kind: ClassVar[str] = "without-redundant-bytes"

    @property
    def title(self) -> str:
        """The name on the pipeline bar."""
        return "no redundant bytes"

    @property
    def about(self) -> str:
        """A sentence that says what the stage does."""
        return "a character that has a token of its own is not written by tokens of single bytes"

    def __str__(self) -> str:
        return "without_redundant_bytes()"


@register_stage
@dataclass(frozen=True)
class WithoutIsolatedSpaces(SpellingStage):
    """A space alone is not a token where the tokenizer would write it with what follows."""

    kind: ClassVar[str] = "without-isolated-spaces"

    @property
    def title(self) -> str:
        """The name on the pipeline bar."""
        return "no isolated spaces"

    @property
    def about(self) -> str:
        """A sentence that says what the stage does."""
        return "a lone space is not written before text that the tokenizer would fuse it with"

    def __str__(self) -> str:
        return "without_isolated_spaces()"
