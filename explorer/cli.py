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
import importlib.util
import io
import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

import explorer
from explorer import Budget, TokenDFA, Vocabulary, cli_doctor, cli_lab, cli_trace, cli_why
from explorer.errors import ExplorerError

SHOWN = 8
"""How many tokens of a mask are written out before the rest is only counted."""

TOY_PATTERN = "(foo)+d"
TOY_TOKENS = (b"f", b"oo", b"foo", b"for", b"food")
TOY_TEXT = "foofood"

REAL_PATTERN = r"(yes|no), (because|although) [a-z]+( [a-z]+)*\."
REAL_TEXT = "yes, because foxes sleep."


def show(data: bytes | None) -> str:
    """A token as one would write it: text in quotes, or hexadecimal bytes if it is not text.

    Args:
        data: Token bytes, or ``None`` for an id that is not text.

    Example:
        >>> print(show(b" the"), show(b"\\xf0\\x9f"), show(None))
        ' the' <F0 9F> <not text>
    """
    if data is None:
        return "<not text>"
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return f"<{data.hex(' ').upper()}>"


def show_allowed(dfa: TokenDFA, state: int) -> str:
    """A mask in one line: how many ids, and the first of them."""
    ids = [int(token) for token in np.flatnonzero(dfa.allowed(state))]
    eos = [token for token in ids if token in dfa.vocabulary.eos_ids]
    texts = [token for token in ids if token not in dfa.vocabulary.eos_ids]
    parts = [show(dfa.vocabulary.tokens[token]) for token in texts[:SHOWN]]
    if len(texts) > SHOWN:
        parts.append("...")
    if eos:
        parts.append("<EOS>")
    return f"{len(ids):,} of {len(dfa.vocabulary):,}: {' '.join(parts)}"


def longest_step(dfa: TokenDFA, state: int, remaining: bytes) -> int | None:
    """The allowed id whose bytes cover most of the text that remains; an EOS id at its end.

    Args:
        dfa: The machine.
        state: Its state.
        remaining: The text still to be written.
    """
    allowed = dfa.allowed(state)
    if not remaining:
        return next((token for token in sorted(dfa.vocabulary.eos_ids) if allowed[token]), None)
    best: int | None = None
    length = 0
    for token in np.flatnonzero(allowed):
        data = dfa.vocabulary.tokens[int(token)]
        if data and len(data) > length and remaining.startswith(data):
            best, length = int(token), len(data)
    return best


def walk_lines(dfa: TokenDFA, text: str) -> Iterable[str]:
    """The masks along the way that writes a text in the longest allowed tokens."""
    remaining = text.encode()
    state = dfa.start
    for position in range(len(remaining) + 1):
        token = longest_step(dfa, state, remaining)
        yield f"  {position:>2}  allowed {show_allowed(dfa, state)}"
        if token is None:
            yield "      no allowed token goes on with the text"
            return
        data = dfa.vocabulary.tokens[token]
        ends = token in dfa.vocabulary.eos_ids
        yield f"      take    {'<EOS>' if ends else show(data)}  (id {token})"
        following = dfa.step(state, token)
        if ends or following is None:
            return
        state = following
        remaining = remaining[len(data or b"") :]


def report_lines(dfa: TokenDFA) -> Iterable[str]:
    """Sizes and milliseconds, one stage per line."""
    report = dfa.report
    yield (
        f"  character FSA   {report.character_states:>9,} states, "
        f"{report.byte_classes:,} byte classes"
    )
    yield (
        f"  token DFA       {report.token_states:>9,} states, "
        f"{report.token_classes:,} token classes, {report.bytes_held / 1024:,.0f} kB"
    )
    yield (
        f"  allowed at all  {report.live_tokens:>9,} of {len(dfa.vocabulary):,} ids; "
        f"{report.stuck_states:,} states cannot finish and are trimmed"
    )
    for stage, spent in report.milliseconds.items():
        yield f"  {stage.replace('_', ' '):<15} {spent:>9.2f} ms"
    yield f"  {'sum':<15} {report.total_milliseconds:>9.2f} ms"


def shipped_tokenizer() -> Path | None:
    """A tokenizer of real size from the package `mistral-common`, where that is installed."""
    found = importlib.util.find_spec("mistral_common")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "data" / "tekken_240911.json"
    return path if path.exists() else None


def demonstrate(title: str, pattern: str, text: str, vocabulary: Vocabulary) -> None:
    """Compile twice, so that the second time is warm, and walk a text through the machine."""
    print(f"{title}: {pattern}")
    explorer.compile(explorer.regex(pattern), vocabulary)
    dfa = explorer.compile(explorer.regex(pattern), vocabulary)
    for line in report_lines(dfa):
        print(line)
    print(f"\n  writing {text!r} in the longest allowed tokens:")
    for line in walk_lines(dfa, text):
        print(line)


def run_demo(arguments: argparse.Namespace) -> None:
    """``explorer demo``."""
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


def run_compile(arguments: argparse.Namespace) -> None:
    """``explorer compile``."""
    eos: list[int] | None = arguments.eos
    vocabulary = Vocabulary.from_file(Path(arguments.tokenizer), eos_ids=eos)
    constraint = explorer.regex(arguments.regex)
    dfa = explorer.compile(constraint, vocabulary, budget=Budget(seconds=arguments.seconds))
    if arguments.save:
        dfa.save(arguments.save)
    if arguments.json:
        start = np.flatnonzero(dfa.allowed(dfa.start)).tolist()
        answer = {
            "pattern": arguments.regex,
            "tokens": len(vocabulary),
            "notes": [str(note) for note in vocabulary.notes],
            "report": dfa.report.to_dict(),
            "fewest_tokens": int(dfa.distance[dfa.start]),
            "allowed_at_start": start,
        }
        print(json.dumps(answer, ensure_ascii=True))
        return
    print(f"{arguments.regex}  over {len(vocabulary):,} ids")
    for note in vocabulary.notes:
        print(f"  note: {note}")
    for line in report_lines(dfa):
        print(line)
    print(f"  allowed at the start {show_allowed(dfa, dfa.start)}")
    print(
        f"  the shortest way to the end takes {int(dfa.distance[dfa.start]):,} tokens, EOS included"
    )


def positive(word: str) -> float:
    """A number of seconds that is more than none."""
    value = float(word)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{word} is not more than 0")
    return value


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(
        prog="explorer",
        description="Constraints and tokenizers as automata, and the masks they make.",
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {explorer.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="compile two constraints and walk through their masks")
    demo.add_argument("--tokenizer", metavar="PATH", help="a tokenizer file of your own")
    demo.set_defaults(run=run_demo)

    compiling = commands.add_parser("compile", help="compile a regex for a tokenizer and report")
    compiling.add_argument("--regex", required=True, metavar="PATTERN", help="Python's re syntax")
    compiling.add_argument(
        "--tokenizer",
        required=True,
        metavar="PATH",
        help="tokenizer.json, tokenizer.model, tekken.json, tiktoken ranks, vocab.bpe, vocab.txt",
    )
    compiling.add_argument(
        "--eos",
        type=int,
        action="append",
        metavar="ID",
        help="an id that ends the text; repeatable",
    )
    compiling.add_argument(
        "--seconds", type=positive, default=60.0, help="the most time to spend (default 60)"
    )
    compiling.add_argument("--save", metavar="PATH", help="write the token DFA to a file")
    compiling.add_argument("--json", action="store_true", help="print one JSON object")
    compiling.set_defaults(run=run_compile)
    for command in (cli_trace, cli_why, cli_lab, cli_doctor):
        command.add_parser(commands)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        words: The command line without the program's name; default that of the process.

    Returns:
        The exit status: 0, or 2 where the input is not usable; ``why`` and ``trace`` also have 1.
    """
    arguments = parser().parse_args(words)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows its escape; it is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status: int | None = arguments.run(arguments)
    except ExplorerError as error:
        print(f"explorer: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"explorer: {error.filename or 'file'}: {error.strerror or error}", file=sys.stderr)
        return 2
    return status or 0


if __name__ == "__main__":
    sys.exit(main())
