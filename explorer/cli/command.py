"""A command: how it is added, and the exit status of one that did not come to its own end.

Only quick imports stand here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import argparse

INTERRUPTED: Final = 128 + 2
"""The exit status after Ctrl-C: that of a process that SIGINT ended."""

UNREAD: Final = 128 + 13
"""The exit status where nobody reads the output any more: that of one that SIGPIPE ended."""

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # pyright: ignore[reportPrivateUsage] - argparse has no public name for it.
"""The return type of `ArgumentParser.add_subparsers`."""


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int | None],
    summary: str,
    description: str | None = None,
) -> argparse.ArgumentParser:
    """A new command without options.

    Args:
        name: What one writes after ``explorer``.
        run: The function of the command; it returns the exit status, ``None`` for 0.
        description: What stands above the command's own options; default the summary.
    """
    command = commands.add_parser(name, help=summary, description=description or summary)
    command.set_defaults(run=run)
    return command
