"""The registration of a command, and the exit statuses of interrupted ones.

Only quick imports belong here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import argparse

INTERRUPTED: Final = 128 + 2
"""The exit status after Ctrl-C: that of a process that SIGINT ended."""

UNREAD: Final = 128 + 13
"""The exit status where the reader of the output has gone: that of a process ended by SIGPIPE."""

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # pyright: ignore[reportPrivateUsage] - argparse has no public name for it.
"""The return type of `ArgumentParser.add_subparsers`."""


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int | None],
    summary: str,
    description: str | None = None,
) -> argparse.ArgumentParser:
    """Register a new command without options.

    Args:
        name: The word after ``explorer``.
        run: The function of the command; it returns the exit status, ``None`` for 0.
        description: The text above the command's own options; default the summary.
    """
    command = commands.add_parser(name, help=summary, description=description or summary)
    command.set_defaults(run=run)
    return command


def add_json(command: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    command.add_argument("--json", action="store_true", help="print one JSON object")
