"""The command line: compile, trace, why, lab and doctor.

A thin layer over the façade: it parses words, calls the engine and prints the result.
Results go to standard output, errors to standard error, and the exit status is 0, or 2 for unusable
input, with the engine's own message and remedy. Output is readable on a terminal that shows ASCII
only: characters that such a terminal cannot show are escaped, and so are control characters on any
terminal. An interrupt, and a reader that closes the output early (``| head``), end a command
silently; the exit status is then the one that a shell reports for a process ended by that signal.

Reading order: this file, which imports nothing slow; `commands`, the commands and the end of one,
which imports only the file of the given command; `command`, `options` and `answers` (errors and
machines as lines), which they share; then a file for each command: `compile`,
`trace`, `why` (`served`), `lab`, `doctor`.

Cost: that of the command. The first run after an installation also compiles the inner loops to
machine code, which takes some seconds once.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from explorer.cli.command import INTERRUPTED, UNREAD

__all__ = ["INTERRUPTED", "UNREAD", "main"]


def main(words: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        words: The command line without the program's name; default that of the process.

    Returns:
        The exit status: 0, or 2 if the input is not usable; ``why``, ``trace``
        and ``doctor`` also have 1. `INTERRUPTED` after Ctrl-C, `UNREAD` if
        the reader of the output has gone.
    """
    with _ended_by_an_interrupt():
        from explorer.cli.commands import command_line, run

        arguments = command_line(words)
    return run(arguments)


@contextmanager
def _ended_by_an_interrupt() -> Generator[None]:
    """End the process at Ctrl-C, at once and silently.

    It covers the second in which the engine is imported: an interrupted import raises
    arbitrary errors, and nothing has been done yet that could be left half done.
    """

    def end(*_: object) -> None:
        os._exit(INTERRUPTED)

    # A process that ignores the signal, or handles it itself, keeps its handler.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    try:
        signal.signal(signal.SIGINT, end)
    except ValueError:  # Not the main thread, which alone receives the signal.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
