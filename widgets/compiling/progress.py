"""How far a long answer is, and whether anyone still waits for it.

A page that has waited for 0.3 s shows what is being done, how far it is, and a way to call it off.
What works counts aloud; a count is sent a few times a second, however often it is said. To be
called off is to raise at the next count, or else to keep the answer to oneself at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from widgets.compiling.worker import CalledOff

SECONDS: Final = 0.2
"""Between two counts that are sent."""


def _nobody(words: str) -> None:
    """Who hears nothing."""


class Progress:
    """Between one answer that takes long and the page that waits for it.

    Example:
        >>> progress = Progress()
        >>> progress.follow(print)
        >>> progress.at("1 of 2 positions")
        1 of 2 positions
        >>> progress.call_off()
        >>> progress.at("2 of 2 positions")
        Traceback (most recent call last):
            ...
        widgets.compiling.worker.CalledOff: It was called off.
    """

    def __init__(self) -> None:
        self._say: Callable[[str], None] = _nobody
        self._said_at = 0.0
        self._called_off = False

    def follow(self, say: Callable[[str], None]) -> None:
        """Have the counts sent.

        Args:
            say: Takes how far it is, in words.
        """
        self._say = say

    def call_off(self) -> None:
        """Nobody waits any more; from any thread."""
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
