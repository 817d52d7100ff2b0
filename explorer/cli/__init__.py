"""The command line: demo, compile, trace, why, lab and doctor.

A thin layer over the façade: it parses words, calls the engine and prints what the engine says.
Results go to standard output, errors to standard error, and the exit status is 0, or 2 for input
that is not usable, with the engine's own message and remedy. Output is readable on a terminal that
knows ASCII only: what such a terminal cannot show is escaped.

Cost: that of the compile. The first run after an installation also makes the machine code of the
inner loops, which takes some seconds once. It does not run a language model.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

import explorer
from explorer.cli import compile, demo, doctor, lab, trace, why
from explorer.cli.answers import UNUSABLE, JsonParser, Parser, as_json, tell
from explorer.errors import ExplorerError, file_error


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
    """
    given = sys.argv[1:] if words is None else words
    arguments = parser(JsonParser if as_json(given) else Parser).parse_args(given)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows its escape; it is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status: int | None = arguments.run(arguments)
    except (ExplorerError, OSError) as raised:
        error = file_error(raised) if isinstance(raised, OSError) else raised
        if getattr(arguments, "json", None) is True:  # `trace --json` names a file instead.
            tell(error, type(raised).__name__)
        else:
            print(f"explorer: {error}", file=sys.stderr)
        return UNUSABLE
    return status or 0
