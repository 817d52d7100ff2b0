"""Texts in buffers of fixed size, which a transformer reads in one step that can be captured.

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
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
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

_TEXTS: Final = 4
"""The number of single texts that are held."""

_TOO_WIDE: Final = 4
"""Buffers so many times wider than needed are not used again: attending to them takes time."""


class StaticBatch:
    """A batch of growing texts in fixed buffers.

    Args:
        forward: The forward pass of a model that takes key-values and positions.
        parameters: The names of its parameters.
        config: The model's configuration.
        shape: The number of texts, the width of the cache, and the number of logits.
        last_only: The arguments that ask for the last logits alone.
        check: Raises if a text of some length is too long for the model.
        device: The model's device.
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        parameters: Collection[str],
        shape: tuple[int, int, int],
        *,
        config: Any,
        check: Callable[[int], None],
        device: torch.device,
    ) -> None:
        rows, self.width, logits = shape
        self._forward, self._config, self._check = forward, config, check
        self._last_only = {"logits_to_keep"} & set(parameters)
        self._layers = [StaticLayer(self.width) for _ in DynamicCache(config=config).layers]
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

    @property
    def length(self) -> int:
        """The number of tokens of the longest text."""
        return self._longest

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

    def extend(self, tokens: Sequence[int], length: int, count: int) -> Tensor:
        """Read more tokens of a single text in one pass, launched operation by operation.

        Args:
            tokens: At least ``count`` ids.
            length: The tokens before them; what was read after those is forgotten.
            count: The number of last tokens after which the logits are wanted.

        Returns:
            float[count, W].
        """
        end = length + len(tokens)
        self.rewind(length)
        while end > self.width:
            self._double()
        self._seen[:, length:end] = 1
        places = torch.arange(length, end, device=self._place.device)
        ids = torch.tensor([list(tokens)], device=self._place.device)
        with torch.no_grad():
            logits = self._output(ids, places[None], count)
        self._move_to(end)
        return logits[0, -count:]

    def rewind(self, length: int) -> None:
        """Forget all but the first tokens of a single text."""
        self._seen[:, length:] = 0
        for layer in self._layers:
            layer.cumulative_length.fill_(length)
        self._move_to(length)

    def key_values(self, length: int) -> Cache:
        """The key-values of the first tokens of all texts, in a cache that can grow."""
        grown = DynamicCache(config=self._config)
        for k, layer in enumerate(self._layers):
            grown.update(layer.keys[:, :, :length], layer.values[:, :, :length], k)
        return grown

    def _move_to(self, length: int) -> None:
        self._longest = length
        self._positions.fill_(length)
        self._place.fill_(length)

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
        self.logits.copy_(self._output(ids, positions, 1)[:, -1])

    def _output(self, ids: Tensor, positions: Tensor, count: int) -> Tensor:
        """The logits after at least the last ``count`` ids."""
        output = self._forward(
            input_ids=ids,
            attention_mask=self._seen,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            **{name: count for name in self._last_only},
        )
        return output.logits


@dataclass(eq=False)
class _Text:
    """A single text in fixed buffers, and its tokens so far."""

    batch: StaticBatch
    tokens: tuple[int, ...] = ()


class StaticBatches:
    """The fixed buffers of one model: of batches, lent to one at a time, and of single texts.

    Those of the last batch are kept with their graph, for the next one of the same shape. Of single
    texts the last few are held, so that sessions may take turns. A text that shares a prefix with a
    held one overwrites the rest of it. Not thread-safe but for `lent`: the model holds its lock.

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
        self._texts: list[_Text] = []  # The least recently used first.
        self._lock = threading.Lock()
        self._failed, self._warned = "", False

    @property
    def refusal(self) -> str:
        """The reason why steps are not replayed, as a clause; empty if they are."""
        device = torch.device(self._model.device).type
        return f"{device} has none" if device != "cuda" else self._failed or self._uncapturable

    @cached_property
    def _uncapturable(self) -> str:
        return why_not_captured(self._model)

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
        self._note(batch)
        if not self._failed:
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
            kept = self._new(len(prompts), width)
        kept.start(prompts)
        return kept

    def _new(self, rows: int, width: int) -> StaticBatch:
        return StaticBatch(
            self._forward,
            inspect.signature(self._model.forward).parameters,
            (rows, width, self._logits),
            config=self._model.config,
            check=self._check,
            device=torch.device(self._model.device),
        )

    def read(self, tokens: Sequence[int], count: int) -> tuple[Tensor, int] | None:
        """The logits after the last prefixes of a text, from buffers that hold most of it.

        A text that is one token longer than one that was read is a replayed step.

        Args:
            tokens: At least ``count`` ids.
            count: The number of prefixes.

        Returns:
            float32[count, W], and the number of tokens that were read; ``None`` if steps are not
            replayed.
        """
        return None if self.refusal else self.read_text(tokens, count)

    def read_text(self, tokens: Sequence[int], count: int) -> tuple[Tensor, int]:
        """As `read`, on any device."""
        length, text = self._nearest(tokens, len(tokens) - count)
        if text is None:
            del self._texts[: len(self._texts) + 1 - _TEXTS]
            text = _Text(self._new(1, 1 << (len(tokens) + _AHEAD - 1).bit_length()))
        else:
            self._texts.remove(text)
        self._texts.append(text)
        batch, rest = text.batch, tokens[length:]
        if len(rest) == 1 and batch.length == length:
            logits = batch.step(torch.tensor(rest))
        else:
            logits = batch.extend(rest, length, count)
        text.tokens = tuple(tokens)
        self._note(batch)
        return logits.to(torch.float32, copy=True), len(rest)

    def start(self, tokens: Sequence[int]) -> tuple[Cache, int] | None:
        """The key-values of the longest prefix that is held, which can grow; or none."""
        length, text = self._nearest(tokens, len(tokens) - 1)
        return None if text is None else (text.batch.key_values(length), length)

    def _nearest(self, tokens: Sequence[int], most: int) -> tuple[int, _Text | None]:
        """The held text with the longest common prefix, up to a length; none if they share none."""
        shares = [(min(common(text.tokens, tokens), most), text) for text in self._texts]
        length, text = max(shares, key=lambda each: each[0], default=(0, None))
        return length, text if length else None

    def _note(self, batch: StaticBatch) -> None:
        """Remember and say that a step could not be captured."""
        if batch.replayed.refusal and torch.device(self._model.device).type == "cuda":
            self._failed = batch.replayed.refusal
            self._warn(self._failed)

    def _warn(self, reason: str) -> None:
        if not self._warned:
            warnings.warn(
                f"A step of {self._name} takes several times as long as it could, because it is "
                f"not replayed from a CUDA graph: {reason}.",
                stacklevel=4,
            )
        self._warned = True


def common(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the longest common prefix."""
    for k, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return k
    return min(len(left), len(right))


def why_not_captured(model: Any) -> str:
    """The reason why a model's step cannot be captured, as a clause; empty if it may be.

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
    return ""
