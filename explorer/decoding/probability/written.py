"""A sequence of tokens with its probability under the model and under the mask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from explorer.automata.machine import Bool
from explorer.decoding.models.arguments import checked_model, prompt_ids
from explorer.decoding.models.model import LanguageModel
from explorer.errors import ExplorerError
from explorer.vocabulary import Vocabulary

Float64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WrittenTokens:
    """A token sequence that a constraint accepts, with its log-probabilities.

    Args:
        tokens: The ids, without the end of the text.
        log_prob: The natural log-probability under the model, with the end of the text if asked
            for.
        log_masked: The log-probability under the mask: each token renormalised among the allowed.
    """

    tokens: tuple[int, ...]
    log_prob: float
    log_masked: float

    @property
    def log_weight(self) -> float:
        """The log of p/q, model over mask: the sum of the logs of the feasible masses."""
        return self.log_prob - self.log_masked

    def data(self, vocabulary: Vocabulary) -> bytes:
        """The bytes that the tokens write."""
        return b"".join(vocabulary.tokens[token] or b"" for token in self.tokens)


def host_log_probs(lm: LanguageModel, logits: Tensor) -> Float64:
    """The log-probabilities of some rows of logits, in float64 on the host.

    Args:
        logits: float[B, W].

    Raises:
        ExplorerError: The logits hold NaN or +inf.
    """
    rows: Float64 = logits.detach().to("cpu").double().log_softmax(-1).numpy()
    if np.isnan(rows).any():
        raise ExplorerError(
            f"The logits of the model {lm.name!r} hold NaN or infinity, so they give no "
            "probabilities.",
            remedy="Check the weights and the dtype; float16 overflows where bfloat16 does not.",
        )
    return rows


def log_sum(values: Float64 | Sequence[float]) -> float:
    """The log of a sum of exponentials; -inf for an empty sum.

    Example:
        >>> log_sum([math.log(0.25), math.log(0.5)]) == math.log(0.75)
        True
    """
    numbers = np.asarray(values, np.float64)
    if not len(numbers) or (highest := float(numbers.max())) == -math.inf:
        return -math.inf
    return highest + math.log(math.fsum(np.exp(numbers - highest).tolist()))


def allowed_ids(allowed: Bool, width: int) -> NDArray[np.int64]:
    """The allowed ids that have logits."""
    return np.flatnonzero(allowed[:width])


def opened(lm: object, prompt: object) -> tuple[LanguageModel, tuple[int, ...]]:
    """The model and the ids of a prompt, checked.

    Raises:
        ExplorerError: Either is invalid.
    """
    model = checked_model(lm)
    return model, prompt_ids(model, prompt)
