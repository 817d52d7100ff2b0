"""``explorer profile``: how large each part of a JSON Schema is as a machine."""

from __future__ import annotations

import argparse

from explorer.budget import Budget
from explorer.cli.answers import print_json
from explorer.cli.compile import positive
from explorer.cli.options import Commands, add_command, add_json
from explorer.cli.schema_options import add_schema_options, schema_options, schema_text
from explorer.languages.schema.functions import profile


def add_parser(commands: Commands) -> None:
    """Add the command and its options.

    Args:
        commands: The commands there are.
    """
    command = add_command(
        commands,
        "profile",
        run,
        "tell states, arcs and milliseconds of each part of a JSON Schema",
    )
    command.add_argument("schema", metavar="FILE", help="the schema")
    add_schema_options(command)
    command.add_argument(
        "--seconds", type=positive, default=10.0, help="the most for each part (default 10)"
    )
    add_json(command)


def run(arguments: argparse.Namespace) -> None:
    """Run the command.

    Args:
        arguments: The parsed options.

    Raises:
        ExplorerError: The file is not a schema.
    """
    text = schema_text("schema", arguments.schema)
    options = {**schema_options(arguments), "strict": False}
    sizes = profile(text, Budget(seconds=arguments.seconds), **options)
    if arguments.json:
        print_json(sizes.to_dict())
    else:
        print(sizes)
