"""How the command line reports errors: as words, or as JSON where JSON was asked for.

A script that gives ``--json`` reads one JSON object from standard output, whatever happens; that
includes a command line that is not understood. Somebody at a terminal reads standard error.

What is printed reaches a terminal as text only, never as an instruction to it. Patterns, tokens and
logs come from elsewhere, and may hold control characters: an escape can hide what follows, and a
mark of direction can turn a line around. `text_only` sees to that for all commands.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Generator, Sequence
from typing import Any, Final, NoReturn, TextIO, cast

from explorer.alphabet import without_controls
from explorer.errors import ExplorerError

UNUSABLE: Final = 2
"""The exit status where the input is not usable."""

FLAG: Final = "--json"


_OPTIONS: Final = {
    "strict=False": "--no-strict",
    "ambiguous=True": "--ambiguous",
    "lazy=True": "--lazy",
    'property_order="schema"': "--property-order schema",
    "folder=...": "--folder PATH",
    "masking_budget=False": "--no-masking-budget",
}


def as_options(message: str) -> str:
    """A message whose remedies name options of the command line instead of arguments.

    Args:
        message: What the engine says.

    Example:
        >>> as_options("Give strict=False to ignore it.")
        'Give --no-strict to ignore it.'
    """
    for argument, option in _OPTIONS.items():
        message = message.replace(argument, option)
    return message


class Parser(argparse.ArgumentParser):
    """A parser whose errors say how to write a value that begins with a hyphen."""

    def error(self, message: str) -> NoReturn:
        """Report what is wrong with the command line, and end with the status for unusable input.

        Args:
            message: What is wrong.
        """
        super().error(message + advice(message))


class JsonParser(Parser):
    """A parser that reports a wrong command line as JSON."""

    def error(self, message: str) -> NoReturn:
        """Report what is wrong with the command line, and end with the status for unusable input.

        Args:
            message: What is wrong.
        """
        usage = " ".join(self.format_usage().split()).removeprefix("usage: ")
        remedy = f"Write it as: {usage} ({self.prog} --help says what each word means.)"
        tell(ExplorerError(f"{message}{advice(message)}.", remedy=remedy), UsageError.__name__)
        raise UsageError(UNUSABLE)


class UsageError(SystemExit):
    """The error for a command line that is not understood."""


def advice(message: str) -> str:
    """A remark on a wrong command line: a value such as ``-1`` looks like an option.

    Args:
        message: What `argparse` says.

    Example:
        >>> advice("argument --token: expected one argument")
        '; a value that begins with - is written --token=-1'
    """
    found = re.match(r"argument (--[\w-]+): expected one argument", message)
    return f"; a value that begins with - is written {found[1]}=-1" if found else ""


def as_json(words: Sequence[str]) -> bool:
    """Whether the answer is wanted as JSON; ``--json OUT`` of `trace` names a file instead.

    Args:
        words: The command line without the program's name.

    Example:
        >>> as_json(["why", "--json"]), as_json(["trace", "--json", "run.json"])
        (True, False)
    """
    return FLAG in words and "trace" not in words[:1]


def tell(error: ExplorerError, kind: str) -> None:
    """Print an error as one JSON object.

    Args:
        error: What is wrong, with evidence and remedy.
        kind: The name of what was raised.
    """
    evidence = dict(error.evidence)
    place = {name: evidence[name] for name in ("stage", "offset") if name in evidence}
    print_json({"error": {
        "kind": kind, "message": error.message, "remedy": error.remedy, "evidence": evidence,
        **place,
    }})  # fmt: skip


def print_json(answer: object) -> None:
    """Print one JSON value in a line; bytes and other objects as their text.

    Args:
        answer: What `json` can write, and what has a text.
    """
    json.dump(answer, sys.stdout, default=_plain)
    print()


def _plain(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


class _TextOnly:
    """A stream that writes no control characters; otherwise the stream that it wraps."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, control characters as escapes."""
        self._stream.write(without_controls(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def text_only() -> Generator[None]:
    """Inside, standard output writes no control characters."""
    with contextlib.redirect_stdout(cast("TextIO", _TextOnly(sys.stdout))):
        yield
