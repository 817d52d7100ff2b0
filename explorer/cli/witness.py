"""``explorer witness``: the same state in other engines, and states where they differ.

With ``--prefix`` it compares one state: a row for each engine, and an explanation of every
difference. With ``--seconds`` it walks through states and prints the differences, one for each
reason.

The exit status is 0 if every engine that answers agrees, 1 if one differs, 2 if the question cannot
be asked.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from explorer.cli.answers import print_json
from explorer.cli.command import Commands, add_command
from explorer.cli.compile import positive
from explorer.cli.options import (
    add_constraint,
    add_eos,
    add_json,
    add_vocabulary,
    constraint_of,
    ids_of_words,
    named_vocabulary,
)
from explorer.errors import ExplorerError
from explorer.witnesses.engines import ENGINES

if TYPE_CHECKING:
    from explorer.languages.constraint import Constraint
    from explorer.vocabulary import Vocabulary


AGREE = 0
DIFFER = 1


def add_parser(commands: Commands) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "witness",
        run,
        "compare masks with outlines-core, xgrammar and llguidance",
        "Ask other engines at the same state, and explain every difference. Exit status: 0 if all "
        "agree, 1 if one differs, 2 if the question cannot be asked.",
    )
    add_vocabulary(command)
    add_constraint(command)
    before = command.add_mutually_exclusive_group()
    before.add_argument("--prefix", metavar="TEXT", help="what was written so far, as text")
    before.add_argument("--prefix-ids", metavar="IDS", help="as token ids, such as 1,2,3")
    command.add_argument(
        "--seconds",
        type=positive,
        metavar="N",
        help="look for states that differ, for N seconds; "
        "the probabilities of --model guide the walk",
    )
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the walk's seed (default 0)"
    )
    command.add_argument(
        "--engine", action="append", choices=tuple(ENGINES), help="ask only this engine; repeatable"
    )
    add_eos(command)
    add_json(command)


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Returns:
        0 if every engine that answers agrees, 1 if one differs.

    Raises:
        ExplorerError, OSError: The question cannot be asked; the command line makes that status 2.
    """
    from explorer.witnesses.witness import witness

    vocabulary = named_vocabulary(arguments)
    constraint = constraint_of(arguments, vocabulary)
    if constraint is None or vocabulary is None:
        raise ExplorerError(
            "A tokenizer and a constraint are needed to ask other engines.",
            remedy="Give --tokenizer or --model, and --regex, --json-schema or --grammar.",
        )
    if arguments.seconds is not None:
        return _walk(arguments, constraint, vocabulary)
    prefix = arguments.prefix or ""
    if arguments.prefix_ids is not None:
        prefix = ids_of_words(arguments.prefix_ids)
    state = witness(constraint, vocabulary, prefix, engines=arguments.engine)
    if arguments.json:
        print_json(state.to_dict())
    else:
        print(state)
    return AGREE if state.agree else DIFFER


def _walk(arguments: argparse.Namespace, constraint: Constraint, vocabulary: Vocabulary) -> int:
    from explorer.witnesses.disagreements import disagreements

    if arguments.prefix is not None or arguments.prefix_ids is not None:
        raise ExplorerError(
            "The walk of --seconds begins at the start.",
            remedy="Give --prefix for one state, or --seconds for a walk.",
        )
    model: Any = None
    if arguments.model is not None:
        from explorer.decoding.models.load import load_model

        model = load_model(arguments.model)
    walked = disagreements(
        constraint, vocabulary, arguments.seconds, model, arguments.seed, engines=arguments.engine
    )
    if arguments.json:
        print_json(
            {
                "texts": walked.texts, "states": walked.states, "differing": walked.differing,
                "refusals": {each.engine: each.refused for each in walked.refusals},
                "differences": [each.to_dict() for each in walked.differences],
            }
        )  # fmt: skip
    else:
        print(walked)
    return DIFFER if walked.differing else AGREE
