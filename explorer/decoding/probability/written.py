"""A sequence of tokens with its probability under the model and under the mask; that of given ids,
token by token.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import cast, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.arguments import listed, wrong
from explorer.automata.machine import Bool
from explorer.budget import Budget
from explorer.decoding.models.arguments import checked_model, meant_token, prompt_ids
from explorer.decoding.models.model import (
    LanguageModel,
    Prompt,
    RunLanguageModel,
    call_model,
    checked_reading,
    reading_of,
)
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import GivenConstraint
from explorer.tokens.machine import TokenMachine
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


@dataclass(frozen=True)
class TokenProbabilities:
    """Ids with their natural log-probabilities.

    Args:
        pieces: The bytes of each id; empty for the end of the text.
        model: The log-probability of each id under the model.
        constrained: The log-probability of each id under the mask, renormalised among the allowed
            tokens; -inf from the first id that is not allowed.
        rejected: The index of that id; ``None`` if all are allowed.
    """

    tokens: tuple[int, ...]
    pieces: tuple[bytes, ...]
    model: tuple[float, ...]
    constrained: tuple[float, ...]
    rejected: int | None

    @property
    def log_prob(self) -> float:
        """The log-probability of all ids under the model."""
        return math.fsum(self.model)

    @property
    def log_prob_constrained(self) -> float:
        """The log-probability of all ids under the mask; -inf if one is not allowed."""
        return -math.inf if self.rejected is not None else math.fsum(self.constrained)

    @property
    def cumulative(self) -> tuple[float, ...]:
        """The log-probability under the model of the ids up to each."""
        return tuple(accumulate(self.model))

    @property
    def cumulative_constrained(self) -> tuple[float, ...]:
        """The log-probability under the mask of the ids up to each."""
        return tuple(accumulate(self.constrained))


@overload
def probability(
    lm: LanguageModel,
    prompt: Prompt,
    ids: Sequence[int | str],
    constraint: GivenConstraint | TokenMachine | None = None,
    *,
    budget: Budget | None = None,
) -> TokenProbabilities: ...
@overload
def probability(
    lm: LanguageModel,
    prompt: Prompt,
    ids: Sequence[Sequence[int | str]],
    constraint: GivenConstraint | TokenMachine | None = None,
    *,
    budget: Budget | None = None,
) -> list[TokenProbabilities]: ...
def probability(
    lm: LanguageModel,
    prompt: Prompt,
    ids: Sequence[int | str] | Sequence[Sequence[int | str]],
    constraint: GivenConstraint | TokenMachine | None = None,
    *,
    budget: Budget | None = None,
) -> TokenProbabilities | list[TokenProbabilities]:
    """The probability of some ids after a prompt, with and without a constraint.

    A model that reads runs (`RunLanguageModel`) is called once, any other model once per id.

    Args:
        lm: The language model.
        prompt: A text to continue, or messages.
        ids: The tokens after it, each as an id or as a text, with the end of the text (by its id)
            if it should count; or several such sequences, each of which follows the prompt.
        constraint: ``None`` for no mask.
        budget: Limits for compiling the constraint.

    Returns:
        The log-probabilities of each id and of all; for several sequences a list, in order.

    Raises:
        ExplorerError: An id has no logit, a text is not one token, or an argument is invalid.
        EmptyConstraint, IncompatibleVocabulary, BudgetExceeded: As in `explorer.compile`.

    Example:
        >>> from explorer import choice, load_model
        >>> lm = load_model("tiny")
        >>> paris = lm.vocabulary.ids_of(b" Paris")
        >>> asked = probability(lm, "The capital of France is", paris, choice([" Paris", " Rome"]))
        >>> asked.log_prob > -0.1, asked.log_prob_constrained > asked.log_prob
        (True, True)
    """
    lm, before = opened(lm, prompt)
    given = listed("ids", cast("object", ids), "a list of token ids, or of such lists")
    several = [one for one in given if _is_sequence(one)]
    if several and len(several) != len(given):
        raise wrong("ids", ids, "a list of token ids, or of such lists, not of both")
    rule = Rule.of(constraint, lm.vocabulary, budget)
    if not several:
        return _scored(lm, before, given, rule)
    return [_scored(lm, before, listed("ids", one, "a list of token ids"), rule) for one in several]


def _is_sequence(value: object) -> bool:
    if isinstance(value, Tensor):
        return value.dim() > 0
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _scored(
    lm: LanguageModel, before: tuple[int, ...], ids: Sequence[object], rule: Rule
) -> TokenProbabilities:
    """The probabilities of one sequence after the ids of a prompt."""
    tokens = [meant_token(lm.vocabulary, token) for token in ids]
    rows = _rows(lm, (*before, *tokens[:-1]), len(tokens)) if tokens else []
    model: list[float] = []
    constrained: list[float] = []
    state: int | None = rule.start
    rejected: int | None = None
    for k, (token, row) in enumerate(zip(tokens, rows, strict=True)):
        if not 0 <= token < len(row):
            raise ExplorerError(
                f"ids[{k}] is {token}, but the model {lm.name!r} gives {len(row):,} logits.",
                remedy="Check that the ids are of this model's tokenizer.",
                evidence={"index": k, "token": token},
            )
        model.append(float(row[token]))
        allowed = None if state is None else rule.machine.allowed(state)
        if allowed is None or token >= len(allowed) or not allowed[token]:
            rejected = k if rejected is None else rejected
            state = None
            constrained.append(-math.inf)
            continue
        masked = log_sum(row[allowed_ids(allowed, len(row))])
        constrained.append(min(0.0, model[-1] - masked) if model[-1] > -math.inf else -math.inf)
        state = rule.step(state, token) if state is not None else None
    known = lm.vocabulary.tokens
    pieces = tuple((known[token] or b"") if token < len(known) else b"" for token in tokens)
    return TokenProbabilities(tuple(tokens), pieces, tuple(model), tuple(constrained), rejected)


def _rows(lm: LanguageModel, path: tuple[int, ...], count: int) -> list[Float64]:
    """The next-token log-probabilities after each of the last prefixes, the shortest first."""
    if isinstance(lm, RunLanguageModel):
        run = lm
        given = call_model(lm, "read_run", lambda: run.read_run(path, count))
        readings = [checked_reading(lm, reading) for reading in given]
    else:
        ends = range(len(path) - count + 1, len(path) + 1)
        readings = [reading_of(lm, path[:end]) for end in ends]
    return [host_log_probs(lm, torch.stack([reading.logits]))[0] for reading in readings]
