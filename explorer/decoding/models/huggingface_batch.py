"""A batch of texts that a model of transformers reads together, with a cache of its own."""

# transformers is typed loosely: its models and tokenizers are `Any` for a checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer, DynamicSlidingWindowLayer

from explorer.decoding.models.huggingface import fork


class HuggingFaceBatch:
    """A batch of growing texts; made by `HuggingFaceModel.batch`.

    Args:
        cache: An empty dynamic cache; ``None`` for a model without one.
        takes_positions: Whether the model takes position ids, which padding shifts.
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        prompts: Sequence[Sequence[int]],
        cache: Cache | None,
        *,
        takes_positions: bool,
        last_only: dict[str, Any],
        check: Callable[[int], None],
        device: torch.device,
    ) -> None:
        self._check = check
        self._forward = forward
        self._cache = cache
        self._takes_positions = takes_positions
        self._last_only = last_only
        self._lengths = [len(row) for row in prompts]
        width = max(self._lengths)
        padded = [[0] * (width - len(row)) + list(row) for row in prompts]
        seen = [[0] * (width - len(row)) + [1] * len(row) for row in prompts]
        self._ids = torch.tensor(padded, dtype=torch.int64, device=device)
        self._seen = torch.tensor(seen, dtype=torch.int64, device=device)
        self._positions = (self._seen.cumsum(-1) - 1).clamp(min=0)
        self._logits = self._read(self._ids)

    @property
    def logits(self) -> Tensor:
        """The next-token logits of each row, float32[B, W]."""
        return self._logits

    def step(self, tokens: Tensor) -> Tensor:
        """Read one more token in each row without waiting for the device; see `Batch.step`."""
        column = tokens.reshape(-1, 1)
        self._append(column, torch.ones_like(column), [1] * len(self._lengths))
        self._logits = self._read(column)
        return self._logits

    def branch(self, rows: Sequence[int]) -> HuggingFaceBatch:
        """A new batch that continues some rows; see `BranchingBatch.branch`."""
        twin = copy.copy(self)
        chosen = torch.tensor(list(rows), dtype=torch.int64, device=self._ids.device)
        twin._lengths = [self._lengths[row] for row in rows]
        twin._ids, twin._seen = self._ids[chosen], self._seen[chosen]
        twin._positions, twin._logits = self._positions[chosen], self._logits[chosen]
        if self._cache is not None:
            twin._cache = fork(self._cache)
            twin._cache.reorder_cache(chosen)  # pyright: ignore[reportArgumentType] - Any tensor will do.
        return twin

    @property
    def reads_runs(self) -> bool:
        """Whether rows can be extended by different numbers of tokens; see `RunBatch`.

        Shorter runs are padded, and the padding is masked. A sliding window would count the
        padding, so a batch must then have one row; linear attention would even read it.
        """
        if self._cache is None or not self._takes_positions:
            return False
        kinds = {type(layer) for layer in self._cache.layers}
        if len(self._lengths) == 1:
            return kinds <= {DynamicLayer, DynamicSlidingWindowLayer}
        return kinds == {DynamicLayer}

    def extend(self, runs: Sequence[Sequence[int]], every: bool) -> Tensor:
        """Read a run of tokens in each row; see `RunBatch.extend`."""
        width = max(map(len, runs))
        if not width:
            return self._logits[:, None]
        device = self._ids.device
        ids = [[0] * (width - len(run)) + list(run) for run in runs]
        seen = [[0] * (width - len(run)) + [1] * len(run) for run in runs]
        columns = torch.tensor(ids, dtype=torch.int64, device=device)
        self._append(
            columns,
            torch.tensor(seen, dtype=torch.int64, device=device),
            [len(run) for run in runs],
        )
        logits = self._read_last(columns, width if every else 1)
        empty = torch.tensor([not run for run in runs], device=device)
        self._logits = torch.where(empty[:, None], self._logits, logits[:, -1])
        return torch.cat([logits[:, :-1], self._logits[:, None]], dim=1)

    def _append(self, columns: Tensor, seen: Tensor, counts: Sequence[int]) -> None:
        lengths = [a + b for a, b in zip(self._lengths, counts, strict=True)]
        self._check(max(lengths))
        self._lengths = lengths
        places = self._positions[:, -1:] + seen.cumsum(-1)
        self._seen = torch.cat([self._seen, seen], dim=-1)
        self._positions = torch.cat([self._positions, places], dim=-1)
        if self._cache is None:
            self._ids = torch.cat([self._ids, columns], dim=-1)

    def _read(self, ids: Tensor) -> Tensor:
        if self._cache is None:
            ids = self._ids
        return self._read_last(ids, 1)[:, -1]

    def _read_last(self, ids: Tensor, count: int) -> Tensor:
        """The logits after the last ``count`` tokens, float32[B, count, W]."""
        more: dict[str, Any] = {name: count for name in self._last_only}
        if self._takes_positions:
            more["position_ids"] = self._positions[:, -ids.shape[1] :]
        if self._cache is not None:
            more["past_key_values"] = self._cache
        with torch.no_grad():
            output = self._forward(
                input_ids=ids,
                attention_mask=self._seen,
                use_cache=self._cache is not None,
                **more,
            )
        return output.logits[:, -count:].float()
