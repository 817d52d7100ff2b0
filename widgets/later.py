"""An answer that takes long: what works it out, how far it is, and whether anyone still waits.

A page that has waited for 0.3 s shows what is being done, how far it is, and a way to call it off.
What works counts aloud; a count is sent a few times a second, however often it is said. To be
called off is to raise at the next count, or else to keep the answer to oneself at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from explorer.errors import ExplorerError

SECONDS: Final = 0.2
"""Between two counts that are sent."""

Packet = dict[str, object]


class CalledOff(ExplorerError):
    """Work whose result nobody wants any more."""


def _ignore(words: str) -> None:
    """Drop the words: nobody follows yet."""


class Progress:
    """How far one long answer is, told to the page that waits for it.

    Example:
        >>> progress = Progress()
        >>> progress.follow(print)
        >>> progress.at("1 of 2 positions")
        1 of 2 positions
        >>> progress.call_off()
        >>> progress.at("2 of 2 positions")
        Traceback (most recent call last):
            ...
        widgets.later.CalledOff: It was called off.
    """

    def __init__(self) -> None:
        self._say: Callable[[str], None] = _ignore
        self._said_at = 0.0
        self._called_off = False

    def follow(self, say: Callable[[str], None]) -> None:
        """Have the counts sent.

        Args:
            say: Takes how far it is, in words.
        """
        self._say = say

    def call_off(self) -> None:
        """Say, from any thread, that nobody waits any more."""
        self._called_off = True

    def check(self) -> None:
        """Go on only if someone waits.

        Raises:
            CalledOff: Nobody does.
        """
        if self._called_off:
            raise CalledOff("It was called off.")

    def at(self, words: str) -> None:
        """Say how far it is.

        Args:
            words: Such as ``"120 of 201 positions"``.

        Raises:
            CalledOff: Nobody waits any more.
        """
        self.check()
        now = time.monotonic()
        if now - self._said_at >= SECONDS:
            self._said_at = now
            self._say(words)


@dataclass(frozen=True, slots=True)
class Later:
    """An answer that takes long.

    Args:
        work: What takes long; called on a thread, without the cursor's lock. Returns what puts
            the result in place, to be called inside the lock; it may have something to say.
        progress: Where it says how far it is, and learns that nobody waits any more.
    """

    work: Callable[[], Callable[[], Packet | None]]
    progress: Progress = field(default_factory=Progress)

    @classmethod
    def of(cls, make: Callable[[], Packet], progress: Progress | None = None) -> Later:
        """An answer that is made without the lock, and then only said.

        Args:
            make: Makes it, on a thread.
            progress: As above.
        """

        def work() -> Callable[[], Packet]:
            packet = make()
            return lambda: packet

        return cls(work, progress or Progress())
