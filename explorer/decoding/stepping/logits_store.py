"""Full logits of visited positions, as many as a memory budget holds.

Keyed by the ids that were read, because logits depend on nothing else: a fork, another constraint
or another sampler finds them again. The key is a digest of 128 bits, because the ids themselves, of
5,000 positions one after the other, take 100 MB. Beyond the budget the least recently used are
dropped; whoever asks for them again reads them from the model again.

Cost: half a megabyte for each position at 131,072 float32 logits, on the model's device.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from typing import cast

from torch import Tensor

from explorer.decoding.models.arguments import call_model, checked_reading, reading_of
from explorer.decoding.models.model import LanguageModel, Reading, RunLanguageModel
from explorer.errors import ExplorerError


class LogitsStore:
    """Logits by the ids that were read. Its owner holds a lock.

    Args:
        model: Where logits come from.
        max_bytes: How much to keep; one position's are kept in any case.
    """

    def __init__(self, model: LanguageModel, max_bytes: int) -> None:
        self._model = model
        self._max_bytes = max_bytes
        self._kept: OrderedDict[bytes, Tensor] = OrderedDict()
        self._notes: dict[bytes, Reading] = {}  # Of what was read ahead, until it is asked for.
        self._bytes = 0

    def __len__(self) -> int:
        """The number of positions that are kept."""
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """The number of bytes that are kept."""
        return self._bytes

    def __contains__(self, tokens: object) -> bool:
        """Whether the logits after some ids are kept."""
        return isinstance(tokens, tuple) and _key(cast("tuple[int, ...]", tokens)) in self._kept

    def read_ahead(self, tokens: Sequence[int], run: Sequence[int], kind: str = "forced") -> None:
        """Read the logits after some ids, and after each of a run of further ids, in one pass.

        Does nothing where the run is empty or the model reads no runs; `read` then reads one by
        one.

        Args:
            tokens: The prompt's ids and all since.
            run: The ids that come next, or may.
            kind: What they are, for the note: ``"forced"`` or ``"proposed"``.

        Raises:
            ExplorerError: The model gives something that is not a row of logits for each.
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
        for k, reading in enumerate(readings):
            end = len(path) - len(run) + k
            note = f"Read in one pass with a run of {len(run)} {kind} tokens."
            checked = checked_reading(model, reading)
            self._keep(_key(path[:end]), checked.logits)
            self._notes[_key(path[:end])] = Reading(checked.logits, checked.computed, note)

    def _keep(self, key: bytes, logits: Tensor) -> None:
        self._bytes += _size(logits) - (_size(self._kept[key]) if key in self._kept else 0)
        self._kept[key] = logits
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            dropped, old = self._kept.popitem(last=False)
            self._notes.pop(dropped, None)
            self._bytes -= _size(old)

    def read(self, tokens: Sequence[int]) -> Reading:
        """The logits after some ids, from memory or from the model.

        Args:
            tokens: The prompt's ids and all since.

        Raises:
            ExplorerError: The model gives something that is not a row of logits.
        """
        path = tuple(tokens)
        key = _key(path)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return self._notes.pop(key, None) or Reading(kept)
        reading = reading_of(self._model, path)
        self._keep(key, reading.logits)
        return reading


def _key(path: tuple[int, ...]) -> bytes:
    return hashlib.blake2b(array("q", path).tobytes(), digest_size=16).digest()


def _size(logits: Tensor) -> int:
    return logits.numel() * logits.element_size()
