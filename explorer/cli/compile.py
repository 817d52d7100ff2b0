"""``explorer compile``: one constraint for one tokenizer, with sizes and milliseconds."""

from __future__ import annotations

import argparse

import numpy as np

from explorer.arguments import counted, file_path
from explorer.budget import Budget
from explorer.cli.answers import print_json, report_lines, show_allowed
from explorer.cli.command import Commands, add_command, add_json
from explorer.cli.options import (
    add_constraint,
    add_eos,
    add_lazy,
    add_vocabulary,
    compiled,
    constraint_of,
    named_vocabulary,
)
from explorer.errors import ExplorerError
from explorer.files import check_writable
from explorer.tokens.machine import storable_of


def add_parser(commands: Commands) -> None:
    """Add the command and its options."""
    command = add_command(
        commands, "compile", run, "compile a constraint for a tokenizer and report"
    )
    add_constraint(command, required=True)
    add_vocabulary(command, required=True)
    add_eos(command)
    command.add_argument(
        "--seconds", type=positive, default=60.0, help="the most time to spend (default 60)"
    )
    add_lazy(command)
    command.add_argument(
        "--method",
        choices=("functions", "pynini"),
        default="functions",
        help="how the table is composed: by our own functions, or by pynini, with the same result",
    )
    command.add_argument("--save", metavar="PATH", help="write the token DFA to a file")
    add_json(command)


def run(arguments: argparse.Namespace) -> None:
    """Run the command.

    Raises:
        ExplorerError: The tokenizer or the pattern is not usable, or a limit was reached.
    """
    if arguments.save:
        check_writable(file_path("--save", arguments.save))
    vocabulary = named_vocabulary(arguments)
    constraint = None if vocabulary is None else constraint_of(arguments, vocabulary)
    if vocabulary is None or constraint is None:  # The parser requires both.
        raise ExplorerError("There is no constraint.", remedy="Give --regex, for example.")
    shown: str = str(constraint) if arguments.canonical else arguments.regex or str(constraint)
    machine = compiled(
        arguments, constraint, vocabulary, Budget(seconds=arguments.seconds), arguments.method
    )
    if arguments.save:
        storable = storable_of(machine)
        if storable is None:
            raise ExplorerError(
                "Only a token DFA can be saved; this machine has no table.",
                remedy="Leave out --lazy, or --save.",
            )
        storable.save(arguments.save)
    fewest = machine.distance_to_end(machine.start)
    if arguments.json:
        start = np.flatnonzero(machine.allowed(machine.start)).tolist()
        answer = {
            "pattern": shown,
            "tokens": len(vocabulary),
            "notes": [str(note) for note in vocabulary.notes],
            "report": machine.report.to_dict(),
            "fewest_tokens": fewest,
            "allowed_at_start": start,
        }
        print_json(answer)
        return
    print(f"{shown}  over {len(vocabulary):,} ids")
    for note in vocabulary.notes:
        print(f"  note: {note}")
    for line in report_lines(machine):
        print(line)
    print(f"  allowed at the start {show_allowed(machine, machine.start)}")
    if fewest is not None:
        print(f"  the shortest way to the end takes {counted(fewest, 'token')}, EOS included")


def positive(word: str) -> float:
    """Parse a positive number of seconds."""
    value = float(word)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{word} is not more than 0")
    return value
