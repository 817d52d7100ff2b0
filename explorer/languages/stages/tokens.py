"""The stages that remove ways to write a text in tokens.

Only the vocabulary's own tokenizer can decide, so they belong to the vocabulary that a constraint
is compiled for: a saved stage names no tokenizer, and finds it when it is compiled.

`Canonical` leaves one sequence of tokens for each text. The others are weaker, and faster: a small
machine over tokens removes one kind of spelling that no tokenizer would choose, so the result is
again a table (`explorer.tokens.filtered.table`). Cognetta et al. (2025) show how the mass of such
spellings changes a model's probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

from explorer.languages.stages.stage import TokenStage, register_stage
from explorer.vocabulary.canonical.rules import Rules, rules_of
from explorer.vocabulary.vocabulary import Vocabulary


@register_stage
@dataclass(frozen=True)
class Canonical(TokenStage):
    """Each text in the one sequence of tokens that the tokenizer writes for it.

    Args:
        given: The rules of the tokenizer that the user gave; ``None`` for those of the vocabulary
            that the constraint is compiled for.
    """

    kind: ClassVar[str] = "canonical"
    alone: ClassVar[bool] = True

    given: Rules | None = field(default=None, compare=False, repr=False)

    @property
    def title(self) -> str:
        """The name on the pipeline bar."""
        return "canonical"

    @property
    def about(self) -> str:
        """A sentence that says what the stage does."""
        return "only the tokens that the tokenizer itself would write: T(T⁻¹(t)) = t"

    def rules(self, vocabulary: Vocabulary) -> Rules:
        """The rules that decide for a vocabulary.

        Raises:
            UnsupportedTokenizer: The rules of its tokenizer are not followed.
        """
        return rules_of(vocabulary) if self.given is None else self.given

    def to_send(self) -> Self:
        """The stage without the rules, which follow from the vocabulary."""
        return type(self)()


@dataclass(frozen=True)
class SpellingStage(TokenStage):
    """A stage that removes one kind of spelling.

    Args:
        given: The vocabulary of the tokenizer that the user gave; ``None`` for the one that the
            constraint is compiled for.
    """

    alone: ClassVar[bool] = True

    given: Vocabulary | None = field(default=None, compare=False, repr=False)

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
