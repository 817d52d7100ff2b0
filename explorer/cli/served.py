"""``explorer why --run FILE``: the verdict of a request's constraint on a server's output.

Each run of the log is checked against the constraint of its own request, or against the one that
the options name. The exit status is 0 if the constraint allows everything that was written, 1 if it
would have masked a token of some run, or the end of its text, and 2 if one of several runs could
not be checked. Verdicts are printed as they are found; such a run is a line of its own among them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from explorer.cli.answers import UNUSABLE, as_options, print_json
from explorer.cli.options import ids_of_words
from explorer.decoding.models.embedded import EMBEDDED
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.engines.reading import as_engine
from explorer.languages.schema.source import JsonSchema
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from explorer.servers import ServerRun

WHOLE = 0
FAULTY = 1


def add_served(command: argparse.ArgumentParser) -> None:
    """Add ``--run FILE`` and ``--index N``."""
    command.add_argument(
        "--run",
        dest="run_file",
        metavar="FILE",
        help="a server's log: the first token that its constraint would have masked",
    )
    command.add_argument(
        "--line",
        metavar="TEXT",
        help='a line of a scheduler\'s log: "Failed to advance FSM for request r for tokens 271"',
    )
    command.add_argument(
        "--engine",
        choices=("xgrammar", "llguidance", "outlines", "none"),
        help="with --run or --line: the engine that reads the schema, or none for what JSON Schema "
        "says; default that of the server or of the line",
    )
    command.add_argument(
        "--request",
        metavar="FILE",
        help="with --line: the request as JSON, for its constraint, its tools and its parsers",
    )
    command.add_argument(
        "--index",
        type=int,
        metavar="N",
        help="the run of the log to check, counted from 0; default all",
    )


def why_served(
    arguments: argparse.Namespace,
    constraint: Constraint | None,
    vocabulary_of: Callable[[argparse.Namespace], Vocabulary | None],
) -> int:
    """Print the verdict on each run of a log.

    Args:
        constraint: The constraint that the options name; ``None`` for that of each request.

    Returns:
        0 if the constraint allows everything that was written, else 1; 2 if a run failed.

    Raises:
        ExplorerError: The log, or the only run that is asked about, is not usable; or no tokenizer
            is given.
    """
    try:
        from explorer.servers import read_runs, verdict_of
        from explorer.servers.request import engine_of
    except ImportError as error:
        raise ExplorerError(
            f"Runs of servers come with the models, and importing failed: {error}.",
            remedy="Install the extra `models` of this package.",
        ) from error
    runs = _chosen(read_runs(arguments.run_file), arguments.index)
    vocabulary = vocabulary_of(arguments) or _embedded(runs)
    answers: list[dict[str, object]] = []
    status, unasked = WHOLE, 0
    for run in runs:
        try:
            engine = arguments.engine or engine_of(run.request, run.server)
            own = None if constraint is None else _as_served(constraint, arguments, engine)
            verdict = verdict_of(run, vocabulary, own, engine=arguments.engine)
        except ExplorerError as error:
            if len(runs) == 1:
                raise
            unasked += 1
            answer, shown = _unasked(run, error)
        else:
            status = status if verdict.allowed else FAULTY
            answer, shown = verdict.to_dict(), str(verdict)
        if arguments.json:
            answers.append(answer)
        else:
            print(f"{shown}\n" if run is not runs[-1] else shown, flush=True)
    if arguments.json:
        print_json({"runs": answers})
    if unasked:
        print(f"explorer: {unasked:,} of {len(runs):,} runs could not be checked.", file=sys.stderr)
    return UNUSABLE if unasked else status


def why_line(
    arguments: argparse.Namespace, constraint: Constraint | None, vocabulary: Vocabulary | None
) -> int:
    """Explain a line of a scheduler's log.

    Returns:
        0 if the constraint accepts its tokens, or accepts the first of them in some state; else 1.

    Raises:
        ExplorerError: The tokenizer or the constraint is missing, or the line names no tokens.
    """
    from explorer.servers.scheduler import explain_line, read_line, requested_by

    if vocabulary is None:
        raise ExplorerError(
            "A tokenizer is needed to say what the tokens are.",
            remedy="Give --tokenizer, and --request, --json-schema, --structural-tag, --regex or "
            "--grammar.",
        )
    server = ""
    engine = arguments.engine or read_line(arguments.line, vocabulary).engine
    if arguments.request is not None:
        asked, server = requested_by(arguments.request, vocabulary, engine or None)
        constraint = constraint or asked
    elif constraint is not None:
        constraint = _as_served(constraint, arguments, engine)
    before = arguments.prefix_ids
    ids = None if before is None else ids_of_words(before)
    answer = explain_line(arguments.line, vocabulary, constraint, ids, server=server)
    if arguments.json:
        told = asdict(replace(answer, explanation=None))
        why = answer.explanation
        print_json(told | {"explanation": None if why is None else why.to_dict()})
    else:
        print(answer)
    taken = answer.rejected is None and (answer.taken or bool(answer.allowed))
    return WHOLE if taken else FAULTY


def _as_served(constraint: Constraint, arguments: argparse.Namespace, engine: str) -> Constraint:
    """A constraint of the options as a server follows it: with any white space between the tokens
    of JSON, unless the options say otherwise, and read by its engine."""
    source = constraint.source
    told = arguments.whitespace is not None or arguments.whitespace_pattern is not None
    if isinstance(source, JsonSchema) and not told:
        options = replace(source.options, whitespace="flexible")
        constraint = Constraint(replace(source, options=options))
    return constraint if engine in ("", "none") else as_engine(constraint, engine)


def _unasked(run: ServerRun, error: ExplorerError) -> tuple[dict[str, object], str]:
    """A run that could not be checked, as JSON values and as a line."""
    said = as_options(str(error))
    shown = f"{run.place} ({run.format}): it could not be checked. {said}"
    told = {"kind": type(error).__name__, "message": error.message, "remedy": error.remedy,
            "evidence": dict(error.evidence)}  # fmt: skip
    return {"run": run.place, "format": run.format, "outcome": None, "error": told}, shown


def _chosen(runs: tuple[ServerRun, ...], index: int | None) -> tuple[ServerRun, ...]:
    if index is None:
        return runs
    if not 0 <= index < len(runs):
        raise ExplorerError(
            f"The log has no run {index}; it has the runs 0 to {len(runs) - 1}.",
            remedy="Give one of those, or leave --index out for all.",
        )
    return (runs[index],)


def _embedded(runs: tuple[ServerRun, ...]) -> Vocabulary:
    """The vocabulary of an embedded model, if the log names one."""
    names = {run.model for run in runs if not run.failed}
    name = names.pop() if len(names) == 1 else None
    if name is None or name not in EMBEDDED:
        shown = "the model" if name is None else repr(name)
        raise ExplorerError(
            f"The tokenizer of {shown} is needed to say what the log's tokens are.",
            remedy="Give its file or folder: --tokenizer PATH.",
        )
    return Vocabulary.from_file(EMBEDDED[name])
