"""Caches: results that live as long as a value (`memo`), are in use (`Recent`), or fit (`Kept`).

A vocabulary has one trie and a machine has one drawing, however often they are asked for. They do
not belong inside the value: it is immutable, is sent to other processes, and its own module knows
nothing of tries or drawings. So `memo` keeps a function's results beside the value and drops them
with it. `Recent` keeps values while somebody holds them, and `Kept` keeps recomputable values up to
a limit of memory.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from functools import wraps
from threading import Lock, RLock
from typing import Concatenate, Final, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

K = TypeVar("K", bound=Hashable)
P = ParamSpec("P")
V = TypeVar("V")


def memo(function: Callable[Concatenate[K, P], V]) -> Callable[Concatenate[K, P], V]:
    """Cache a function's results for as long as the first argument lives.

    Equal values share a result. Two concurrent threads may both compute it; both get the one that
    was stored first. An exception is not cached.

    Args:
        function: A function of a weakly referable value and further hashable arguments. Its result
            must not refer to the first argument, or that would live forever.

    Example:
        >>> class Text(str):
        ...     pass
        >>> @memo
        ... def length(text: Text) -> int:
        ...     print("counting")
        ...     return len(text)
        >>> text = Text("abc")
        >>> length(text), length(text)
        counting
        (3, 3)
    """
    answers: WeakKeyDictionary[K, dict[Hashable, V]] = WeakKeyDictionary()

    @wraps(function)
    def remembered(value: K, *args: P.args, **kwargs: P.kwargs) -> V:
        known = answers.get(value)
        if known is None:
            known = answers.setdefault(value, {})
        asked = (args, tuple(sorted(kwargs.items())))
        if asked not in known:
            answer = function(value, *args, **kwargs)
            return known.setdefault(asked, answer)
        return known[asked]

    return remembered


H = TypeVar("H", bound=Hashable)
W = TypeVar("W")


class Recent(Generic[H, W]):
    """A thread-safe cache of values that are held elsewhere, and of the last few in any case.

    Args:
        most: The number of values that the cache itself holds.

    Example:
        >>> class Answer:
        ...     pass
        >>> answers = Recent[str, Answer]()
        >>> answers.get("a", Answer) is answers.get("a", Answer)
        True
    """

    def __init__(self, most: int = 2) -> None:
        self._values: WeakValueDictionary[H, W] = WeakValueDictionary()
        self._held: deque[W] = deque(maxlen=most)
        self._lock = RLock()

    def get(self, key: H, make: Callable[[], W]) -> W:
        """The value of a key; it is made anew if the cache has dropped it."""
        with self._lock:
            value = self._values.get(key)
            if value is None:
                value = self._values[key] = make()
            if not any(value is held for held in self._held):
                self._held.append(value)
            return value


MOST_BYTES: Final = 64_000_000
"""The default limit of bytes for recomputable values."""


class Kept(Generic[H, W]):
    """A thread-safe cache with a limit of bytes; the least recently used value is dropped first.

    Args:
        most_bytes: The most bytes of all values together. One value is always kept.

    Example:
        >>> kept = Kept[str, bytes](most_bytes=4)
        >>> for name in ("a", "b", "c"):
        ...     kept.put(name, b"xx", 2)
        >>> kept.get("a"), kept.get("c")
        (None, b'xx')
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._values: OrderedDict[H, tuple[W, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, key: H) -> W | None:
        """The value, if it is still kept."""
        with self._lock:
            entry = self._values.get(key)
            if entry is None:
                return None
            self._values.move_to_end(key)
            return entry[0]

    def put(self, key: H, value: W, num_bytes: int) -> None:
        """Keep a value of the given size."""
        with self._lock:
            if key in self._values:
                self._bytes -= self._values.pop(key)[1]
            self._values[key] = (value, num_bytes)
            self._bytes += num_bytes
            while self._bytes > self._most_bytes and len(self._values) > 1:
                self._bytes -= self._values.popitem(last=False)[1][1]
