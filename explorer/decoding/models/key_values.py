"""The key-values of what a transformer has read, found again by their ids.

A transformer that is asked about ids it has mostly read should only read the rest. This store
keeps a few caches, each with the ids it was made from. For new ids it takes the one that shares
the most, copies it, drops what is not shared and hands it out; nobody changes a stored one.

Copying is shallow where a layer grows by concatenation, because concatenation makes new tensors:
a fork costs microseconds and shares memory. Other layers (linear attention updates in place) are
copied in depth. Dropping the last n tokens is `crop(-n)` in transformers 5: a negative number of
tokens to drop, where version 4 took the length to keep. Three kinds of layer differ:

- Full attention: can be cropped to any length.
- A sliding window throws old keys away, and then `crop` raises. With *recording* switched on
  before the first token they are kept. But `crop` itself then trims the layer to its window, and
  a second, deeper crop would lack keys. So an entry remembers its ``floor``, the
  shortest length that it can still be cropped to.
- Linear attention holds a sum that cannot be undone: the entry serves only longer texts. A few
  more entries are kept for such a model, so that a step or two back is still free.

A static cache is never used: its tensors are written in place, and a fork would see it.

Cost: one entry holds the key-values of its text; at most `ENTRIES` are kept. With recording, a
sliding window saves no memory.
"""

# The cache classes of transformers carry no types that a checker could follow.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from transformers.cache_utils import (
    Cache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionCacheLayerMixin,
)

ENTRIES: Final = 8
"""The number of texts that are remembered."""

_GROW_BY_CONCATENATION: Final = (DynamicLayer, DynamicSlidingWindowLayer)


@dataclass(frozen=True, eq=False)
class CacheEntry:
    """The key-values of a text.

    Args:
        cache: Their key-values; not to be changed.
        floor: The shortest length that ``cache`` can be cropped to; all of it where it cannot.
    """

    tokens: tuple[int, ...]
    cache: Cache
    floor: int


@dataclass(frozen=True, eq=False)
class Start:
    """The place from which a model can go on reading.

    Args:
        note: Why that is less than what was shared with an earlier text; empty if it is all of it.
    """

    cache: Cache
    length: int
    floor: int
    note: str = ""


def fork(cache: Cache) -> Cache:
    """A copy that can be extended and cropped while the original stays as it is."""
    twin = copy.copy(cache)
    twin.layers = [
        copy.copy(layer) if type(layer) in _GROW_BY_CONCATENATION else copy.deepcopy(layer)
        for layer in cache.layers
    ]
    return twin


def why_not_croppable(cache: Cache) -> str:
    """The reason why a cache cannot be cropped, as the subject of a sentence; empty if it can."""
    for layer in cache.layers:
        # A convolution without a recurrent state says it can be cropped, but its first tokens
        # are not padded then, which changes what the model computes.
        if isinstance(layer, LinearAttentionCacheLayerMixin):
            return "linear attention"
        recording: bool = getattr(layer, "record_past", False)
        if layer.is_croppable and getattr(layer, "is_sliding", False) and not recording:
            return "a sliding window without recording"
        if not layer.is_croppable:
            return f"a {type(layer).__name__}"
    return ""


def _window(cache: Cache) -> int | None:
    """The shortest sliding window among the layers."""
    sizes = [
        int(layer.sliding_window)
        for layer in cache.layers
        if isinstance(layer, DynamicSlidingWindowLayer)
    ]
    return min(sizes, default=None)


class KeyValues:
    """The store.

    Not safe to use from several threads at once: its owner holds a lock.
    """

    def __init__(self, empty: Callable[[], Cache]) -> None:
        self._empty = empty
        self._entries: list[CacheEntry] = []  # The last one was used last.

    def __len__(self) -> int:
        """The number of texts that are remembered."""
        return len(self._entries)

    def start(self, tokens: Sequence[int]) -> Start:
        """The longest usable beginning of some ids; at least the last id is left to read."""
        best: tuple[int, CacheEntry] | None = None
        most_shared = 0
        for entry in self._entries:
            shared = min(_shared(entry.tokens, tokens), len(tokens) - 1)
            most_shared = max(most_shared, shared)
            # An entry can be cut to any length from its floor on.
            if shared >= entry.floor and (best is None or shared >= best[0]):
                best = (shared, entry)
        if best is None or best[0] == 0:
            note = ""
            if most_shared:
                reason = why_not_croppable(self._entries[-1].cache) or "an earlier crop"
                note = f"The cache cannot be cropped ({reason}): {len(tokens)} tokens read again."
            return Start(self._fresh(), 0, 0, note)
        length, entry = best
        self._entries.remove(entry)
        self._entries.append(entry)
        twin = fork(entry.cache)
        floor = entry.floor
        if drop := len(entry.tokens) - length:
            twin.crop(-drop)
            window = _window(twin)
            if window is not None and len(entry.tokens) >= window:
                floor = length
        note = ""
        if length < most_shared:
            note = (
                f"The cache cannot be cropped to {most_shared} tokens: "
                f"{len(tokens) - length} tokens read again."
            )
        return Start(twin, length, floor, note)

    def keep(self, tokens: Sequence[int], cache: Cache, floor: int) -> None:
        """Remember the key-values of a text.

        Args:
            cache: Their key-values; handed over.
        """
        path = tuple(tokens)
        if why_not_croppable(cache):
            floor = len(path)
        # What the new entry can be cropped to need not be kept beside it.
        self._entries = [
            entry
            for entry in self._entries
            if not (floor <= entry.floor and path[: len(entry.tokens)] == entry.tokens)
        ]
        self._entries.append(CacheEntry(path, cache, floor))
        del self._entries[:-ENTRIES]

    def _fresh(self) -> Cache:
        cache = self._empty()
        for layer in cache.layers:
            linear = isinstance(layer, LinearAttentionCacheLayerMixin)
            if isinstance(layer, DynamicSlidingWindowLayer) and not linear:
                layer.activate_past_recording()
        return cache


def _shared(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the longest common beginning."""
    for k, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return k
    return min(len(left), len(right))
