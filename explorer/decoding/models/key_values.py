"""A store of a transformer's key-value caches, looked up by token ids.

A transformer that has already read most of some ids should only read the rest. This store keeps a
few caches, each with the ids that it was made from. For new ids it takes the cache that shares the
longest prefix, copies it, crops it to the shared part and returns it; stored caches are never
changed.

A layer that grows by concatenation is copied shallowly, because concatenation makes new tensors: a
fork costs microseconds and shares memory. Other layers (linear attention updates in place) are
copied deeply. `crop(-n)` of transformers 5 drops the last n tokens, while version 4 took the length
to keep. Three kinds of layer differ:

- Full attention can be cropped to any length.
- A sliding window discards old keys, and then `crop` raises. They are kept if *recording* is
  switched on before the first token. But `crop` itself then trims the layer to its window, and a
  second, deeper crop would lack keys. So an entry remembers its ``floor``, the shortest length to
  which it can still be cropped.
- Linear attention holds a sum that cannot be undone, so its entry serves only longer texts.
  Several entries are kept, so that a step or two back is usually still cached.

A static cache is never used, because its tensors are written in place, which a fork would see.

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
"""The number of caches that are kept."""

_GROW_BY_CONCATENATION: Final = (DynamicLayer, DynamicSlidingWindowLayer)


@dataclass(frozen=True, eq=False)
class CacheEntry:
    """The stored cache of a text.

    Args:
        cache: The key-values of ``tokens``; must not be changed.
        floor: The shortest length to which ``cache`` can be cropped.
    """

    tokens: tuple[int, ...]
    cache: Cache
    floor: int


@dataclass(frozen=True, eq=False)
class Start:
    """A cache from which a model can continue reading, with the number of tokens in it.

    Args:
        note: The reason why it is shorter than the prefix shared with an earlier text; else empty.
    """

    cache: Cache
    length: int
    floor: int
    note: str = ""


def fork(cache: Cache) -> Cache:
    """A copy that can be extended and cropped without changing the original."""
    twin = copy.copy(cache)
    twin.layers = [
        copy.copy(layer) if type(layer) in _GROW_BY_CONCATENATION else copy.deepcopy(layer)
        for layer in cache.layers
    ]
    return twin


def why_not_croppable(cache: Cache) -> str:
    """The reason why a cache cannot be cropped, as a noun phrase; empty if it can."""
    for layer in cache.layers:
        # A convolution without a recurrent state claims to be croppable, but then its first tokens
        # are not padded, which changes the model's results.
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
    """The store of caches.

    Not thread-safe: its owner holds a lock.
    """

    def __init__(self, empty: Callable[[], Cache]) -> None:
        self._empty = empty
        self._entries: list[CacheEntry] = []  # The least recently used first.

    def __len__(self) -> int:
        """The number of stored caches."""
        return len(self._entries)

    def start(self, tokens: Sequence[int]) -> Start:
        """The longest cached prefix of some ids; at least the last id is left to read."""
        best: tuple[int, CacheEntry] | None = None
        most_shared = 0
        for entry in self._entries:
            shared = min(_shared(entry.tokens, tokens), len(tokens) - 1)
            most_shared = max(most_shared, shared)
            # An entry can be cropped to any length from its floor on.
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
        """Store the cache of a text.

        Args:
            cache: The key-values of ``tokens``, owned by the store from now on.
        """
        path = tuple(tokens)
        if why_not_croppable(cache):
            floor = len(path)
        # Entries to which the new one can be cropped are redundant.
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
    """The length of the longest common prefix."""
    for k, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return k
    return min(len(left), len(right))
