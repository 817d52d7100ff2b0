"""An answer that takes long: the work, its progress, and whether the page still waits.

A page that has waited for 0.3 s shows the work, its progress, and a button that cancels it. The
work reports its progress, which is sent at most a few times a second. Cancelled work raises an
error at its next report, or else drops its answer at the end.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from explorer.errors import ExplorerError

SECONDS: Final = 0.2
"""The least seconds between two reports that are sent."""

Packet = dict[str, object]


class CalledOff(ExplorerError):
    """The error that ends work whose result is no longer wanted."""

    def __init__(self, message: str) -> None:
        super().__init__(message, remedy="Ask again if you still want it.")


def _ignore(words: str) -> None:
    """Drop the words, because the page does not listen yet."""


class Progress:
    """The progress of one long answer, for the page that waits for it.

    Example:
        >>> progress = Progress()
        >>> progress.follow(print)
        >>> progress.at("1 of 2 positions")
        1 of 2 positions
        >>> progress.call_off()
        >>> progress.at("2 of 2 positions")
        Traceback (most recent call last):
            ...
        widgets.dialogue.later.CalledOff: It was called off. Ask again if you still want it.
    """

    def __init__(self) -> None:
        self._say: Callable[[str], None] = _ignore
        self._said_at = 0.0
        self._called_off = False

    def follow(self, say: Callable[[str], None]) -> None:
        """Send the progress from now on."""
        self._say = say

    def call_off(self) -> None:
        """Cancel the work, from any thread."""
        self._called_off = True

    def check(self) -> None:
        """Raise an error if the work was cancelled.

        Raises:
            CalledOff: The work was cancelled.
        """
        if self._called_off:
            raise CalledOff("It was called off.")

    def at(self, words: str) -> None:
        """Report the progress.

        Args:
            words: The progress in words, such as ``"120 of 201 positions"``.

        Raises:
            CalledOff: The work was cancelled.
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
        work: The work; called on a thread, without the cursor's lock. It returns a function that
            puts the result in place and may return an answer; that one is called inside the lock.
    """

    work: Callable[[], Callable[[], Packet | None]]
    progress: Progress = field(default_factory=Progress)

    @classmethod
    def of(cls, make: Callable[[], Packet], progress: Progress | None = None) -> Later:
        """An answer that is made without the lock and then only sent."""

        def work() -> Callable[[], Packet]:
            packet = make()
            return lambda: packet

        return cls(work, progress or Progress())


class Tasks:
    """The threads that make long answers; at exit all of them are cancelled and waited for.

    A thread that still runs while the interpreter is taken down may abort the process, because the
    libraries that it calls cannot be left in the middle.
    """

    def __init__(self) -> None:
        self._running: dict[threading.Thread, Progress] = {}
        self._closed = False
        atexit.register(self.close)

    def start(self, work: Callable[[], None], progress: Progress) -> None:
        """Run work on a thread; nothing is started after the end."""

        def run() -> None:
            try:
                work()
            finally:
                self._running.pop(thread, None)

        # A daemon, because the interpreter would otherwise wait for it before it calls `close`.
        thread = threading.Thread(target=run, daemon=True)
        if not self._closed:
            self._running[thread] = progress
            thread.start()

    def close(self) -> None:
        """Cancel everything, and wait until it has ended."""
        self._closed = True
        running = dict(self._running)
        for progress in running.values():
            progress.call_off()
        for thread in running:
            thread.join()


TASKS: Final = Tasks()
"""The long answers of this kernel."""
