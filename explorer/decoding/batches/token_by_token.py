"""All texts of a batch together, one token of each at a time.

Logits, mask, draw and state stay on the model's device, and so do the drawn tokens and their
log-probabilities, until all texts are done. A step is two parts that need nothing from the host:
the draw writes a column and advances the machines, the model reads the drawn tokens. On a CUDA
device both are captured and replayed (`explorer.decoding.models.replayed`), if the model reads into
fixed buffers; the tokens are the same.

A machine without a table is asked on the host. While the model reads the drawn tokens, the host
takes them, too, and finds the next masks, so its time is hidden behind the model's unless it is
longer. Only masks that were not used before are sent (`explorer.tokens.masks.stored`).

Whether all texts have ended is a flag on the device. On a GPU it is copied every `EVERY` steps and
looked at one such period later, so the host waits for a step long past, and at most 2 × `EVERY`
steps are taken too many and dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Final, cast

import torch
from torch import Tensor

from explorer.decoding.batches.constrained_batch import ConstrainedBatch
from explorer.decoding.models.model import Batch, LanguageModel, call_model
from explorer.decoding.models.replayed import Replayed
from explorer.decoding.speculation.texts import GrowingText
from explorer.tokens.masks.error_word import ints
from explorer.tokens.words import FREE

EVERY: Final = 8
"""The number of steps from one look at the flag to the next on a GPU."""

_BLOCK: Final = 1024
"""The number of columns that are kept in one tensor."""


def token_by_token(
    model: LanguageModel,
    reading: Batch,
    batch: ConstrainedBatch,
    most: int,
    log_probs: bool,
    fixed: bool = False,
) -> list[GrowingText]:
    """Generate the texts of a batch.

    Args:
        reading: The prompts, read.
        most: The most tokens of each text, EOS included.
        fixed: Whether ``reading`` overwrites its logits in place, so that a draw can be captured.

    Returns:
        The texts; ids after the end of one are to be dropped. Errors on the device are in the error
        word of ``batch.masks``.
    """
    columns = DrawnColumns(reading, batch, most, log_probs)
    device = batch.masks.device
    draw = Replayed(columns.draw, device) if fixed else columns.draw
    follows = batch.masks.asks_host and (fixed or device.type != "cpu")
    count = 0
    for count in range(1, most + 1):
        if follows:
            batch.look_up()
        draw()
        columns.turn(count)
        drawn = columns.copied() if follows else None
        if drawn is None and columns.all_ended(count):
            break
        if count < most:
            call_model(model, "step", lambda: reading.step(columns.following))
        if drawn is not None and batch.follow(drawn()):
            break
    if isinstance(draw, Replayed) and draw.refusal and device.type == "cuda":
        warnings.warn(f"Draws are not replayed from a CUDA graph: {draw.refusal}.", stacklevel=4)
    return columns.texts(count)


class DrawnColumns:
    """The drawn tokens of all rows, and their log-probabilities, in blocks of columns."""

    def __init__(self, reading: Batch, batch: ConstrainedBatch, most: int, log_probs: bool) -> None:
        self._reading, self._batch, self._log_probs = reading, batch, log_probs
        device, rows = batch.masks.device, len(batch.rows.states)
        self._size = min(most, _BLOCK)
        self._tokens = torch.zeros(rows, self._size, dtype=torch.int64, device=device)
        scored = self._size if log_probs else 0
        self._scores = torch.zeros(2, rows, scored, dtype=torch.float64, device=device)
        self._full: list[tuple[Tensor, Tensor]] = []
        self._place = torch.zeros(1, dtype=torch.int64, device=device)
        self._over = torch.zeros(1, dtype=torch.bool, device=device)
        self._drawn = torch.zeros(rows, dtype=torch.int64, device=device)
        self.following = self._drawn.clone()
        """int64[B], the ids that the model reads next; a row that has ended reads some id."""
        self._waits = device.type != "cuda"
        self._copied = torch.zeros(1, dtype=torch.bool, pin_memory=not self._waits)
        self._copying: torch.cuda.Event | None = None

    def draw(self) -> None:
        """Draw a token of each row into the next column."""
        logits = self._reading.logits
        if self._log_probs:
            tokens, *scores = self._batch.draw_scored(logits)
            self._scores.index_copy_(2, self._place, torch.stack(scores)[:, :, None])
        else:
            tokens = self._batch.draw(logits)
        self._tokens.index_copy_(1, self._place, tokens[:, None])
        self._drawn.copy_(tokens)
        self.following.copy_(tokens.clamp(min=0))
        states = self._batch.rows.states
        # DEAD rows have ended too; the error word says why.
        self._over.copy_(((states != FREE) & (states < 0)).all())
        self._place.add_(1)

    def turn(self, count: int) -> None:
        """Begin a new block if so many draws have filled the present one."""
        if count % self._size == 0:
            self._full.append((self._tokens.clone(), self._scores.clone()))
            self._place.zero_()

    def all_ended(self, count: int) -> bool:
        """Whether every row is known to have ended, after so many draws."""
        if self._waits:
            return bool(self._over)
        if count % EVERY:
            return False
        if self._copying is not None:
            self._copying.synchronize()
            if bool(self._copied):
                return True
        self._copied.copy_(self._over, non_blocking=True)
        self._copying = _recorded(self._over.device)
        return False

    def copied(self) -> Callable[[], Tensor]:
        """Begin to copy the drawn tokens to the host; calling the result waits for them."""
        tokens = torch.empty(len(self._drawn), dtype=torch.int64, pin_memory=not self._waits)
        tokens.copy_(self._drawn, non_blocking=not self._waits)
        done = None if self._waits else _recorded(self._over.device)

        def wait() -> Tensor:
            if done is not None:
                done.synchronize()
            return tokens

        return wait

    def texts(self, count: int) -> list[GrowingText]:
        """The first columns as texts. Waits for the device."""
        blocks = [*self._full, (self._tokens, self._scores)]
        tokens, scores = (
            torch.cat(each, dim=-1)[..., :count] for each in zip(*blocks, strict=True)
        )
        model, constrained = cast("list[list[list[float]]]", scores.tolist())  # pyright: ignore[reportUnknownMemberType]
        return [
            GrowingText(ints(row), of_model, of_mask)
            for row, of_model, of_mask in zip(tokens.cpu(), model, constrained, strict=True)
        ]


def _recorded(device: torch.device) -> torch.cuda.Event:
    """An event after all that was launched on a device so far."""
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))  # pyright: ignore[reportUnknownMemberType]
    return event
