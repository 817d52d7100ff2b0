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

from torch import Tensor

from explorer.decoding.models.arguments import reading_of
from explorer.decoding.models.model import LanguageModel, Reading


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
        self._bytes = 0

    def __len__(self) -> int:
        """How many positions are kept."""
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """How much is kept."""
        return self._bytes

    def read(self, tokens: Sequence[int]) -> Reading:
        """The logits after some ids, from memory or from the model.

        Args:
            tokens: The prompt's ids and all since.

        Raises:
            ExplorerError: The model gives something that is not a row of logits.
        """
        path = tuple(tokens)
        key = hashlib.blake2b(array("q", path).tobytes(), digest_size=16).digest()
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return Reading(kept)
        reading = reading_of(self._model, path)
        logits = reading.logits
        self._kept[key] = logits
        self._bytes += _size(logits)
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            self._bytes -= _size(self._kept.popitem(last=False)[1])
        return reading


def _size(logits: Tensor) -> int:
    return logits.numel() * logits.element_size()
