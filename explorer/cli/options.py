"""The options that several commands share, and the values that they stand for.

An option has one name, one help text and one meaning in every command.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, get_args

from explorer.arguments import file_path
from explorer.budget import Budget
from explorer.decoding.models.embedded import EMBEDDED
from explorer.errors import ConstraintError, ExplorerError
from explorer.files import read_text
from explorer.languages.constraint import Constraint, choice, regex
from explorer.languages.grammar.functions import grammar
from explorer.languages.phases.functions import structural_tag
from explorer.languages.schema.options import Order, Recursion
from explorer.languages.schema.source import json_schema
from explorer.languages.schema.text.strings import EscapesOf, Whitespace
from explorer.languages.sources.registry import offered, read
from explorer.tokens.compile import Method, compile
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary

NAMES: Final = (
    "whitespace", "whitespace_pattern", "property_order", "recursion", "max_depth",
    "free_depth", "escapes", "folder", "no_strict",
)  # fmt: skip
"""The options that apply only to a JSON Schema, by argparse's names."""


def add_vocabulary(command: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add ``--tokenizer`` and ``--model``, of which one names the vocabulary."""
    where = command.add_mutually_exclusive_group(required=required)
    where.add_argument(
        "--tokenizer", metavar="PATH", help="a tokenizer's file or folder, or a Hugging Face name"
    )
    where.add_argument(
        "--model",
        metavar="NAME",
        help='"tiny", "tiny-sp", "tiny-draft", "tiny-chat", or a model folder',
    )


def named_vocabulary(arguments: argparse.Namespace) -> Vocabulary | None:
    """The vocabulary that ``--tokenizer`` or ``--model`` names; ``None`` without either.

    Args:
        arguments: The parsed options, with ``--eos``.

    Raises:
        ExplorerError: There is no such tokenizer here.
    """
    eos: Sequence[int] | None = arguments.eos
    name: str | None = arguments.tokenizer or arguments.model
    if name is None:
        return None
    if name in EMBEDDED and not Path(name).exists():
        return Vocabulary.from_file(EMBEDDED[name], eos_ids=eos)
    if Path(name).exists():
        return Vocabulary.from_file(name, eos_ids=eos)
    if name.startswith(("/", ".", "~")) or name.count("/") > 1 or name.endswith(".json"):
        raise ExplorerError(
            f"There is no file or folder {name!r}.",
            remedy="Give a path that exists, or a Hugging Face name.",
            evidence={"path": name},
        )
    try:
        from explorer.decoding.models.load import load_model
    except ImportError as error:
        raise ExplorerError(
            f"There is no file {name}, and to look a name up needs transformers: {error}.",
            remedy="Give a path, or install the extra `models` of this package.",
        ) from error
    try:
        return load_model(name).vocabulary
    except ExplorerError as error:
        if arguments.model is not None:
            raise
        raise ExplorerError(
            f"There is no tokenizer {name!r} at hand. {error.message}",
            remedy="Give the path of a tokenizer's file or folder, or --model tiny.",
            evidence=error.evidence,
        ) from error


def add_schema_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `explorer.json_schema`."""
    command.add_argument(
        "--whitespace",
        choices=get_args(Whitespace),
        help="the white space between the tokens of JSON",
    )
    command.add_argument(
        "--whitespace-pattern", metavar="REGEX", help="a pattern of that white space"
    )
    command.add_argument(
        "--property-order", choices=get_args(Order), help="the order of the members of objects"
    )
    command.add_argument(
        "--recursion",
        choices=get_args(Recursion),
        help="follow a recursive schema to a fixed depth, or without a limit",
    )
    command.add_argument(
        "--max-depth", type=int, metavar="N", help="how often a recursive schema is followed"
    )
    command.add_argument(
        "--free-depth",
        type=int,
        metavar="N",
        help="how deep values nest that the schema does not describe",
    )
    command.add_argument(
        "--escapes",
        choices=get_args(EscapesOf),
        help="where a character may be an escape: where any text may follow, or everywhere",
    )
    command.add_argument(
        "--folder", metavar="PATH", help="the schemas that references may name; nothing is fetched"
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
    lenient = arguments.no_strict or _is_served(arguments)
    return {**given, "strict": False} if lenient else given


def _is_served(arguments: argparse.Namespace) -> bool:
    """Whether the question is about a server's log: servers leave out what they cannot follow."""
    return any(getattr(arguments, name, None) is not None for name in ("line", "run_file"))


def schema_text(name: str, given: str) -> str:
    """The text of a schema file.

    Raises:
        ConstraintError: A schema was given instead of a path.
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

    Raises:
        ConstraintError: The schema is not usable.
        FileError, DamagedFile: The file cannot be read.
    """
    text = schema_text("--json-schema", arguments.json_schema)
    return json_schema(text, **schema_options(arguments))


def add_regex(command: argparse._ActionsContainer, *, required: bool = False) -> None:  # pyright: ignore[reportPrivateUsage] - The common base of a parser and its groups.
    """Add ``--regex PATTERN``."""
    option = command.add_argument(
        "--regex", metavar="PATTERN", help="a pattern for the whole text, as Python's re writes it"
    )
    option.required = required


def add_constraint(command: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add the options that name a constraint, for `constraint_of`.

    Args:
        required: Whether one of them must be given.
    """
    what = command.add_mutually_exclusive_group(required=required)
    add_regex(what)
    what.add_argument(
        "--choice", action="append", metavar="TEXT", help="an allowed text; repeatable"
    )
    what.add_argument(
        "--constraint",
        nargs=2,
        metavar=("KIND", "TEXT"),
        help=f"a constraint as text; KIND is one of: {', '.join(offered())}",
    )
    what.add_argument("--json-schema", metavar="FILE", help="a JSON value that the schema allows")
    what.add_argument(
        "--structural-tag", metavar="FILE", help="a structural tag of xgrammar, vLLM or SGLang"
    )
    what.add_argument(
        "--grammar",
        metavar="FILE",
        help="a text of a grammar: Lark in a .lark file, GBNF in any other",
    )
    command.add_argument(
        "--canonical",
        action="store_true",
        help="allow only the tokens with which the tokenizer itself writes the text",
    )
    command.add_argument(
        "--unambiguous",
        action="store_true",
        help="refuse a grammar in which a text can be read in two ways",
    )
    command.add_argument(
        "--start",
        metavar="RULE",
        help="the rule with which a text of a grammar begins; by default root, in Lark start",
    )
    add_schema_options(command)


def constraint_of(
    arguments: argparse.Namespace, vocabulary: Vocabulary | None = None
) -> Constraint | None:
    """The constraint that the options of `add_constraint` name, with its stages.

    Args:
        vocabulary: Names of its control tokens in a structural tag mean these tokens.

    Raises:
        RegexError, ConstraintError: The constraint is not usable.
    """
    constraint = _unstaged_constraint(arguments, vocabulary)
    if not arguments.canonical:
        return constraint
    if constraint is None:
        raise ConstraintError(
            "--canonical filters the tokens of a constraint, and there is no constraint.",
            remedy="Give --regex, for example; --regex '(?s:.*)' is any text.",
        )
    return constraint.canonical()


def _unstaged_constraint(
    arguments: argparse.Namespace, vocabulary: Vocabulary | None
) -> Constraint | None:
    owners = dict.fromkeys(("unambiguous", "start"), "grammar") | dict.fromkeys(
        NAMES, "json_schema"
    )
    for option, owner in owners.items():
        said = getattr(arguments, option) not in (None, False)
        if said and getattr(arguments, owner) is None:
            option, owner = (name.replace("_", "-") for name in (option, owner))
            raise ConstraintError(
                f"--{option} says more about --{owner}, which is not given.",
                remedy=f"Give --{owner} too, or leave --{option} out.",
            )
    if arguments.regex is not None:
        return regex(arguments.regex)
    if arguments.constraint is not None:
        return Constraint(read(*arguments.constraint))
    if arguments.json_schema is not None:
        return constraint_of_schema(arguments)
    if arguments.structural_tag is not None:
        tag = read_text(file_path("--structural-tag", arguments.structural_tag))
        tokens = () if vocabulary is None else vocabulary
        return structural_tag(tag, control_tokens=tokens, strict=not _is_served(arguments))
    if arguments.grammar is not None:
        path = file_path("--grammar", arguments.grammar)
        syntax = "lark" if path.suffix.lower() == ".lark" else "gbnf"
        several = False if arguments.unambiguous else None
        folder = path.parent if syntax == "lark" else None
        return grammar(
            read_text(path), syntax, start=arguments.start, folder=folder, ambiguous=several
        )
    return None if arguments.choice is None else choice(arguments.choice)


def add_lazy(command: argparse.ArgumentParser) -> None:
    """Add ``--lazy``, for `compiled`."""
    command.add_argument(
        "--lazy", action="store_true", help="work states out as they are visited, without a table"
    )


def compiled(
    arguments: argparse.Namespace,
    constraint: Constraint,
    vocabulary: Vocabulary,
    budget: Budget | None = None,
    method: Method = "functions",
) -> TokenMachine:
    """The token machine that the options ask for.

    Args:
        arguments: The parsed options, including that of `add_lazy`.
        constraint, vocabulary, budget, method: As in `explorer.compile`.

    Raises:
        ExplorerError: As in `explorer.compile`.
    """
    if arguments.lazy and method == "functions":
        return compile(constraint, vocabulary, budget, lazy=True)
    lazy = True if arguments.lazy else None
    with warnings.catch_warnings():  # The printed report has the reason.
        warnings.simplefilter("ignore", UserWarning)
        return compile(constraint, vocabulary, budget, lazy=lazy, method=method)


def add_eos(command: argparse.ArgumentParser) -> None:
    """Add ``--eos ID``."""
    command.add_argument(
        "--eos",
        type=int,
        action="append",
        metavar="ID",
        help="an id that ends the text; repeatable",
    )


def ids_of_words(words: str) -> list[int]:
    """The token ids in a value of ``--prefix-ids``, such as ``1,2,3``.

    Raises:
        ExplorerError: A word is not an id.
    """
    ids: list[int] = []
    for word in words.replace(",", " ").split():
        if not word.isdecimal():
            raise ExplorerError(
                f"--prefix-ids {words!r} is not a list of ids: it holds {word!r}, which is not an "
                "id.",
                remedy="Write whole numbers with commas between them, such as 1,2,3.",
            )
        ids.append(int(word))
    return ids
