"""Numbers and samplers as users give them: converted where that is exact, refused where not.

numpy's integers are whole numbers; 2.5 and True are none. A value that is kept unchecked would
fail steps later, or make a saved trace that cannot be read back.
"""

from __future__ import annotations

from operator import index
from typing import cast

from explorer.decoding.sampler import Sampler
from explorer.errors import ExplorerError

LAST_SEED = 2**64 - 1


def whole_number(name: str, value: object, low: int = 0, high: int | None = None) -> int:
    """A whole number within its bounds, as an ``int``.

    Raises:
        ExplorerError: It is none, or out of bounds.

    Example:
        >>> import numpy as np
        >>> whole_number("seed", np.int64(3))
        3
    """
    bounds = f"from {low}" if high is None else f"from {low} to {high:,}"
    try:
        number = None if isinstance(value, bool) else index(cast("int", value))
    except TypeError:
        number = None
    if number is None or number < low or (high is not None and number > high):
        raise ExplorerError(
            f"{name} is {value!r}, not a whole number {bounds}.",
            remedy=f"Give {name} as a whole number {bounds}.",
            evidence={name: value},
        )
    return number


def checked_sampler(sampler: object) -> Sampler:
    """A sampler.

    Raises:
        ExplorerError: It is something else.
    """
    if not isinstance(sampler, Sampler):
        raise ExplorerError(
            f"{sampler!r} is no sampler.",
            remedy="Give one, such as Sampler(temperature=0.0) for greedy decoding.",
        )
    return sampler
