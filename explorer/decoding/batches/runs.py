"""Batched generation that asks the model only if it has a choice.

After each drawn token, following tokens that are the only ones allowed are taken without asking,
and all are read in one forward pass. Runs of different lengths are padded, and the padding is
masked, which needs a model with full attention (`RunBatch`).

The mask alone, token budget included, decides which tokens are forced. So the texts equal those of
the loop that asks at every step, draw for draw: a forced token uses up its random number.

The host decides which tokens are forced, so a step waits for the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import Tensor

from explorer.decoding.batches.constrained_batch import ConstrainedBatch
from explorer.decoding.models.model import (
    LanguageModel,
    RunBatch,
    call_model,
)
from explorer.decoding.speculation.texts import GrowingText
from explorer.decoding.stepping.rule import LONGEST_FORCED_RUN, Rule, forced_run, prefilled_run
from explorer.tokens.masks.error_word import ints
from explorer.tokens.words import DEAD, DONE

_LOGITS_BYTES: Final = 256_000_000
"""The most memory for the logits of skipped tokens; longer runs are read in parts."""


def in_runs(
    model: LanguageModel,
    reading: RunBatch,
    batch: ConstrainedBatch,
    max_tokens: int,
    log_probs: bool,
    prefill: bool = False,
) -> list[GrowingText]:
    """Generate the texts of a batch.

    Args:
        max_tokens: The most tokens of each text, EOS included.
        prefill: Whether a forced text is taken in the tokenizer's own tokens.

    Returns:
        The rows; errors on the device are in the error word of ``batch.masks``.
    """
    following = prefilled_run if prefill else forced_run
    writing = _Writing(model, reading, batch, max_tokens, log_probs, following)
    # The texts may begin with forced tokens.
    for b in range(len(writing.rows)):
        writing.take_forced(b)
    writing.score(reading.logits[:, None], [0] * len(writing.rows))
    writing.read()
    while writing.draw():
        writing.read()
    return writing.rows


class _Writing:
    """The state of the loop; its methods are the parts of one iteration."""

    def __init__(
        self,
        model: LanguageModel,
        reading: RunBatch,
        batch: ConstrainedBatch,
        max_tokens: int,
        log_probs: bool,
        following: Callable[[Rule, int, int | None, int], tuple[int, ...]],
    ) -> None:
        self._following = following
        self._model = model
        self._reading = reading
        self._batch = batch
        self._max_tokens = max_tokens
        self._log_probs = log_probs
        self._states = ints(batch.rows.states)
        self._logits = reading.logits
        self._runs: dict[tuple[int, int], tuple[int, ...]] = {}
        self.rows = [GrowingText() for _ in self._states]

    def take_forced(self, b: int) -> None:
        """Take the following forced tokens of a row, including a forced end of text."""
        row, rule, rows = self.rows[b], self._batch.rules[b], self._batch.rows
        left = self._max_tokens - len(row.tokens)
        longest = min(left, LONGEST_FORCED_RUN)
        remaining = left if self._batch.plans[b] else None
        run = self._run(b, remaining, longest)
        state = self._states[b]
        for token in run:
            state = rule.step(state, token) or 0
        if len(run) < longest:
            over = None if remaining is None else remaining - len(run)
            allowed = rule.mask(state, over).allowed if state >= 0 else None
            if allowed is not None and allowed.sum() == 1:
                token = int(allowed.argmax())
                if token in rule.vocabulary.eos_ids:
                    run, state = (*run, token), DONE
        if not run:
            return
        row.tokens += run
        row.pending += run
        row.forced += len(run)
        row.ended = state == DONE or len(row.tokens) == self._max_tokens
        self._states[b] = state
        rows.states[b] = state
        rows.positions[b] += len(run)
        rows.remaining[b] -= len(run)

    def _run(self, b: int, remaining: int | None, longest: int) -> tuple[int, ...]:
        rule = self._batch.rules[b]
        if remaining is not None:
            return self._following(rule, self._states[b], remaining, longest)
        key = (id(rule), self._states[b])
        if key not in self._runs:
            self._runs[key] = self._following(rule, self._states[b], None, LONGEST_FORCED_RUN)
        return self._runs[key][:longest]

    def draw(self) -> bool:
        """Draw a token in each unfinished row; return whether there was one."""
        if all(row.ended for row in self.rows):
            return False
        known: list[list[float]] = []
        if self._log_probs:
            tokens, *scores = self._batch.draw_scored(self._logits)
            known = [score.tolist() for score in scores]  # pyright: ignore[reportUnknownMemberType]
        else:
            tokens = self._batch.draw(self._logits)
        self._states = ints(self._batch.rows.states)
        for b, token in enumerate(ints(tokens)):
            row = self.rows[b]
            if row.ended:
                continue
            if self._states[b] == DEAD:
                row.ended = True  # The error word says why.
                continue
            row.tokens.append(token)
            if known:
                row.model.append(known[0][b])
                row.constrained.append(known[1][b])
            row.pending = [token]
            row.ended = self._states[b] == DONE or len(row.tokens) == self._max_tokens
            if not row.ended:
                self.take_forced(b)
        return True

    def read(self) -> None:
        """Let the model read the pending tokens, except those whose logits are not needed."""
        parts = [self._wanted(row) for row in self.rows]
        width = self._reading.logits.shape[-1] * 4 * len(parts)
        most = max(1, _LOGITS_BYTES // width) if self._log_probs else LONGEST_FORCED_RUN + 1
        while any(parts):
            now = [part[:most] for part in parts]
            parts = [part[most:] for part in parts]
            logits = call_model(
                self._model,
                "extend",
                lambda: self._reading.extend(now, self._log_probs),  # noqa: B023 - Asked now.
            )
            self.score(logits, [len(part) for part in now])
        self._logits = self._reading.logits
        for row in self.rows:
            row.pending = []

    def _wanted(self, row: GrowingText) -> list[int]:
        """The pending tokens that must be read; the logits after a text's last are not needed."""
        if not row.ended:
            return row.pending
        return row.pending[:-1] if self._log_probs else []

    def score(self, logits: Tensor, read: Sequence[int]) -> None:
        """Store the log-probabilities of forced tokens whose logits are available.

        Args:
            logits: float32[B, n, W]; those of a shorter row are at the end.
            read: The number of tokens just read in each row; 0 for the logits before the first.
        """
        if not self._log_probs:
            return
        n = logits.shape[1]
        for b, row in enumerate(self.rows):
            known = len(row.model)
            first = n - max(1, read[b])
            count = min(n - first, len(row.tokens) - known)
            if count <= 0:
                continue
            log_probs = logits[b, first : first + count].double().log_softmax(-1)
            at = torch.tensor(row.tokens[known : known + count], device=logits.device)[:, None]
            row.model += log_probs.gather(-1, at)[:, 0].tolist()  # pyright: ignore[reportUnknownMemberType]
            row.constrained += [0.0] * count
