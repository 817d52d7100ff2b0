"""A batch over any language model: the model's own where it has one, else its rows one by one."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.decoding.models.arguments import call_model, reading_of
from explorer.decoding.models.model import Batch, BatchedLanguageModel, LanguageModel
from explorer.errors import ExplorerError


class RowByRow:
    """A `Batch` over any model: each row is read by itself. Waits for the device at every step.

    Args:
        model: The model.
        prompts: Ids of each row.
    """

    def __init__(self, model: LanguageModel, prompts: Sequence[Sequence[int]]) -> None:
        self._model = model
        self._rows = [list(prompt) for prompt in prompts]
        self._logits = self._read()

    @property
    def logits(self) -> Tensor:
        """float32[B, W]."""
        return self._logits

    def step(self, tokens: Tensor) -> Tensor:
        """Read one more token in each row; see `Batch.step`."""
        for row, token in zip(self._rows, tokens, strict=True):
            row.append(int(token))
        self._logits = self._read()
        return self._logits

    def _read(self) -> Tensor:
        rows = [reading_of(self._model, tuple(row)).logits for row in self._rows]
        if len({len(row) for row in rows}) > 1:
            raise ExplorerError(
                f"The model {self._model.name!r} gives rows of {sorted({len(r) for r in rows})} "
                "logits: it is one model, so they are equally wide.",
                remedy="Give as many logits after any ids.",
                evidence={"widths": [len(row) for row in rows]},
            )
        return torch.stack([logits.to(torch.float32) for logits in rows])


def open_batch(model: LanguageModel, prompts: Sequence[Sequence[int]]) -> Batch:
    """The model's own batch where it has one, else its rows one by one.

    Args:
        model: The model.
        prompts: Ids of each row, at least one row.
    """
    if isinstance(model, BatchedLanguageModel):
        batched = model
        return call_model(model, "batch", lambda: batched.batch(prompts))
    return RowByRow(model, prompts)
