"""What was worked out about a value, kept for as long as the value lives.

A vocabulary has one trie and a machine has one drawing, however often they are asked for. They do
not belong into the value itself: it is immutable, travels to other processes, and its own module
knows nothing of tries or drawings. So a function remembers its answers beside the value, and
forgets them with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

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
