"""The tokens with which a model would write a text: greedily the likeliest that agrees with it.

Algorithm 3 of the appendix of Beurer-Kellner et al. (2024). At each place the likeliest token whose
bytes begin the rest of the text is taken. That is greedy decoding under the constraint "this text",
so that is what is done; a token after which this vocabulary cannot write the rest is not among
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from explorer.arguments import whole_text
from explorer.budget import Budget
from explorer.decoding.batches.generate import generate
from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.languages.constraint import literal


@dataclass(frozen=True)
class Retokenized:
    """The tokens of a text.

    Args:
        tokens: The ids.
        pieces: What each writes.
        log_probs: The natural log-probability of each under the model.
    """

    tokens: tuple[int, ...]
    pieces: tuple[bytes, ...]
    log_probs: tuple[float, ...]

    @property
    def perplexity(self) -> float:
        """The geometric mean of 1/p over the tokens; 1 of none."""
        return math.exp(-math.fsum(self.log_probs) / len(self.tokens)) if self.tokens else 1.0


def retokenize(
    lm: LanguageModel, prompt: Prompt, text: str, *, budget: Budget | None = None
) -> Retokenized:
    """The tokens with which a model would write a text after a prompt.

    Args:
        lm: The model.
        prompt: What stands before.
        text: What is to be written.
        budget: Limits for compiling the text.

    Returns:
        The tokens, in order; together they write the text.

    Raises:
        ExplorerError: The text is not a text.
        IncompatibleVocabulary: The vocabulary cannot write it.

    Example:
        >>> from explorer import load_model
        >>> found = retokenize(load_model("tiny"), "The capital of France is", " Paris.")
        >>> found.pieces
        (b' Paris', b'.')
    """
    lm = checked_model(lm)
    data = whole_text("text", text).encode()
    if not data:
        return Retokenized((), (), ())
    (made,) = generate(
        lm, [prompt], literal(text), Sampler(temperature=0.0), len(data) + 1,
        masking_budget=False, budget=budget,
    )  # fmt: skip
    count = len(made.tokens) - 1  # The end of the text is not part of it.
    return Retokenized(made.tokens[:count], made.pieces[:count], made.log_probs_model[:count])
