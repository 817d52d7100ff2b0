"""The progress of a sweep: figures at a moment, and a bar for a terminal or a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TextIO

from explorer.arguments import flag, wrong

WIDTH: Final = 24
EVERY: Final = 0.2
"""How many seconds apart the bar is drawn at least."""


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Args:
        done: Rows that are there, those of earlier runs included.
        total: Rows that were asked for.
        failed: Rows of this run that are failures.
        rate: Rows a second in this run.

    Example:
        >>> print(SweepProgress(6, 24, 1, 2.0))
        ██████                    6 of 24 rows, 2.0 a second, 9 s left, 1 failed
    """

    done: int
    total: int
    failed: int
    rate: float

    @property
    def left(self) -> float:
        """Seconds until the end, if it goes on like this; infinite where nothing is known yet."""
        return (self.total - self.done) / self.rate if self.rate else float("inf")

    def __str__(self) -> str:
        bar = "█" * (WIDTH * self.done // max(1, self.total))
        parts = [f"{bar:<{WIDTH}}  {self.done:,} of {self.total:,} rows"]
        if self.rate:
            parts.append(f"{self.rate:,.1f} a second")
        if self.rate and self.done < self.total:
            parts.append(f"{duration(self.left)} left")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        return ", ".join(parts)


def duration(seconds: float) -> str:
    """A time as a reader sees it.

    Example:
        >>> duration(42.4), duration(62), duration(90_061), duration(10**6)
        ('42 s', '1 min 02 s', '25 h 01 min', '12 days')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{round(hours / 24):,} days"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


Listener = Callable[[SweepProgress], object]


class SweepBar:
    """A line that is written over itself.

    Args:
        stream: Where to; default standard error.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._drawn = 0.0
        self._length = 0

    def __call__(self, progress: SweepProgress) -> None:
        """Draw the bar, unless it was drawn a moment ago."""
        now = time.monotonic()
        if now - self._drawn < EVERY and progress.done < progress.total:
            return
        self._drawn = now
        line = str(progress)
        self._stream.write(f"\r{line:<{self._length}}")
        self._stream.flush()
        self._length = len(line)

    def close(self) -> None:
        """End the line, if one was drawn."""
        if self._length:
            self._stream.write("\n")
            self._stream.flush()


def checked_progress(progress: object) -> SweepBar | Listener | None:
    """The listener to the progress: a bar for ``True``, nothing for ``False``, or a function.

    Raises:
        ExplorerError: It is something else.
    """
    if isinstance(progress, bool):
        return SweepBar() if flag("progress", progress) else None
    if not callable(progress):
        raise wrong("progress", progress, "True, False, or a function of a SweepProgress")
    return progress
