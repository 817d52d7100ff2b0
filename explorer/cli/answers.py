"""Errors on the command line, as text or as JSON; and machines as lines.

A script that gives ``--json`` reads one JSON object from standard output in any case, even for a
wrong command line. A person at a terminal reads standard error.

Printed text reaches a terminal as text only, never as an instruction to it. Patterns, tokens and
logs are untrusted and may contain control characters: an escape can hide the text after it, and a
direction mark can reverse a line. `text_only` escapes them for all commands.

A token machine is printed as lines: a mask, sizes and milliseconds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Generator, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Final, NoReturn, TextIO, cast

import numpy as np

from explorer.alphabet import without_controls
from explorer.analysis.characters.display import show_text
from explorer.arguments import counted
from explorer.errors import ExplorerError
from explorer.tokens.machine import TokenMachine

UNUSABLE: Final = 2
"""The exit status where the input is not usable."""

FLAG: Final = "--json"

_CLOSE: Final = 0.7
"""The similarity from which a word may be a misspelled option."""


_OPTIONS: Final = {
    "strict=False": "--no-strict",
    "ambiguous=False": "--unambiguous",
    "lazy=True": "--lazy",
    'property_order="schema"': "--property-order schema",
    "folder=...": "--folder PATH",
    "start=...": "--start",
    "masking_budget=False": "--no-masking-budget",
}


def as_options(message: str) -> str:
    """A message whose remedies name options of the command line instead of arguments.

    Example:
        >>> as_options("Give strict=False to ignore it.")
        'Give --no-strict to ignore it.'
    """
    for argument, option in _OPTIONS.items():
        message = message.replace(argument, option)
    return message


class Parser(argparse.ArgumentParser):
    """A parser whose errors take a few lines and suggest what was probably meant."""

    _words: tuple[str, ...] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - The base has overloads.
        """Parse words; unknown ones are an error of the command itself."""
        self._words = tuple(args or ())
        known, unread = super().parse_known_args(args, namespace)
        if unread:
            self.error(f"unrecognized arguments: {' '.join(unread)}")
        return known, unread

    def error(self, message: str) -> NoReturn:
        """Report a wrong command line, and exit with the status for unusable input."""
        said = f"{message}{advice(message, self._words, self.format_usage())}"
        self.exit(
            UNUSABLE,
            f"usage: {self.prog} ... ({self.prog} --help lists the options)\n"
            f"{self.prog}: error: {said}\n",
        )


class JsonParser(Parser):
    """A parser that reports a wrong command line as JSON."""

    def error(self, message: str) -> NoReturn:
        """Report a wrong command line, and exit with the status for unusable input."""
        usage = " ".join(self.format_usage().split()).removeprefix("usage: ")
        remedy = f"Write it as: {usage} ({self.prog} --help says what each word means.)"
        said = f"{message}{advice(message, self._words, usage)}"
        said = said if said.endswith("?") else f"{said}."
        tell(ExplorerError(said, remedy=remedy), UsageError.__name__)
        raise UsageError(UNUSABLE)


class UsageError(SystemExit):
    """The exit from a wrong command line."""


def advice(message: str, words: Sequence[str] = (), usage: str = "") -> str:
    """A remark on a wrong command line: an option or a command that was probably meant, or that a
    value such as ``-1`` looks like an option.

    Args:
        message: The message of `argparse`.
        words: The command line.
        usage: The usage of the command, which has its options.

    Example:
        >>> advice("argument --token: expected one argument")
        '; a value that begins with - is written --token=-1'
        >>> advice("invalid choice: 'compil' (choose from 'demo', 'compile')")
        '; did you mean compile?'
        >>> advice("one of --regex --choice is required", ["--regx", "a"], "[--regex PATTERN]")
        '; --regx is not an option: did you mean --regex?'
    """
    option = re.match(r"argument (--[\w-]+): expected one argument", message)
    if option:
        return f"; a value that begins with - is written {option[1]}=-1"
    known = re.findall(r"--[\w-]+", usage)
    for word in (word.partition("=")[0] for word in words if word.startswith("--")):
        is_begun = any(each.startswith(word) for each in (*known, "--help", "--version"))
        if close := [] if is_begun else get_close_matches(word, known, 1, _CLOSE):
            return f"; {word} is not an option: did you mean {close[0]}?"
    choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
    if choice and (close := get_close_matches(choice[1], re.findall(r"[\w-]+", choice[2]), 1)):
        return f"; did you mean {close[0]}?"
    return ""


def as_json(words: Sequence[str]) -> bool:
    """Whether the answer is to be JSON; ``--json OUT`` of `trace` names a file instead.

    Example:
        >>> as_json(["why", "--json"]), as_json(["trace", "--json", "run.json"])
        (True, False)
    """
    return FLAG in words and "trace" not in words[:1]


def tell(error: ExplorerError, kind: str) -> None:
    """Print an error as one JSON object."""
    evidence = dict(error.evidence)
    place = {name: evidence[name] for name in ("stage", "offset") if name in evidence}
    print_json({"error": {
        "kind": kind, "message": error.message, "remedy": error.remedy, "evidence": evidence,
        **place,
    }})  # fmt: skip


def print_json(answer: object) -> None:
    """Print one JSON value on a line; bytes and other objects as text.

    Args:
        answer: A value that `json` can write; objects inside may be any with a text.
    """
    json.dump(answer, sys.stdout, default=_plain)
    print()


def _plain(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


class _TextOnly:
    """A stream that escapes control characters and otherwise passes on to the wrapped one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text with its control characters escaped."""
        self._stream.write(without_controls(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def text_only() -> Generator[None]:
    """A context in which standard output writes no control characters."""
    with contextlib.redirect_stdout(cast("TextIO", _TextOnly(sys.stdout))):
        yield


SHOWN = 8
"""The most tokens of a mask that are printed; the rest is only counted."""


def show(data: bytes | None) -> str:
    """A token in printed form: text in quotes, and bytes that are not text.

    Args:
        data: Token bytes, or ``None`` for an id that is not text.

    Example:
        >>> print(show(b" the"), show(b"\\xf0\\x9f"), show(None))
        ' the' <F0><9F> <not text>
    """
    return "<not text>" if data is None else show_text(data)


def show_allowed(machine: TokenMachine, state: int) -> str:
    """A mask in one line: the number of ids, and the first of them."""
    allowed = machine.allowed(state).copy()
    count = np.count_nonzero(allowed)
    ends = [token for token in machine.vocabulary.eos_ids if allowed[token]]
    allowed[ends] = False
    texts = np.flatnonzero(allowed)
    known, special = machine.vocabulary.tokens, machine.vocabulary.special
    parts = [
        special.get(token) or show(None) if known[token] is None else show(known[token])
        for token in map(int, texts[:SHOWN])
    ]
    if len(texts) > SHOWN:
        parts.append("...")
    if ends:
        parts.append("<EOS>")
    return f"{count:,} of {len(machine.vocabulary):,}: {' '.join(parts)}"


def report_lines(machine: TokenMachine) -> Iterable[str]:
    """The sizes, and the milliseconds of each stage, one per line."""
    report = machine.report
    yield (
        f"  character FSA   {_column(report.character_states, 'state')}, "
        f"{counted(report.byte_classes, 'byte class')}"
    )
    if report.kind == "table":
        yield from _table_lines(machine)
    else:
        yield f"  {report.kind:<15} {_column(machine.num_states, 'state')} so far; no table is made"
        if report.reason:
            yield f"  {report.reason}"
    if report.kind == "table":
        yield f"  {'composed by':<15} {report.method}"
    for warning in report.warnings:
        yield f"  warning: {warning}".replace("\n", "\n           ")
    for stage, spent in report.milliseconds.items():
        yield f"  {stage.replace('_', ' '):<15} {spent:>9.2f} ms"
    yield f"  {'sum':<15} {report.total_milliseconds:>9.2f} ms"


def _column(count: int, noun: str) -> str:
    """A number with its noun, right-aligned across lines."""
    number, _, word = counted(count, noun).partition(" ")
    return f"{number:>9} {word}"


def _table_lines(machine: TokenMachine) -> Iterable[str]:
    report = machine.report
    yield (
        f"  token DFA       {_column(report.token_states, 'state')}, "
        f"{counted(report.token_classes, 'token class')}, {report.bytes_held / 1024:,.0f} kB"
    )
    yield (
        f"  allowed at all  {report.live_tokens:>9,} of {len(machine.vocabulary):,} ids; "
        f"{counted(report.stuck_states, 'state')} cannot finish and "
        f"{'is' if report.stuck_states == 1 else 'are'} trimmed"
    )
