"""A cache of the full logits of visited positions, within a memory budget.

Logits depend only on the ids that were read, so these are the key: a fork, another constraint or
another sampler finds them again. The key is a digest of 128 bits, because the ids of 5,000
consecutive positions would take 100 MB. A run computes each key from the previous one
(`following_key`), so that a step of a long run costs no more than a step of a short one. Beyond the
budget the least recently used logits are dropped and computed again when asked for.

Cost: half a megabyte for each position at 131,072 float32 logits, on the model's device.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate
from typing import cast

from torch import Tensor

from explorer.decoding.models.arguments import call_model, checked_reading, reading_of
from explorer.decoding.models.model import LanguageModel, Reading, RunLanguageModel
from explorer.errors import ExplorerError


class LogitsStore:
    """A cache of logits by the ids that were read; not thread-safe, its owner holds a lock."""

    def __init__(self, model: LanguageModel, max_bytes: int) -> None:
        self._model = model
        self._max_bytes = max_bytes
        self._kept: OrderedDict[bytes, Tensor] = OrderedDict()
        self._notes: dict[bytes, Reading] = {}  # Readings made ahead, until they are asked for.
        self._bytes = 0

    def __len__(self) -> int:
        """The number of cached positions."""
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """The size of the cached logits in bytes."""
        return self._bytes

    def __contains__(self, tokens: object) -> bool:
        """Whether the logits after some ids are cached."""
        return isinstance(tokens, tuple) and self.holds(path_key(cast("tuple[int, ...]", tokens)))

    def holds(self, key: bytes) -> bool:
        """Whether the logits of a key are cached."""
        return key in self._kept

    def read_ahead(
        self,
        tokens: Sequence[int],
        run: Sequence[int],
        kind: str = "forced",
        *,
        key: bytes | None = None,
    ) -> None:
        """Read the logits after some ids, and after each of a run of further ids, in one pass.

        Does nothing if the run is empty or the model reads no runs; `read` then reads one by one.

        Raises:
            ExplorerError: The model does not return a row of logits for each.
        """
        model = self._model
        if not run or not isinstance(model, RunLanguageModel):
            return
        path = (*tokens, *run)
        count = len(run) + 1
        readings = call_model(model, "read_run", lambda: model.read_run(path, count))
        if len(readings) != count:
            raise ExplorerError(
                f"The model {model.name!r} gives {len(readings)} readings for {count} prefixes.",
                remedy="Return one Reading for each from `read_run`.",
            )
        if key is None:
            keys = [path_key(path[:end]) for end in range(len(tokens), len(path) + 1)]
        else:
            keys = list(accumulate(run, following_key, initial=key))
        note = f"Read in one pass with a run of {len(run)} {kind} tokens."
        for own, reading in zip(keys, readings, strict=True):
            checked = checked_reading(model, reading)
            self._keep(own, checked.logits)
            self._notes[own] = Reading(checked.logits, checked.computed, note)

    def _keep(self, key: bytes, logits: Tensor) -> None:
        more = _size(logits) - (_size(self._kept[key]) if key in self._kept else 0)
        self._kept[key] = logits
        self._bytes += more
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            dropped, old = self._kept.popitem(last=False)
            self._notes.pop(dropped, None)
            self._bytes -= _size(old)

    def read(self, tokens: Sequence[int], key: bytes | None = None) -> Reading:
        """The logits after some ids, from the cache or from the model.

        Raises:
            ExplorerError: The model does not return a row of logits.
        """
        path = tuple(tokens)
        key = path_key(path) if key is None else key
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return self._notes.pop(key, None) or Reading(kept)
        reading = reading_of(self._model, path)
        self._keep(key, reading.logits)
        return reading


def path_key(path: tuple[int, ...]) -> bytes:
    """The key of some ids."""
    return hashlib.blake2b(array("q", path).tobytes(), digest_size=16).digest()


def following_key(key: bytes, token: int) -> bytes:
    """The key of a path that is one token longer.

    It differs from `path_key` of the whole path, so a store must be used either with such keys or
    with ids alone.

    Example:
        >>> following_key(path_key((1, 2)), 3) == following_key(path_key((1, 2)), 3)
        True
    """
    return hashlib.blake2b(key + token.to_bytes(8, "little"), digest_size=16).digest()


def _size(logits: Tensor) -> int:
    return logits.numel() * logits.element_size()
