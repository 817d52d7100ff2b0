"""What the commands share: how one is added, and the options that mean the same in each.

An option has one name, one help text and one reading, whichever command takes it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeAlias

from explorer.arguments import file_path
from explorer.automata.constraint import Constraint, choice, json_schema, regex
from explorer.automata.registry import offered, read
from explorer.budget import Budget
from explorer.tokens.compile import compile
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # pyright: ignore[reportPrivateUsage] - argparse has no public name for it.
"""What `ArgumentParser.add_subparsers` gives."""


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int | None],
    summary: str,
    description: str | None = None,
) -> argparse.ArgumentParser:
    """A new command without options.

    Args:
        commands: The commands there are.
        name: What one writes after ``explorer``.
        run: What it does; its answer is the exit status, ``None`` for 0.
        summary: A line for the list of commands.
        description: What stands above the command's own options; default the summary.
    """
    command = commands.add_parser(name, help=summary, description=description or summary)
    command.set_defaults(run=run)
    return command


def add_regex(command: argparse._ActionsContainer, *, required: bool = False) -> None:  # pyright: ignore[reportPrivateUsage] - What a parser and a group of it have in common.
    """``--regex PATTERN``."""
    option = command.add_argument(
        "--regex", metavar="PATTERN", help="the whole text matches it; re's syntax"
    )
    option.required = required


def add_constraint(command: argparse.ArgumentParser) -> None:
    """``--regex``, ``--choice``, ``--constraint`` and ``--json-schema``, for `constraint_of`."""
    what = command.add_mutually_exclusive_group()
    add_regex(what)
    what.add_argument("--choice", action="append", metavar="TEXT", help="one text; repeatable")
    what.add_argument(
        "--constraint",
        nargs=2,
        metavar=("KIND", "TEXT"),
        help=f"a text of any kind: {', '.join(offered())}",
    )
    what.add_argument("--json-schema", metavar="FILE", help="a JSON value that the schema allows")


def constraint_of(arguments: argparse.Namespace) -> Constraint | None:
    """The constraint that the options of `add_constraint` name.

    Args:
        arguments: The parsed options.

    Raises:
        RegexError, ConstraintError: It is not usable.
    """
    if arguments.regex is not None:
        return regex(arguments.regex)
    if arguments.constraint is not None:
        return Constraint(read(*arguments.constraint))
    if arguments.json_schema is not None:
        path = file_path("--json-schema", arguments.json_schema)
        return json_schema(path.read_text(encoding="utf-8"))
    return None if arguments.choice is None else choice(arguments.choice)


def add_lazy(command: argparse.ArgumentParser) -> None:
    """``--lazy``, for `compiled`."""
    command.add_argument(
        "--lazy", action="store_true", help="work states out as they are visited, without a table"
    )


def compiled(
    arguments: argparse.Namespace,
    constraint: Constraint,
    vocabulary: Vocabulary,
    budget: Budget | None = None,
) -> TokenMachine:
    """The token machine that the options ask for.

    Args:
        arguments: The parsed options, with that of `add_lazy`.
        constraint, vocabulary, budget: As `explorer.compile` has them.

    Raises:
        ExplorerError: As `explorer.compile` has it.
    """
    if arguments.lazy:
        return compile(constraint, vocabulary, budget, lazy=True)
    return compile(constraint, vocabulary, budget)


def add_eos(command: argparse.ArgumentParser) -> None:
    """``--eos ID``."""
    command.add_argument(
        "--eos",
        type=int,
        action="append",
        metavar="ID",
        help="an id that ends the text; repeatable",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """``--json``."""
    command.add_argument("--json", action="store_true", help="print one JSON object")
