"""The command line: demo, compile, trace, why, lab and doctor.

A thin layer over the façade: it parses words, calls the engine and prints what the engine says.
Results go to standard output, errors to standard error, and the exit status is 0, or 2 for input
that is not usable, with the engine's own message and remedy. Output is readable on a terminal that
knows ASCII only: what such a terminal cannot show is escaped. An interrupt, and a reader of the
output that has had enough (``| head``), end a command without a word; the exit status is then what
a shell reports of a process that the signal ended.

Cost: that of the compile. The first run after an installation also makes the machine code of the
inner loops, which takes some seconds once. It does not run a language model.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Final

import explorer
from explorer.cli import compile, demo, doctor, lab, trace, why
from explorer.cli.answers import UNUSABLE, JsonParser, Parser, as_json, tell
from explorer.errors import ExplorerError, file_error

INTERRUPTED: Final = 128 + 2
"""The exit status after Ctrl-C: that of a process that SIGINT ended."""

UNREAD: Final = 128 + 13
"""The exit status where nobody reads the output any more: that of one that SIGPIPE ended."""


def parser(
    kind: type[argparse.ArgumentParser] = Parser,
) -> argparse.ArgumentParser:
    """The commands and their options.

    Args:
        kind: How wrong words are told; default on standard error.
    """
    top = kind(
        prog="explorer",
        description="Constraints and tokenizers as automata, and the masks they make.",
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {explorer.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (demo, compile, trace, why, lab, doctor):
        command.add_parser(commands)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        words: The command line without the program's name; default that of the process.

    Returns:
        The exit status: 0, or 2 where the input is not usable; ``why`` and ``trace`` also have 1.
        `INTERRUPTED` after Ctrl-C, `UNREAD` where nobody reads the output any more.
    """
    given = sys.argv[1:] if words is None else words
    arguments = parser(JsonParser if as_json(given) else Parser).parse_args(given)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows its escape; it is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status: int | None = arguments.run(arguments)
        sys.stdout.flush()  # Here, where a reader that has gone is noticed in time.
    except KeyboardInterrupt:
        print(file=sys.stderr)  # The terminal has just shown ^C.
        return INTERRUPTED
    except BrokenPipeError:
        _write_nowhere()
        return UNREAD
    except (ExplorerError, OSError) as raised:
        error = file_error(raised) if isinstance(raised, OSError) else raised
        if getattr(arguments, "json", None) is True:  # `trace --json` names a file instead.
            tell(error, type(raised).__name__)
        else:
            print(f"explorer: {error}", file=sys.stderr)
        return UNUSABLE
    return status or 0


def _write_nowhere() -> None:
    """Send the rest of the output nowhere: Python would flush it at its end, and complain."""
    with contextlib.suppress(OSError, ValueError):  # A stream of a test has no file.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
