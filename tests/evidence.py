"""The examples of a property, few in each run and many in ``make test-long``; and counted work.

`EXPLORER_LONG_EXAMPLES` is the number of a long run for a property that asks for nothing else. One
whose examples are cheap or dear asks for its own number, and gets as many times more in a long run.

Work is counted in calls, which do not depend on how busy the machine is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any, Final

import pytest

LONG: Final = int(os.environ.get("EXPLORER_LONG_EXAMPLES") or 0)
"""Examples of a property in a long run; 0 in a short one."""

SHORT: Final = 40
"""Examples of a property in a short run. The mutants of the oracles are found with as many."""


def examples(number: int) -> int:
    """The examples of a property in this run.

    Args:
        number: The examples of a short run.
    """
    return max(1, number * LONG // SHORT) if LONG else number


def few(values: Collection[Any], count: int) -> list[Any]:
    """The values of a parameter: some of them in each run, and the others in a long one.

    Args:
        values: All of them; a tuple stands for several parameters.
        count: The number of those in each run, which are spread over all.
    """
    kept = {k * len(values) // count for k in range(count)}
    rows = (value if isinstance(value, tuple) else (value,) for value in values)
    return [
        pytest.param(*row) if k in kept else pytest.param(*row, marks=pytest.mark.long)
        for k, row in enumerate(rows)
    ]


def calls_of(work: Callable[[], object], *functions: Callable[..., Any]) -> int:
    """The number of calls of Python functions while something is done.

    Args:
        work: Does it.
        functions: The functions that count; by default all.
    """
    counted = {function.__code__ for function in functions}
    count = 0

    def see(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call" and (not counted or frame.f_code in counted)

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
