"""Numbers values in the order of their first occurrence, safely even if interrupted.

A machine that numbers its states as it discovers them stores them twice: in a list by number, and
in a dictionary from state to number. Ctrl-C may come between the two updates. So the value is
appended first, and the dictionary decides: a list entry that is not in the dictionary was never
returned to a caller and is removed when the next value is numbered.

Compiled kernels number in arrays and tables of slots (`explorer.hashing`) and cannot make room
themselves; what they are given is sized here.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

K = TypeVar("K", bound=Hashable)
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
