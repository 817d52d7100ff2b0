"""The registry of commands, and the run of one of them."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final, cast

import explorer
from explorer.cli.answers import (
    UNUSABLE,
    JsonParser,
    Parser,
    as_json,
    as_options,
    tell,
    text_only,
    without_controls,
)  # fmt: skip
from explorer.cli.command import INTERRUPTED, UNREAD
from explorer.errors import ExplorerError
from explorer.files import file_error

COMMANDS: Final = {
    "compile": ("compile", "add_parser"),
    "trace": ("trace", "add_parser"),
    "why": ("why", "add_parser"),
    "lab": ("lab", "add_parser"),
    "doctor": ("doctor", "add_parser"),
}
"""The file of each command, and the function that adds it."""


def parser(
    kind: type[argparse.ArgumentParser] = Parser, asked: str = ""
) -> argparse.ArgumentParser:
    """The parser of the commands and their options.

    Args:
        kind: The class of the parser, which decides how a wrong command line is reported.
        asked: The given command; if it is one of `COMMANDS`, only its file is imported.
    """
    top = kind(
        prog="explorer",
        description="Constraints and tokenizers as automata, and the masks they make.",
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {explorer.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in (asked,) if asked in COMMANDS else COMMANDS:
        file, add = COMMANDS[name]
        getattr(import_module(f"explorer.cli.{file}"), add)(commands)
    return top


def command_line(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The parsed command line, with the function of the command as ``run``.

    Args:
        words: The command line without the program's name; default that of the process.

    Raises:
        SystemExit: The command line is wrong, or asks for help.
    """
    given = sys.argv[1:] if words is None else words
    kind = JsonParser if as_json(given) else Parser
    return parser(kind, given[0] if given else "").parse_args(given)


def run(arguments: argparse.Namespace) -> int:
    """Run one command.

    Returns:
        The exit status: 0, or 2 if the input is not usable; ``why``, ``trace``
        and ``doctor`` also have 1. `INTERRUPTED` after Ctrl-C, `UNREAD` if
        the reader of the output has gone.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows its escape, rather than an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with text_only():
            status: int | None = arguments.run(arguments)
        sys.stdout.flush()  # Here, so that a closed output is noticed in time.
    except KeyboardInterrupt:
        print(file=sys.stderr)  # The terminal has just shown ^C.
        return INTERRUPTED
    except BrokenPipeError:
        _write_nowhere()
        return UNREAD
    except (ExplorerError, OSError) as raised:
        error = raised if isinstance(raised, ExplorerError) else _nameless(raised)
        if getattr(arguments, "json", None) is True:  # `trace --json` names a file instead.
            tell(error, type(raised).__name__)
        else:
            print(f"explorer: {without_controls(as_options(str(error)))}", file=sys.stderr)
        return UNUSABLE
    return status or 0


def _nameless(error: OSError) -> ExplorerError:
    """A system error without a file name as one of standard output, which alone has none."""
    name = cast("str | None", error.filename)
    return file_error(error, name or "standard output", writing=name is None)


def _write_nowhere() -> None:
    """Discard the rest of the output, because Python would flush it at exit and complain."""
    with contextlib.suppress(OSError, ValueError):  # A stream of a test has no file.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
