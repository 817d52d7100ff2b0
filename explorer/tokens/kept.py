"""A bounded cache of values that can be worked out again; the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST_BYTES: Final = 64_000_000
"""The bytes that a machine keeps of what it can work out again."""


class Kept(Generic[K, V]):
    """A bounded cache of values, thread-safe; the least recently used value goes first.

    Args:
        most_bytes: How many bytes the values may take together. One is always kept.

    Example:
        >>> kept = Kept[str, bytes](most_bytes=4)
        >>> for name in ("a", "b", "c"):
        ...     kept.put(name, b"xx", 2)
        >>> kept.get("a"), kept.get("c")
        (None, b'xx')
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        """The value, if it is still kept."""
        with self._lock:
            entry = self._values.get(key)
            if entry is None:
                return None
            self._values.move_to_end(key)
            return entry[0]

    def put(self, key: K, value: V, num_bytes: int) -> None:
        """Keep a value that takes so many bytes."""
        with self._lock:
            if key in self._values:
                self._bytes -= self._values.pop(key)[1]
            self._values[key] = (value, num_bytes)
            self._bytes += num_bytes
            while self._bytes > self._most_bytes and len(self._values) > 1:
                self._bytes -= self._values.popitem(last=False)[1][1]
