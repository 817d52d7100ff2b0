"""Numbers values in the order of their first occurrence, safely even if interrupted.

A machine that numbers its states as it discovers them stores them twice: in a list by number, and
in a dictionary from state to number. Ctrl-C may come between the two updates. So the value is
appended first, and the dictionary decides: a list entry that is not in the dictionary was never
returned to a caller and is removed when the next value is numbered.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


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
