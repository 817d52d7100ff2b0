"""Constrained decoding inside `model.generate` of transformers.

A logits processor receives the ids so far and the scores of the next token, and may change the
scores; the library then chooses. This one masks tokens that the constraint does not allow and
leaves the choice to the library, so temperature, top-k, beams and assisted decoding work as usual:

    processor = ConstraintLogitsProcessor(tokenizer, constraint, max_tokens=40)
    model.generate(**inputs, max_new_tokens=40, num_beams=4, logits_processor=[processor])

A run of the library's own sampler cannot be reproduced in a session. With ``sampler=`` the
processor draws itself, with the same uniform numbers as `Session` and `generate`, and leaves a
single finite score, which the library must take with ``do_sample=False``. It can then also keep a
trace of every row; beams, and anything else that reorders rows or takes another token, are refused.

`model.generate_batch` of transformers (continuous batching) supports no processors: it silently
ignores the argument and generates unconstrained text. A processor that was never called warns about
this when it is garbage-collected. Generate batches with `model.generate` or `explorer.generate`.

One processor serves one call of `model.generate`. After the end of a row the library writes
padding. The library waits for the device at every step, so this does too and reports errors at
once. It does not import transformers: anything may call it with ids and scores.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from types import EllipsisType
from typing import cast
from weakref import finalize

import numpy as np
import torch
from torch import Tensor

from explorer.arguments import flag, instance, listed, whole_number, wrong
from explorer.budget import Budget, Meter
from explorer.decoding.batches.constrained_batch import (
    AnyConstraint,
    ConstrainedBatch,
    checked_streams,
    for_each,
)
from explorer.decoding.batches.prefix_masks import PrefixMasks
from explorer.decoding.batches.recorder import Recorder
from explorer.decoding.models.arguments import LAST_SEED, MOST_TOKENS, checked_sampler
from explorer.decoding.sampling.sampler import Drawing, Sampler
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.trace.trace import Trace
from explorer.errors import ExplorerError, UnsupportedTokenizer, VocabularyError
from explorer.tokens.machine import TokenMachine
from explorer.tokens.masks.error_word import ints
from explorer.tokens.masks.packed import MINUS_INFINITY, Results
from explorer.tokens.words import DONE
from explorer.vocabulary import Vocabulary


class ConstraintLogitsProcessor:
    """A logits processor that holds every row to its constraint.

    Args:
        vocabulary: The model's tokens: ``lm.vocabulary``, a `Vocabulary`, or the model's fast
            tokenizer, which is read with `Vocabulary.from_tokenizer`. A token machine given alone
            supplies its vocabulary and the constraint of all texts.
        constraints: Constraints or compiled token machines, one for all texts or a list with one
            for each; ``None`` for unconstrained text.
        sampler: Draws the tokens here; ``None`` masks only and leaves the choice to the caller.
        seed: The seed of the sampler's random numbers, 0 to 2**64 - 1.
        max_tokens: The token budget, EOS included; pass the value of ``max_new_tokens``, so that
            every text is complete in time. ``None`` for no budget.
        streams: The stream of random numbers of each row; by default the row's number. Only with a
            sampler.
        record: Whether to keep a trace of every row (`traces`). Only with a sampler.
        name: The name of the model in the traces.
        budget: Limits for compiling the constraints.

    Raises:
        ExplorerError: ``max_tokens`` is too small for a constraint.
        EmptyConstraint, IncompatibleVocabulary, BudgetExceeded: As in `explorer.compile`.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
        >>> processor = ConstraintLogitsProcessor(vocab, explorer.regex("ab"))
        >>> processor(torch.tensor([[1, 1]]), torch.tensor([[0.0, 9.0, 1.0, 0.0]]))
        tensor([[0., -inf, 1., -inf]])
        >>> greedy = ConstraintLogitsProcessor(vocab, explorer.regex("ab"), explorer.Sampler(0.0))
        >>> greedy(torch.tensor([[1, 1]]), torch.tensor([[0.0, 9.0, 1.0, 0.0]]))
        tensor([[-inf, -inf, 0., -inf]])
    """

    def __init__(
        self,
        vocabulary: Vocabulary | object,
        constraints: AnyConstraint | Sequence[AnyConstraint] | EllipsisType = ...,
        sampler: Sampler | None = None,
        *,
        seed: int = 0,
        max_tokens: int | None = None,
        streams: Sequence[int] | None = None,
        record: bool = False,
        name: str = "model.generate",
        budget: Budget | None = None,
    ) -> None:
        if constraints is ...:
            vocabulary, constraints = _parts(vocabulary)
        self._vocabulary = _vocabulary(vocabulary)
        self._sampler = None if sampler is None else checked_sampler(sampler)
        self._seed = whole_number("seed", seed, 0, LAST_SEED)
        if max_tokens is not None:
            max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
        self._max_tokens = max_tokens
        self._streams = checked_streams(streams)
        self._record = flag("record", record)
        self._name = instance("name", name, str, "a text")
        Meter(budget)  # Checks the budget even if nothing is compiled.
        if self._sampler is None and (self._record or self._streams is not None):
            raise ExplorerError(
                f"{'record' if self._record else 'streams'} is given without a sampler: the "
                "choice is the caller's, so it is not known here.",
                remedy="Give sampler=Sampler(...); or record what was written afterwards with "
                "Session.from_ids(vocabulary, constraint, ids).",
            )
        self._one_for_all = isinstance(constraints, str) or not isinstance(constraints, Sequence)
        wanted = "a constraint, or a list of them"
        given = [constraints] if self._one_for_all else listed("constraints", constraints, wanted)
        # Compiled here, so that errors of the constraints come before the model runs.
        compiled: dict[int, Rule] = {}
        for constraint in given:
            if id(constraint) not in compiled:
                compiled[id(constraint)] = Rule.of(constraint, self._vocabulary, budget)
                compiled[id(constraint)].plans(
                    self._max_tokens, True, "leave out max_tokens to be cut off"
                )
        self._rules = [compiled[id(constraint)] for constraint in given]
        self._asked = [False]
        finalize(self, _warn_if_never_asked, self._asked).atexit = False
        self._prompts: Tensor | None = None
        self._masks: PrefixMasks | None = None
        self._running: ConstrainedBatch | None = None
        self._recorder: Recorder | None = None
        self._results = Results()
        self._length = 0
        self._drawn: list[int] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Mask the scores of each row; with a sampler, choose the next token.

        Args:
            input_ids: int64[B, T], the prompt and all tokens since, padding included; in the first
                call the prompts alone.
            scores: float[B, W], the model's logits or log-probabilities; not changed.

        Returns:
            [B, W] of the same dtype: -inf for tokens that are not allowed. With a sampler: 0 for
            the drawn token and -inf elsewhere.

        Raises:
            ExplorerError: The scores are not floating-point numbers, the ids are not whole numbers,
                no allowed token is left, the ids do not begin with the prompts of the first call,
                or they differ from the tokens that the sampler drew.
        """
        self._asked[0] = True
        for argument, value in (("input_ids", input_ids), ("scores", scores)):
            if instance(argument, value, Tensor, "a tensor, one row for each text").dim() != 2:
                raise ExplorerError(
                    f"{argument} has the shape {list(value.shape)}, not one row for each text.",
                    remedy="Give input_ids[B, T] and scores[B, W].",
                    evidence={argument: list(value.shape)},
                )
        if len(input_ids) != len(scores):
            raise ExplorerError(
                f"input_ids has {len(input_ids)} rows and scores {len(scores)}.",
                remedy="Give input_ids[B, T] and scores[B, W].",
                evidence={"input_ids": list(input_ids.shape), "scores": list(scores.shape)},
            )
        if not scores.is_floating_point():
            raise ExplorerError(
                f"scores are of the type {scores.dtype}, not floating-point numbers.",
                remedy="Give the model's logits, or scores.float().",
                evidence={"scores": str(scores.dtype)},
            )
        if input_ids.is_floating_point() or input_ids.is_complex():
            raise ExplorerError(
                f"input_ids are of the type {input_ids.dtype}, not whole numbers.",
                remedy="Give token ids, as the tokenizer makes them.",
                evidence={"input_ids": str(input_ids.dtype)},
            )
        if self._sampler is None:
            return self._mask(input_ids, scores)
        batch = self._running or self._start(input_ids, scores, self._sampler)
        ended = [state == DONE for state in ints(batch.rows.states)]
        if self._drawn:
            self._check_ids(input_ids, ended)
        tokens = batch.draw(scores)
        batch.masks.check()
        self._drawn = ints(tokens)
        self._length += 1
        if self._recorder is not None:
            self._recorder.on_step(scores, self._drawn)
        return self._only(tokens, scores)

    def _only(self, tokens: Tensor, scores: Tensor) -> Tensor:
        """New scores like the given ones: 0 for one token of each row, -inf elsewhere."""
        if scores.device.type != "cpu":
            only = torch.full_like(scores, -torch.inf)
            return only.scatter_(1, tokens.unsqueeze(1), 0.0)
        masked = MINUS_INFINITY[scores.dtype][1]
        bits = self._results.empty(scores.shape, masked.dtype)
        bits.fill(masked)
        bits[np.arange(len(bits)), tokens.numpy()] = 0
        return torch.from_numpy(bits).view(scores.dtype)  # pyright: ignore[reportUnknownMemberType]

    def traces(self) -> list[Trace]:
        """The traces of all rows, once `model.generate` has returned.

        A text that was cut off is recorded without its last token.

        Raises:
            ExplorerError: The processor was made without ``record=True``, or was not called.
        """
        self._asked[0] = True
        if self._recorder is None:
            raise ExplorerError(
                "Nothing was recorded.",
                remedy="Make the processor with record=True, and call model.generate with it; "
                "model.generate_batch calls no processor.",
            )
        return self._recorder.traces()

    def _mask(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        count = len(input_ids)
        if self._masks is None:
            if self._one_for_all:
                rules = self._rules
            elif count and count % len(self._rules) == 0:
                rules = self._rules  # Beams and returned sequences multiply each text.
            else:
                rules = for_each(self._rules, count)
            self._masks = PrefixMasks(rules, input_ids, self._max_tokens)
        return self._masks.mask(input_ids, scores)

    def _start(self, input_ids: Tensor, scores: Tensor, sampler: Sampler) -> ConstrainedBatch:
        count = len(input_ids)
        rules = self._rules * count if self._one_for_all else for_each(self._rules, count)
        streams = list(range(count)) if self._streams is None else list(self._streams)
        if len(streams) != count:
            raise ExplorerError(
                f"{len(streams)} streams for {count} rows.",
                remedy="Give one for each row; num_return_sequences and beams multiply rows.",
                evidence={"streams": len(streams), "rows": count},
            )
        drawing = Drawing(sampler, self._seed, self._max_tokens, True)
        self._running = ConstrainedBatch(
            rules, self._vocabulary, drawing, streams=streams, device=scores.device
        )
        self._prompts = input_ids.clone()
        self._length = input_ids.shape[1]
        if self._record:
            self._recorder = Recorder(
                self._name,
                self._running.rules,
                cast("list[list[int]]", input_ids.tolist()),  # pyright: ignore[reportUnknownMemberType]
                drawing,
                streams,
            )
        return self._running

    def _continues(self, input_ids: Tensor) -> bool:
        """Whether the ids begin with the prompts of the first call."""
        prompts = self._prompts
        return prompts is not None and torch.equal(input_ids[:, : prompts.shape[1]], prompts)

    def _check_ids(self, input_ids: Tensor, ended: list[bool]) -> None:
        # Rows that have ended may hold any padding.
        shape = list(input_ids.shape)
        expected = [len(self._drawn), self._length]
        if shape != expected:
            why, remedy = "this is another run.", "Make a new processor for each call of generate."
            if self._continues(input_ids):
                why = (
                    "the text did not grow by one token. Assisted decoding (assistant_model=) and "
                    "a second run with the same prompts do that, and a sampler here draws each "
                    "token once."
                )
                remedy = (
                    "Leave out assistant_model, or make the processor without a sampler; and make "
                    "a new processor for each call of model.generate."
                )
            raise ExplorerError(
                f"The ids have the shape {shape}, not {expected}: {why}",
                remedy=remedy,
                evidence={"shape": shape},
            )
        taken = ints(input_ids[:, -1])
        for row, (ours, theirs) in enumerate(zip(self._drawn, taken, strict=True)):
            if ours != theirs and not ended[row]:
                raise ExplorerError(
                    f"Row {row}: token {ours} was drawn, but {theirs} was taken.",
                    remedy="Call model.generate with do_sample=False, num_beams=1 and no "
                    "assistant_model, or leave the choice to it: make the processor without a "
                    "sampler.",
                    evidence={"row": row, "drawn": ours, "taken": theirs},
                )


def _warn_if_never_asked(asked: list[bool]) -> None:
    # Only transformers ignores processors silently.
    if not asked[0] and "transformers" in sys.modules:
        warnings.warn(
            "A ConstraintLogitsProcessor was dropped without having been called: nothing was held "
            "to its constraint. model.generate_batch of transformers drops logits processors in "
            "silence. Use model.generate, or explorer.generate.",
            RuntimeWarning,
            stacklevel=2,
        )


def _parts(given: object) -> tuple[Vocabulary, TokenMachine]:
    """The vocabulary of a token machine, and the machine."""
    if not isinstance(given, TokenMachine):
        raise ExplorerError(
            "No constraint is given.",
            remedy="Give the vocabulary and the constraint, or a token machine, which has both.",
        )
    return given.vocabulary, given


def _vocabulary(given: object) -> Vocabulary:
    """The vocabulary of a user's argument, a vocabulary or a tokenizer."""
    if isinstance(given, Vocabulary):
        return given
    try:
        return Vocabulary.from_tokenizer(given)
    except UnsupportedTokenizer:
        raise
    except VocabularyError as error:
        if "tokenizer" not in error.evidence:
            raise
        raise wrong(
            "vocabulary",
            given,
            "a Vocabulary or a fast tokenizer",
            remedy="Give lm.vocabulary, or the tokenizer of the model.",
        ) from None
