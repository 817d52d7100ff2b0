"""Repeats, interleaved: each round runs every task, in an order that turns.

A machine that slows down for a while then slows every engine down, and the median of the rounds
forgets it. Within a round a short task runs several times in a row and counts with its mean: a
compile of a third of a millisecond would otherwise mostly measure how its neighbour in the round
has emptied the processor's caches. The garbage collector runs between the tasks, not within them.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

ROUND_SECONDS: Final = 0.01


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
    return _rounds(
        {name: _in_a_row(task) for name, task in tasks.items()}, repeats=repeats, warm_up=warm_up
    )


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
    return _rounds(
        {name: _once(make, task) for name, (make, task) in tasks.items()},
        repeats=repeats,
        warm_up=warm_up,
    )


def _in_a_row(task: Callable[[], object]) -> Callable[[], float]:
    """Mean milliseconds of as many calls as fit into `ROUND_SECONDS`, one at least."""

    def run() -> float:
        calls = 0
        began = time.perf_counter()
        while True:
            task()
            calls += 1
            spent = time.perf_counter() - began
            if spent >= ROUND_SECONDS:
                return 1e3 * spent / calls

    return run


def _once(make: Callable[[], Any], task: Callable[[Any], object]) -> Callable[[], float]:
    """Milliseconds of one call, without what makes its input."""

    def run() -> float:
        value = make()
        began = time.perf_counter()
        result = task(value)
        spent = time.perf_counter() - began
        del result
        return 1e3 * spent

    return run


def _rounds(
    timers: Mapping[str, Callable[[], float]], *, repeats: int, warm_up: int
) -> dict[str, dict[str, float]]:
    names = list(timers)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(-warm_up, repeats):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            gc.collect()
            gc.disable()
            spent = timers[name]()
            gc.enable()
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
