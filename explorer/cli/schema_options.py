"""The options that say how values of a JSON Schema are written and read."""

from __future__ import annotations

import argparse
from typing import Any, Final, get_args

from explorer.arguments import file_path
from explorer.errors import ConstraintError
from explorer.files import read_text
from explorer.languages.constraint import Constraint
from explorer.languages.schema.building.making import Order, Recursion
from explorer.languages.schema.functions import json_schema
from explorer.languages.schema.text.spelling import Whitespace

NAMES: Final = ("whitespace", "property_order", "recursion", "max_depth", "folder", "no_strict")
"""The options that only say something of a JSON Schema, as argparse keeps them."""


def add_schema_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `explorer.json_schema`.

    Args:
        command: Where they go.
    """
    command.add_argument(
        "--whitespace", choices=get_args(Whitespace), help="between the tokens of JSON"
    )
    command.add_argument(
        "--property-order", choices=get_args(Order), help="the order of the members of objects"
    )
    command.add_argument(
        "--recursion",
        choices=get_args(Recursion),
        help="follow a schema that leads back to itself to a depth, or without end",
    )
    command.add_argument(
        "--max-depth", type=int, metavar="N", help="how often a recursive schema is followed"
    )
    command.add_argument(
        "--folder", metavar="PATH", help="schemas that references may name; nothing is fetched"
    )
    command.add_argument(
        "--no-strict",
        action="store_true",
        help="ignore keywords that cannot be followed exactly, and name them",
    )


def schema_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options as arguments of `explorer.json_schema`.

    Args:
        arguments: The parsed options of `add_schema_options`.
    """
    named = {name: getattr(arguments, name) for name in NAMES if name != "no_strict"}
    given = {name: value for name, value in named.items() if value is not None}
    return {**given, "strict": False} if arguments.no_strict else given


def schema_text(name: str, given: str) -> str:
    """The text of the file with a schema.

    Args:
        name: The option that names it, for messages.
        given: What was given.

    Raises:
        ConstraintError: A schema was given, not a path.
        FileError, DamagedFile: The file cannot be read.
    """
    if given.lstrip().startswith(("{", "[")):
        raise ConstraintError(
            f"{name} names a file, and what was given is a JSON text.",
            remedy="Write the schema to a file, or give it as --constraint 'JSON Schema' '{…}'.",
        )
    return read_text(file_path(name, given))


def constraint_of_schema(arguments: argparse.Namespace) -> Constraint:
    """The constraint of ``--json-schema FILE`` and the options beside it.

    Args:
        arguments: The parsed options.

    Raises:
        ConstraintError: The schema is not usable.
        FileError, DamagedFile: The file cannot be read.
    """
    text = schema_text("--json-schema", arguments.json_schema)
    return json_schema(text, **schema_options(arguments))
