"""The stage that keeps to the tokens which the tokenizer itself would write.

The stage belongs to the vocabulary that a constraint is compiled for: only that vocabulary's own
tokenizer can decide. So a saved stage names no tokenizer, and finds it when it is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
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

        Args:
            vocabulary: The tokens that a constraint is compiled for.

        Raises:
            UnsupportedTokenizer: The rules of its tokenizer are not followed.
        """
        return rules_of(vocabulary) if self.given is None else self.given

    def to_send(self) -> Canonical:
        """The stage without the rules, which follow from the vocabulary."""
        return Canonical()

    def fields(self) -> dict[str, object]:
        """No fields: the vocabulary decides."""
        return {}

    @classmethod
    def load(cls, fields: Mapping[str, object]) -> Self:
        """The stage of whichever vocabulary it is compiled for."""
        return cls()

    def __str__(self) -> str:
        return "canonical()"
