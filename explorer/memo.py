"""A memo: results about a value, kept for as long as the value lives.

A vocabulary has one trie and a machine has one drawing, however often they are asked for. They do
not belong into the value itself: it is immutable, travels to other processes, and its own module
knows nothing of tries or drawings. So a function remembers its answers beside the value, and
forgets them with it (`memo`). What is worth keeping while somebody holds it is `Recent`, and what
takes memory and can be worked out again is `Kept`.
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
    """Remember a function's answers as long as their first argument lives.

    Values that are equal share an answer. Two threads that ask at the same time may both work, and
    both get what the first of them put down. An exception is not remembered.

    Args:
        function: A function of a value that can be referred to weakly, and of more arguments that
            can be hashed. Its result must not refer to the first argument, or that lives forever.

    Returns:
        A function of the same arguments.

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
    """Values by key, as long as somebody holds them, and the last few in any case; thread-safe.

    Args:
        most: How many are held here.

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
        """The value of a key, made now if nobody holds it any more."""
        with self._lock:
            value = self._values.get(key)
            if value is None:
                value = self._values[key] = make()
            if not any(value is held for held in self._held):
                self._held.append(value)
            return value


MOST_BYTES: Final = 64_000_000
"""The bytes that a machine keeps of what it can work out again."""


class Kept(Generic[H, W]):
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
        """Keep a value that takes so many bytes."""
        with self._lock:
            if key in self._values:
                self._bytes -= self._values.pop(key)[1]
            self._values[key] = (value, num_bytes)
            self._bytes += num_bytes
            while self._bytes > self._most_bytes and len(self._values) > 1:
                self._bytes -= self._values.popitem(last=False)[1][1]
