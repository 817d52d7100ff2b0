"""Explicit limits for every construction, and the clock that watches them.

A subset construction may grow exponentially, a bounded repeat multiplies its states, and a long C++
call cannot be interrupted. So each construction takes a `Meter`, reports its sizes to it *before*
it allocates, and checks the time between chunks of work. The meter raises `BudgetExceeded`; nothing
is ever silently truncated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final

from explorer.arguments import plain, shown, wrong
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.jit import making_code


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for one compilation.

    Args:
        states: The most states of any intermediate machine.
        arcs: The most arcs of any one machine, counted as byte intervals or (state, class) cells.
        bytes: The most memory that one construction may hold at a time, in bytes.
        seconds: The most wall-clock time of the whole compilation, in seconds.

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
            limit: object = getattr(self, name)
            if type(limit) not in (int, float):
                limit = plain(limit)
                object.__setattr__(self, name, limit)
            if not isinstance(limit, int | float) or isinstance(limit, bool) or not limit > 0:
                raise ExplorerError(
                    f"Budget({name}={shown(limit)}) allows nothing.",
                    remedy="Give a positive number.",
                )


_DEFAULT: Final = Budget()


class Meter:
    """A running clock and a budget, against which constructions check their sizes.

    Args:
        budget: The limits; by default `Budget()`.
    """

    __slots__ = ("_zero", "budget")

    def __init__(self, budget: Budget | None = None) -> None:
        if budget is not None and not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong("budget", budget, "a Budget", remedy="Give Budget(seconds=...), or None.")
        self.budget = budget or _DEFAULT
        self._zero = perf_counter() - making_code.seconds

    def _on_this_clock(self, budget: Budget) -> Meter:
        part = Meter(budget)
        part._zero = self._zero
        return part

    def with_share(self, share: float) -> Meter:
        """A meter on the same clock, limited to a share (0 to 1) of the remaining seconds."""
        if share == 1:
            return self._on_this_clock(self.budget)
        spent = self.seconds()
        limit = spent + share * max(0.0, self.budget.seconds - spent)
        return self._on_this_clock(replace(self.budget, seconds=limit))

    def with_sizes(self, sizes: Budget) -> Meter:
        """A meter on the same clock with the same seconds and other limits of size."""
        return self._on_this_clock(replace(sizes, seconds=self.budget.seconds))

    def seconds(self) -> float:
        """The wall-clock seconds since the meter was made, without the making of machine code."""
        return perf_counter() - making_code.seconds - self._zero

    def check_time(self, stage: str, ahead: float = 0.0) -> None:
        """Raise `BudgetExceeded` if the time is up, or will be after the next piece of work.

        Args:
            ahead: The estimated seconds of the next piece of work, which cannot be interrupted.
        """
        spent = perf_counter() - making_code.seconds - self._zero + ahead  # As `seconds`.
        if spent > self.budget.seconds:
            raise BudgetExceeded(
                "seconds", limit=self.budget.seconds, reached=spent, stage=stage, ahead=ahead > 0
            )

    def check(
        self, stage: str, *, states: int = 0, arcs: int = 0, bytes: int = 0, ahead: float = 0.0
    ) -> None:
        """Raise `BudgetExceeded` if a size, or the time, is past its limit.

        Args:
            stage: The construction, as the subject of a sentence ("Determinization").
            ahead: The estimated seconds of the next piece of work, which cannot be interrupted.
        """
        budget = self.budget
        if states > budget.states:
            raise BudgetExceeded("states", limit=budget.states, reached=states, stage=stage)
        if arcs > budget.arcs:
            raise BudgetExceeded("arcs", limit=budget.arcs, reached=arcs, stage=stage)
        if bytes > budget.bytes:
            raise BudgetExceeded("bytes", limit=budget.bytes, reached=bytes, stage=stage)
        self.check_time(stage, ahead)
