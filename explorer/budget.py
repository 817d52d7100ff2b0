"""Explicit limits for every construction, and the clock that watches them.

A subset construction may grow exponentially, a bounded repeat multiplies, and a C++ call that
runs away cannot be interrupted. So each construction takes a `Meter`, reports its sizes to it
*before* it allocates, and asks it for the time between chunks of work. The meter raises
`BudgetExceeded`; nothing is ever silently truncated.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from explorer.arguments import plain, shown, wrong
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.jit import seconds_making_code


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for one compilation.

    Args:
        states: Most states of any one machine on the way.
        arcs: Most arcs of any one machine, counted as byte intervals or (state, class) cells.
        bytes: Most memory that one construction may hold at a time, in bytes.
        seconds: Most wall-clock time from start to end, in seconds.

    Raises:
        ExplorerError: A limit is not positive.

    Example:
        >>> Budget(seconds=2.0).seconds
        2.0
    """

    states: int = 1_000_000
    arcs: int = 200_000_000
    bytes: int = 2_000_000_000
    seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("states", "arcs", "bytes", "seconds"):
            limit: object = plain(getattr(self, name))
            if not isinstance(limit, int | float) or isinstance(limit, bool) or not limit > 0:
                raise ExplorerError(
                    f"Budget({name}={shown(limit)}) allows nothing.",
                    remedy="Give a positive number.",
                )
            object.__setattr__(self, name, limit)


class Meter:
    """A running budget: what is spent is compared with what is allowed.

    Args:
        budget: The limits; default `Budget()`.
    """

    __slots__ = ("_code", "budget", "started")

    def __init__(self, budget: Budget | None = None) -> None:
        if budget is not None and not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong("budget", budget, "a Budget", remedy="Give Budget(seconds=...), or None.")
        self.budget = budget or Budget()
        self.started = time.perf_counter()
        self._code = seconds_making_code()

    def with_share(self, share: float) -> Meter:
        """A meter on the same clock that may use a share of the seconds that are left.

        Args:
            share: From 0 to 1.
        """
        spent = self.seconds()
        limit = spent + share * max(0.0, self.budget.seconds - spent)
        part = Meter(self.budget if share == 1 else replace(self.budget, seconds=limit))
        part.started = self.started
        part._code = self._code
        return part

    def with_sizes(self, sizes: Budget) -> Meter:
        """A meter on the same clock and with the same seconds, for other sizes.

        Args:
            sizes: The limits on states, arcs and bytes.
        """
        part = Meter(replace(sizes, seconds=self.budget.seconds))
        part.started = self.started
        part._code = self._code
        return part

    def seconds(self) -> float:
        """Wall-clock seconds since the meter was made, without those for making machine code."""
        return time.perf_counter() - self.started - (seconds_making_code() - self._code)

    def check_time(self, stage: str, ahead: float = 0.0) -> None:
        """Raise `BudgetExceeded` if the time is up, or will be.

        Args:
            stage: What is being built.
            ahead: Seconds that the next piece of work takes and during which nobody can look.
        """
        if (spent := self.seconds() + ahead) > self.budget.seconds:
            raise BudgetExceeded(
                "seconds", limit=self.budget.seconds, reached=spent, stage=stage, ahead=ahead > 0
            )

    def check(
        self, stage: str, *, states: int = 0, arcs: int = 0, bytes: int = 0, ahead: float = 0.0
    ) -> None:
        """Raise `BudgetExceeded` if a size, or the time, is past its limit.

        Args:
            stage: What is being built, as the subject of a sentence ("Determinization").
            states, arcs, bytes: The sizes reached, or about to be reached.
            ahead: Seconds that the next piece of work takes and during which nobody can look.
        """
        budget = self.budget
        if states > budget.states:
            raise BudgetExceeded("states", limit=budget.states, reached=states, stage=stage)
        if arcs > budget.arcs:
            raise BudgetExceeded("arcs", limit=budget.arcs, reached=arcs, stage=stage)
        if bytes > budget.bytes:
            raise BudgetExceeded("bytes", limit=budget.bytes, reached=bytes, stage=stage)
        self.check_time(stage, ahead)
