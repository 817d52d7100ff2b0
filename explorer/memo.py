"""Values that are remembered: results beside a value (`memo`), values in use (`Recent`), values
that fit (`Kept`), and values by number (`number_of`).

A vocabulary has one trie and a machine has one drawing, however often they are asked for. They do
not belong inside the value: it is immutable, is sent to other processes, and its own module knows
nothing of tries or drawings. So `memo` keeps a function's results beside the value and drops them
with it. `Recent` keeps values while somebody holds them, and `Kept` keeps recomputable values up to
a limit of memory.

A machine that numbers its states as it discovers them stores them twice: in a list by number, and
in a dictionary from state to number. Ctrl-C may come between the two updates. So the value is
appended first, and the dictionary decides: a list entry that is not in the dictionary was never
returned to a caller and is removed when the next value is numbered.

Compiled kernels number in arrays and tables of slots (`explorer.hashing`) and cannot make room
themselves; what they are given is sized here.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from functools import wraps
from threading import Lock, RLock
from typing import Concatenate, Final, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

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


T = TypeVar("T", bound=np.generic)


def number_of(value: K, values: list[K], numbers: dict[K, int]) -> int:
    """The number of a value; a new value gets the next number and is added to both containers.

    Args:
        values: The values by number.
        numbers: The number of each value.

    Example:
        >>> values, numbers = ["a"], {"a": 0}
        >>> number_of("b", values, numbers), number_of("a", values, numbers)
        (1, 0)
        >>> values.append("c")  # An interrupt came before its number was noted.
        >>> number_of("d", values, numbers), values
        (2, ['a', 'b', 'd'])
    """
    number = numbers.get(value)
    if number is None:
        number = len(numbers)
        del values[number:]
        values.append(value)
        numbers[value] = number
    return number


def slots_for(room: int) -> int:
    """A power of two that leaves a table of slots at most half full."""
    return 1 << (2 * room).bit_length()


def longer(array: NDArray[T], room: int, rest: int = 0) -> NDArray[T]:
    """A copy with a longer first axis.

    Args:
        rest: What stands in the new part.
    """
    more = np.full((room, *array.shape[1:]), rest, array.dtype)
    more[: len(array)] = array
    return more
