"""Constrained decoding inside `model.generate` of transformers, and a trace of it.

A logits processor sees the ids so far and may change the logits; the library then chooses. Masking
alone would leave the choice to the library's own sampler, and a run could not be repeated in a
session. So this one draws by itself, with the same uniforms as `Session` and `generate`, and
leaves a single finite logit: with ``do_sample=False`` the library can only take that one.

    processor = ConstraintLogitsProcessor(vocabulary, constraint, Sampler(0.8), max_tokens=40)
    model.generate(**inputs, do_sample=False, max_new_tokens=40, logits_processor=[processor])

One processor serves one call of `model.generate`; beams, and other things that reorder rows or
take another token, are noticed and refused. After the end of a row the library writes padding. The
library waits for the device at every step, so this does too, and says at once what is wrong.

It needs nothing of transformers: anything that calls it with ids and scores will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from explorer.arguments import flag, instance, whole_number
from explorer.budget import Budget
from explorer.decoding.batches.constrained_batch import (
    AnyConstraint,
    ConstrainedBatch,
    checked_streams,
    for_each,
)
from explorer.decoding.batches.recorder import Recorder
from explorer.decoding.models.arguments import LAST_SEED, MOST_TOKENS, checked_sampler
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.trace import Trace
from explorer.errors import ExplorerError
from explorer.tokens.error_word import ints
from explorer.tokens.states import DONE
from explorer.vocabulary import Vocabulary


class ConstraintLogitsProcessor:
    """A logits processor that holds every row to its constraint.

    Args:
        vocabulary: The model's tokens, as `Vocabulary.from_tokenizer` or ``lm.vocabulary`` has it.
        constraints: One for all rows, or a list with one for each; ``None`` leaves a row free.
        sampler: How tokens are chosen; default greedy.
        seed: Of the random numbers, 0 to 2**64 - 1.
        max_tokens: The token budget, EOS included; give what ``max_new_tokens`` is, so that every
            text is complete in time. ``None`` for no budget.
        streams: Each row's stream of random numbers; default its number.
        record: Whether to keep a trace of every row (`traces`).
        name: What to call the model in the traces.
        budget: Limits for compiling the constraints.

    Raises:
        ExplorerError: ``max_tokens`` is too small for a constraint.
        EmptyConstraint, IncompatibleVocabulary, BudgetExceeded: As `explorer.compile` has it.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
        >>> processor = ConstraintLogitsProcessor(vocab, explorer.regex("ab"))
        >>> processor(torch.tensor([[1, 1]]), torch.tensor([[0.0, 9.0, 1.0, 0.0]]))
        tensor([[-inf, -inf, 0., -inf]])
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        constraints: AnyConstraint | Sequence[AnyConstraint],
        sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
        *,
        seed: int = 0,
        max_tokens: int | None = None,
        streams: Sequence[int] | None = None,
        record: bool = False,
        name: str = "model.generate",
        budget: Budget | None = None,
    ) -> None:
        self._vocabulary = instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        self._sampler = checked_sampler(sampler)
        self._seed = whole_number("seed", seed, 0, LAST_SEED)
        if max_tokens is not None:
            max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
        self._max_tokens = max_tokens
        self._streams = checked_streams(streams)
        self._record = flag("record", record)
        self._name = instance("name", name, str, "a text")
        self._one_for_all = isinstance(constraints, str) or not isinstance(constraints, Sequence)
        listed = for_each(
            constraints, 1 if self._one_for_all else len(cast("list[None]", constraints))
        )
        # Compiled here, so that a constraint that cannot be is refused before the model runs.
        compiled = self._batch(listed, list(range(len(listed))), "cpu", budget)
        self._constraints = [rule.dfa for rule in compiled.rules]
        self._running: ConstrainedBatch | None = None
        self._recorder: Recorder | None = None
        self._length = 0
        self._drawn: list[int] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Choose the next token of each row.

        Args:
            input_ids: int64[B, T], the prompt and all tokens since, padding included.
            scores: float[B, W], the model's logits; left as they are.

        Returns:
            [B, W] of the same dtype: 0 at the token that was drawn, -inf elsewhere.

        Raises:
            ExplorerError: Nothing could be drawn, or the ids are not those drawn before.
        """
        for argument, value in (("input_ids", input_ids), ("scores", scores)):
            if instance(argument, value, Tensor, "a tensor, one row for each text").dim() != 2:
                raise ExplorerError(
                    f"{argument} has the shape {list(value.shape)}, not one row for each text.",
                    remedy="Give input_ids[B, T] and scores[B, W].",
                    evidence={argument: list(value.shape)},
                )
        batch = self._running or self._start(input_ids, scores)
        ended = [state == DONE for state in ints(batch.rows.states)]
        if self._drawn:
            self._check_ids(input_ids, ended)
        tokens = batch.draw(scores)
        batch.masks.check()
        self._drawn = ints(tokens)
        self._length += 1
        if self._recorder is not None:
            self._recorder.on_step(scores, self._drawn)
        only = torch.full_like(scores, -torch.inf)
        return only.scatter_(1, tokens.unsqueeze(1), 0.0)

    def traces(self) -> list[Trace]:
        """The traces of all rows, once `model.generate` has returned.

        A text that was cut off is recorded without its last token.

        Raises:
            ExplorerError: The processor was made without ``record=True``, or was not called.
        """
        if self._recorder is None:
            raise ExplorerError(
                "Nothing was recorded.",
                remedy="Make the processor with record=True, and call model.generate with it.",
            )
        return self._recorder.traces()

    def _start(self, input_ids: Tensor, scores: Tensor) -> ConstrainedBatch:
        count = len(input_ids)
        constraints = for_each(
            self._constraints[0] if self._one_for_all else self._constraints, count
        )
        streams = list(range(count)) if self._streams is None else list(self._streams)
        if len(streams) != count:
            raise ExplorerError(
                f"{len(streams)} streams for {count} rows.",
                remedy="Give one for each row; num_return_sequences and beams multiply rows.",
                evidence={"streams": len(streams), "rows": count},
            )
        self._running = self._batch(constraints, streams, scores.device, None)
        self._length = input_ids.shape[1]
        if self._record:
            self._recorder = Recorder(
                self._name,
                self._running.rules,
                cast("list[list[int]]", input_ids.tolist()),  # pyright: ignore[reportUnknownMemberType]
                self._sampler,
                seed=self._seed,
                streams=streams,
                max_tokens=self._max_tokens,
                masking_budget=True,
            )
        return self._running

    def _batch(
        self,
        constraints: Sequence[AnyConstraint],
        streams: Sequence[int],
        device: str | torch.device,
        budget: Budget | None,
    ) -> ConstrainedBatch:
        return ConstrainedBatch(
            constraints, self._vocabulary, self._sampler, seed=self._seed, streams=streams,
            max_tokens=self._max_tokens, masking_budget=True, device=device, budget=budget,
        )  # fmt: skip

    def _check_ids(self, input_ids: Tensor, ended: list[bool]) -> None:
        # Rows that have ended get whatever padding the library writes.
        shape = list(input_ids.shape)
        if shape != [len(self._drawn), self._length]:
            raise ExplorerError(
                f"The ids have the shape {shape}, not {[len(self._drawn), self._length]}: this is "
                "another run.",
                remedy="Make a new processor for each call of model.generate.",
                evidence={"shape": shape},
            )
        taken = ints(input_ids[:, -1])
        for row, (ours, theirs) in enumerate(zip(self._drawn, taken, strict=True)):
            if ours != theirs and not ended[row]:
                raise ExplorerError(
                    f"Row {row}: token {ours} was drawn, but {theirs} was taken.",
                    remedy="Call model.generate with do_sample=False and num_beams=1.",
                    evidence={"row": row, "drawn": ours, "taken": theirs},
                )
