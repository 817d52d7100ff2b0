"""Numbers for values in the order in which they are met, also where that is interrupted.

A machine that numbers its states as it meets them holds them twice: as a list, by number, and as a
dictionary from each to its number. Ctrl-C may come between the two. So the value is appended first,
and the dictionary decides: an entry of the list that it does not know was never told to anybody,
and goes when the next value is met.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def number_of(value: K, values: list[K], numbers: dict[K, int]) -> int:
    """The number of a value, given now if it is met for the first time.

    Args:
        values: The values by number; may get a new one.
        numbers: The number of each value; may get a new one.

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
