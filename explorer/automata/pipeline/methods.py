"""The methods of a constraint that put a stage around it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from explorer.automata.pipeline.canonical import Canonical
from explorer.automata.pipeline.stage import PipelineStage
from explorer.vocabulary.canonical.rules import rules_of


class StageMethods:
    """What a constraint can be sent through, one method for each kind of stage.

    A stage is kept in the constraint's source, so it travels wherever the constraint goes: into
    traces, saved machines and exported pages. The explorer shows the stages as a bar.
    """

    __slots__ = ()

    @abstractmethod
    def through(self, stage: PipelineStage) -> Self:
        """This constraint behind a stage."""

    def canonical(self, tokenizer: object = None) -> Self:
        """These texts, in the tokens that a tokenizer itself writes them with.

        Args:
            tokenizer: A `Vocabulary` that knows its tokenizer, or what one is read from. By default
                that of the vocabulary which the constraint is compiled for.

        Raises:
            UnsupportedTokenizer: Its rules are not followed (Unigram, WordPiece, …). Without an
                argument this is said when the constraint is compiled.

        Example:
            >>> from explorer import regex
            >>> regex("[A-Z][a-z]+").canonical()
            regex('[A-Z][a-z]+').canonical()
        """
        return self.through(Canonical(None if tokenizer is None else rules_of(tokenizer)))
