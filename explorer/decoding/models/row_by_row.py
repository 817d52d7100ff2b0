"""A batch for any language model: the model's own, or one that reads row by row."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.decoding.models.model import (
    Batch,
    BatchedLanguageModel,
    BranchingBatch,
    LanguageModel,
    Reading,
    RunLanguageModel,
    call_model,
    checked_reading,
    reading_of,
)
from explorer.errors import ExplorerError


class RowByRow:
    """A `Batch` for any model that reads each row by itself and waits for the device."""

    def __init__(self, model: LanguageModel, prompts: Sequence[Sequence[int]]) -> None:
        self._model = model
        self._rows = [list(prompt) for prompt in prompts]
        self._logits = self._read()

    @property
    def logits(self) -> Tensor:
        """The next-token logits of each row, float32[B, W]."""
        return self._logits

    def step(self, tokens: Tensor) -> Tensor:
        """Read one more token in each row; see `Batch.step`."""
        for row, token in zip(self._rows, tokens, strict=True):
            row.append(int(token))
        self._logits = self._read()
        return self._logits

    def branch(self, rows: Sequence[int]) -> RowByRow:
        """A new batch that continues some rows; see `BranchingBatch.branch`."""
        twin = object.__new__(RowByRow)
        twin._model, twin._rows = self._model, [list(self._rows[row]) for row in rows]
        twin._logits = self._logits[list(rows)]
        return twin

    @property
    def reads_runs(self) -> bool:
        """Always true, because each row is read by itself; see `RunBatch`."""
        return True

    def extend(self, runs: Sequence[Sequence[int]], every: bool) -> Tensor:
        """Read a run of tokens in each row; see `RunBatch.extend`."""
        longest = max(map(len, runs))
        count = max(1, longest) if every else 1
        logits = self._logits[:, None].repeat(1, count, 1)
        for k, (row, run) in enumerate(zip(self._rows, runs, strict=True)):
            row.extend(run)
            wanted = min(len(run), count)
            for back, reading in enumerate(reversed(self._last(row, wanted))):
                logits[k, count - 1 - back] = reading.logits
        self._logits = logits[:, -1]
        return logits

    def _last(self, row: Sequence[int], count: int) -> list[Reading]:
        """The readings after the last ``count`` prefixes of a row, the shortest first."""
        model = self._model
        if count > 1 and isinstance(model, RunLanguageModel):
            given = call_model(model, "read_run", lambda: model.read_run(tuple(row), count))
            return [checked_reading(model, reading) for reading in given]
        ends = range(len(row) - count + 1, len(row) + 1)
        return [reading_of(model, tuple(row[:end])) for end in ends]

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
    """The model's own batch, or one that reads row by row."""
    if isinstance(model, BatchedLanguageModel):
        batched = model
        return call_model(model, "batch", lambda: batched.batch(prompts))
    return RowByRow(model, prompts)


def open_branching(model: LanguageModel, prompts: Sequence[Sequence[int]]) -> BranchingBatch:
    """A batch that can branch: the model's own, or one that reads row by row."""
    batch = open_batch(model, prompts)
    return batch if isinstance(batch, BranchingBatch) else RowByRow(model, prompts)
