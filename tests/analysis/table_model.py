"""A language model that is a table: probabilities by the text so far. Exact, and fast."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch

from explorer.decoding.models.model import Prompt, Reading
from explorer.vocabulary import Vocabulary

Rule = Callable[[str], Mapping[str, float]]


class TableModel:
    """Gives each token the probability that a rule names for the text so far, and little else.

    Args:
        vocabulary: Its tokens.
        rule: From the text to probabilities by token text; ``""`` is the end of text.
        width: Of its logits; more than the vocabulary is padding.
    """

    name = "table"

    def __init__(self, vocabulary: Vocabulary, rule: Rule, width: int = 0) -> None:
        self.vocabulary = vocabulary
        self.rule = rule
        self.width = max(width, len(vocabulary))

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        return ()

    def read(self, tokens: Sequence[int]) -> Reading:
        text = b"".join(self.vocabulary.tokens[token] or b"" for token in tokens).decode()
        named = self.rule(text)
        rest = max(1e-12, 1.0 - sum(named.values())) / self.width
        weights = torch.full((self.width,), rest, dtype=torch.float64)
        for word, probability in named.items():
            ids = self.vocabulary.ids_of(word.encode()) if word else self.vocabulary.eos_ids
            weights[ids[0]] = max(probability, math.exp(-60))
        return Reading(weights.log().float())
