"""Repeats, interleaved: each round runs every task once, in an order that turns.

A machine that slows down for a while then slows every engine down, and the median of the rounds
forgets it. The garbage collector runs between the calls, not within them.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any


def interleaved(
    tasks: Mapping[str, Callable[[], object]], *, repeats: int, warm_up: int = 1
) -> dict[str, dict[str, float]]:
    """Time tasks side by side.

    Args:
        tasks: Name → what to time, without arguments.
        repeats: Rounds that count.
        warm_up: Rounds before those.

    Returns:
        For each name: ``median``, ``fastest`` and ``slowest``, in milliseconds, and ``repeats``.
    """
    return prepared({name: (lambda: None, _ignoring(task)) for name, task in tasks.items()},
                    repeats=repeats, warm_up=warm_up)  # fmt: skip


def _ignoring(task: Callable[[], object]) -> Callable[[Any], object]:
    return lambda _: task()


def prepared(
    tasks: Mapping[str, tuple[Callable[[], Any], Callable[[Any], object]]],
    *,
    repeats: int,
    warm_up: int = 1,
) -> dict[str, dict[str, float]]:
    """As `interleaved`, for tasks of two parts of which only the second is timed.

    Args:
        tasks: Name → (what makes the input, what is timed with it).
        repeats: Rounds that count.
        warm_up: Rounds before those.
    """
    names = list(tasks)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(-warm_up, repeats):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            make, task = tasks[name]
            value = make()
            gc.collect()
            gc.disable()
            began = time.perf_counter()
            result = task(value)
            spent = 1e3 * (time.perf_counter() - began)
            gc.enable()
            del result, value
            if turn >= 0:
                times[name].append(spent)
    return {
        name: {
            "median": round(statistics.median(spent), 4),
            "fastest": round(min(spent), 4),
            "slowest": round(max(spent), 4),
            "repeats": repeats,
        }
        for name, spent in times.items()
    }
