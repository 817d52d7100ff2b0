"""A batch in buffers of fixed size, which a transformer reads in one step that can be captured.

Ids, positions, attention mask, key-values and logits keep their addresses and shapes, so that a
step is the same list of launches each time (`explorer.decoding.models.replayed`). Rows are padded
on the left, as in `HuggingFaceBatch`; places that are not yet written are masked. A sliding window
keeps all its key-values here, because a layer that drops some counts them on the host; the model's
own mask hides those outside of the window.

A step attends to the whole width, a power of two, which doubles when the longest text has filled
it; the step is then captured again. It is meant for a GPU, where the time of a step is the time to
read the weights. Memory: the key-values of all rows at the full width.
"""

# transformers is typed loosely: its models and caches are `Any` for a checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# A layer's tensors are None until it is first used; here it was.
# pyright: reportOptionalSubscript=false, reportArgumentType=false

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import Tensor
from transformers.cache_utils import (
    Cache,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    StaticLayer,
)

from explorer.decoding.models.replayed import Replayed

_AHEAD: Final = 64
"""The number of tokens after the longest prompt for which there is room from the start."""

_TOO_WIDE: Final = 4
"""Buffers so many times wider than needed are not used again: attending to them takes time."""


class StaticBatch:
    """A batch of growing texts in fixed buffers.

    Args:
        forward: The forward pass of a model that takes key-values and positions.
        layers: The number of its layers that hold key-values.
        shape: The number of texts, the width of the cache, and the number of logits.
        last_only: The arguments that ask for the last logits alone.
        check: Raises if a text of some length is too long for the model.
        device: The model's device.
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        layers: int,
        shape: tuple[int, int, int],
        *,
        last_only: dict[str, Any],
        check: Callable[[int], None],
        device: torch.device,
    ) -> None:
        rows, self.width, logits = shape
        self._forward, self._last_only, self._check = forward, last_only, check
        self._layers = [StaticLayer(self.width) for _ in range(layers)]
        self._cache = Cache(layers=[*self._layers])
        self.tokens = torch.zeros(rows, 1, dtype=torch.int64, device=device)
        self.logits = torch.zeros(rows, logits, device=device)
        self._positions = torch.zeros(rows, 1, dtype=torch.int64, device=device)
        self._seen = torch.zeros(rows, self.width, dtype=torch.int64, device=device)
        self._place = torch.zeros(1, dtype=torch.int64, device=device)
        self._longest = 0
        self.replayed = Replayed(self._read, device)

    def start(self, prompts: Sequence[Sequence[int]]) -> None:
        """Read new prompts, one for each row, in place of what was read before."""
        lengths = [len(row) for row in prompts]
        longest = self._longest = max(lengths)
        ids = torch.tensor([[0] * (longest - len(row)) + list(row) for row in prompts])
        counts = torch.tensor(lengths)[:, None]
        seen = (torch.arange(self.width) >= longest - counts) & (torch.arange(self.width) < longest)
        self._cache.reset()
        self._seen.copy_(seen)
        self._positions.copy_(counts)
        self._place.fill_(longest)
        positions = (self._seen[:, :longest].cumsum(-1) - 1).clamp(min=0)
        with torch.no_grad():
            self._read_into_logits(ids.to(self.tokens.device), positions)

    def step(self, tokens: Tensor) -> Tensor:
        """Read one more token in each row; see `Batch.step`. The logits are overwritten."""
        self._longest += 1
        self._check(self._longest)
        self.tokens.copy_(tokens.reshape(-1, 1))
        if self._longest > self.width:
            self._double()
        with torch.no_grad():
            self.replayed()
        return self.logits

    def _read(self) -> None:
        """Read `tokens`: the step that is captured."""
        self._seen.index_fill_(1, self._place, 1)
        self._read_into_logits(self.tokens, self._positions)
        self._positions.add_(1)
        self._place.add_(1)

    def _double(self) -> None:
        """Make room for twice as many tokens. Tokens and logits keep their addresses."""
        old, width = self._layers, self.width
        self.width = 2 * width
        self._layers = [StaticLayer(self.width) for _ in old]
        self._cache = Cache(layers=[*self._layers])
        for before, layer in zip(old, self._layers, strict=True):
            layer.lazy_initialization(before.keys, before.values)
            layer.keys[:, :, :width].copy_(before.keys)
            layer.values[:, :, :width].copy_(before.values)
            layer.cumulative_length.copy_(before.cumulative_length)
        self._seen = torch.nn.functional.pad(self._seen, (0, width))
        self.replayed = Replayed(self._read, self.tokens.device)

    def _read_into_logits(self, ids: Tensor, positions: Tensor) -> None:
        output = self._forward(
            input_ids=ids,
            attention_mask=self._seen,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            **self._last_only,
        )
        self.logits.copy_(output.logits[:, -1])


class StaticBatches:
    """The fixed buffers of one model, lent to one batch at a time.

    The last ones are kept with their graph, for the next batch of the same shape.

    Args:
        model: A model of transformers.
        forward: Its forward pass.
        name: Its name in a warning.
        logits: The number of its logits.
        check: Raises if a text of some length is too long for it.
    """

    def __init__(
        self,
        model: Any,
        forward: Callable[..., Any],
        name: str,
        logits: int,
        check: Callable[[int], None],
    ) -> None:
        self._model, self._forward, self._name = model, forward, name
        self._logits, self._check = logits, check
        self._kept: StaticBatch | None = None
        self._lock = threading.Lock()
        self._failed, self._warned = "", False

    @property
    def refusal(self) -> str:
        """The reason why steps are not replayed, as a clause; empty if they are."""
        return self._failed or why_not_replayed(self._model)

    @contextmanager
    def lent(self, prompts: Sequence[Sequence[int]], more: int) -> Generator[StaticBatch | None]:
        """Read some prompts into buffers, for the time of a ``with`` block.

        Args:
            prompts: The ids of each row.
            more: The most tokens that will be read after the longest prompt.

        Yields:
            The batch; ``None`` if steps are not replayed. On a GPU a warning says why, once.
        """
        if refusal := self.refusal:
            if torch.device(self._model.device).type == "cuda":
                self._warn(refusal)
            yield None
            return
        with self._lock:
            kept, self._kept = self._kept, None
        batch = self.opened(prompts, more, kept)
        yield batch
        if batch.replayed.refusal:
            self._failed = batch.replayed.refusal
            self._warn(self._failed)
        else:
            self._kept = batch

    def opened(
        self, prompts: Sequence[Sequence[int]], more: int, kept: StaticBatch | None = None
    ) -> StaticBatch:
        """Read some prompts into buffers, on any device.

        Args:
            kept: Buffers that nobody uses, to be filled again if they have the right shape.
        """
        length = max(map(len, prompts)) + min(more, _AHEAD)
        width = 1 << (length - 1).bit_length()
        fits = kept is not None and width <= kept.width <= _TOO_WIDE * width
        if kept is None or not fits or len(kept.tokens) != len(prompts):
            parameters = inspect.signature(self._model.forward).parameters
            kept = StaticBatch(
                self._forward,
                len(DynamicCache(config=self._model.config).layers),
                (len(prompts), width, self._logits),
                last_only={"logits_to_keep": 1} if "logits_to_keep" in parameters else {},
                check=self._check,
                device=torch.device(self._model.device),
            )
        kept.start(prompts)
        return kept

    def _warn(self, reason: str) -> None:
        if not self._warned:
            warnings.warn(
                f"A step of {self._name} takes several times as long as it could, because it is "
                f"not replayed from a CUDA graph: {reason}.",
                stacklevel=4,
            )
        self._warned = True


def why_not_replayed(model: Any) -> str:
    """The reason why a model's step is not replayed from a graph, as a clause; empty if it is.

    Args:
        model: A model of transformers.
    """
    kind = type(model).__name__
    parameters = set(inspect.signature(model.forward).parameters)
    if missing := {"past_key_values", "position_ids", "attention_mask"} - parameters:
        return f"{kind} takes no {min(missing)}"
    if not getattr(model, "_can_compile_fullgraph", False):
        return f"{kind} does not declare that it can be compiled as one graph"
    if len(set((getattr(model, "hf_device_map", None) or {"": 0}).values())) > 1:
        return "its weights are on several devices"
    kinds = {type(layer) for layer in DynamicCache(config=model.config).layers}
    if others := kinds - {DynamicLayer, DynamicSlidingWindowLayer}:
        return f"{kind} keeps a {min(other.__name__ for other in others)}"
    if torch.device(model.device).type != "cuda":
        return f"{torch.device(model.device).type} has none"
    return ""
