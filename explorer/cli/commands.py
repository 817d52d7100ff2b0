"""The commands there are, and how one of them ends."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from typing import cast

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
from explorer.cli.compile import add_parser as add_compile
from explorer.cli.compile import add_profile
from explorer.cli.demo import add_parser as add_demo
from explorer.cli.doctor import add_parser as add_doctor
from explorer.cli.invasiveness import add_parser as add_invasiveness
from explorer.cli.lab import add_parser as add_lab
from explorer.cli.statuses import INTERRUPTED, UNREAD
from explorer.cli.sweep import add_report, add_sweep
from explorer.cli.trace import add_parser as add_trace
from explorer.cli.why import add_parser as add_why
from explorer.cli.witness import add_parser as add_witness
from explorer.errors import ExplorerError
from explorer.files import file_error
from explorer.jit import before_making_code


def parser(
    kind: type[argparse.ArgumentParser] = Parser,
) -> argparse.ArgumentParser:
    """The commands and their options.

    Args:
        kind: How a wrong command line is reported; default on standard error.
    """
    top = kind(
        prog="explorer",
        description="Constraints and tokenizers as automata, and the masks they make.",
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {explorer.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (
        add_demo, add_compile, add_profile, add_trace, add_why, add_invasiveness, add_witness,
        add_sweep, add_report, add_lab, add_doctor,
    ):  # fmt: skip
        add(commands)
    return top


def run(words: Sequence[str] | None = None) -> int:
    """Run one command; see `explorer.cli.main`.

    Args:
        words: The command line without the program's name; default that of the process.

    Returns:
        The exit status: 0, or 2 where the input is not usable; ``why``, ``trace``,
        ``invasiveness`` and ``witness`` also have 1.
        `INTERRUPTED` after Ctrl-C, `UNREAD` where nobody reads the output any more.
    """
    given = sys.argv[1:] if words is None else words
    arguments = parser(JsonParser if as_json(given) else Parser).parse_args(given)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows its escape; that is not a reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stderr.isatty():
        before_making_code(_announce)
    try:
        with text_only():
            status: int | None = arguments.run(arguments)
        sys.stdout.flush()  # Here, where a reader that has gone is noticed in time.
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


def _announce() -> None:
    print(
        "explorer: making machine code, once for this installation; it takes some seconds.",
        file=sys.stderr,
    )


def _nameless(error: OSError) -> ExplorerError:
    """An error of the system whose file did not say which it is: only the output has no name."""
    name = cast("str | None", error.filename)
    return file_error(error, name or "standard output", writing=name is None)


def _write_nowhere() -> None:
    """Send the rest of the output nowhere: Python would flush it at its end, and complain."""
    with contextlib.suppress(OSError, ValueError):  # A stream of a test has no file.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
