"""``explorer demo``: two constraints compiled, and a text walked through the masks of each."""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path

from explorer.cli.answers import report_lines, walk_lines
from explorer.cli.command import Commands, add_command
from explorer.languages.constraint import regex
from explorer.tokens.compile import compile
from explorer.vocabulary import Vocabulary

TOY_PATTERN = "(foo)+d"
TOY_TOKENS = (b"f", b"oo", b"foo", b"for", b"food")
TOY_TEXT = "foofood"

REAL_PATTERN = r"(yes|no), (because|although) [a-z]+( [a-z]+)*\."
REAL_TEXT = "yes, because foxes sleep."


def add_parser(commands: Commands) -> None:
    """Add the command and its options."""
    command = add_command(
        commands, "demo", run, "compile two constraints and walk through their masks"
    )
    command.add_argument("--tokenizer", metavar="PATH", help="a tokenizer file of your own")


def shipped_tokenizer() -> Path | None:
    """A full-size tokenizer from the package `mistral-common`, if that is installed."""
    package = importlib.util.find_spec("mistral_common")
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).parent / "data" / "tekken_240911.json"
    return path if path.exists() else None


def demonstrate(title: str, pattern: str, text: str, vocabulary: Vocabulary) -> None:
    """Compile twice, to show warm times, and walk a text through the machine."""
    print(f"{title}: {pattern}")
    compile(regex(pattern), vocabulary)
    dfa = compile(regex(pattern), vocabulary)
    for line in report_lines(dfa):
        print(line)
    print(f"\n  writing {text!r} in the longest allowed tokens:")
    for line in walk_lines(dfa, text):
        print(line)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    toy = Vocabulary.from_bytes([*TOY_TOKENS, None], eos_ids=[len(TOY_TOKENS)])
    demonstrate("A toy vocabulary", TOY_PATTERN, TOY_TEXT, toy)
    given: str | None = arguments.tokenizer
    path = Path(given) if given else shipped_tokenizer()
    print()
    if path is None:
        print("For a tokenizer of real size: explorer demo --tokenizer PATH")
        return
    began = time.perf_counter()
    vocabulary = Vocabulary.from_file(path)
    spent = time.perf_counter() - began
    print(f"{path.name}: {len(vocabulary):,} ids, read in {spent:.2f} s")
    for note in vocabulary.notes:
        print(f"  note: {note}")
    demonstrate("A real vocabulary", REAL_PATTERN, REAL_TEXT, vocabulary)
    print("\nYour own: explorer compile --regex PATTERN --tokenizer PATH")
