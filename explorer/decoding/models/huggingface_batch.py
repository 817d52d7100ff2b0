"""Several texts that a model of transformers reads abreast, with a cache of their own."""

# transformers is typed loosely: its models and tokenizers are `Any` for a checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache


class HuggingFaceBatch:
    """Several texts that grow by one token each; made by `HuggingFaceModel.batch`.

    Args:
        forward: The forward pass of the model.
        prompts: Ids of each row.
        cache: An empty dynamic cache; ``None`` for a model that takes none.
        takes_positions: Whether the model is told the place of each id, which padding shifts.
        last_only: How to ask for the last logits only.
        check: Refuses a text of too many tokens.
        device: Where the ids go.
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
        width = max(map(len, prompts))
        padded = [[0] * (width - len(row)) + list(row) for row in prompts]
        seen = [[0] * (width - len(row)) + [1] * len(row) for row in prompts]
        self._ids = torch.tensor(padded, dtype=torch.int64, device=device)
        self._seen = torch.tensor(seen, dtype=torch.int64, device=device)
        self._positions = (self._seen.cumsum(-1) - 1).clamp(min=0)
        self._logits = self._read(self._ids)

    @property
    def logits(self) -> Tensor:
        """float32[B, W], the next-token logits of each row."""
        return self._logits

    def step(self, tokens: Tensor) -> Tensor:
        """Read one more token in each row; see `Batch.step`. Does not wait for the device."""
        self._check(self._seen.shape[1] + 1)
        column = tokens.reshape(-1, 1)
        self._seen = torch.cat([self._seen, torch.ones_like(column)], dim=-1)
        self._positions = torch.cat([self._positions, self._positions[:, -1:] + 1], dim=-1)
        if self._cache is None:
            self._ids = torch.cat([self._ids, column], dim=-1)
            column = self._ids
        self._logits = self._read(column)
        return self._logits

    def _read(self, ids: Tensor) -> Tensor:
        more: dict[str, Any] = dict(self._last_only)
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
        return output.logits[:, -1].float()
