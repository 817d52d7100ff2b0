"""``explorer why --run FILE``: what the constraint of a request says of what a server wrote.

Each run of the log is held against the constraint of its own request, or against the one that the
options name. The exit status is 0 if the constraint allows all that was written, 1 if it would have
masked a token of some run, or the end of its text.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from explorer.automata.constraint import Constraint
from explorer.cli.answers import print_json
from explorer.decoding.models.embedded import EMBEDDED
from explorer.errors import ExplorerError
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from explorer.decoding.models.model import LanguageModel
    from explorer.servers import ServerRun

WHOLE = 0
FAULTY = 1


def add_served(command: argparse.ArgumentParser) -> None:
    """``--run FILE`` and ``--index N``.

    Args:
        command: Where they go.
    """
    command.add_argument(
        "--run",
        dest="run_file",
        metavar="FILE",
        help="a server's log: the first token that its constraint would have masked",
    )
    command.add_argument(
        "--index", type=int, metavar="N", help="which run of the log, from 0; default all"
    )
    command.add_argument(
        "--beside",
        action="store_true",
        help="with --run and --model: the model's log-probabilities beside the server's",
    )


def why_served(
    arguments: argparse.Namespace,
    constraint: Constraint | None,
    vocabulary_of: Callable[[argparse.Namespace], Vocabulary | None],
) -> int:
    """Answer for each run of a log.

    Args:
        arguments: The parsed options.
        constraint: The constraint that they name; ``None`` for that of each request.
        vocabulary_of: The vocabulary that the options name.

    Returns:
        0 if the constraint allows all that was written, else 1.

    Raises:
        ExplorerError: The log is not usable, or no tokenizer is given.
    """
    try:
        from explorer.servers import read_runs, run_beside, verdict_of
    except ImportError as error:
        raise ExplorerError(
            f"Runs of servers come with the models, and importing failed: {error}.",
            remedy="Install the extra `models` of this package.",
        ) from error
    runs = _chosen(read_runs(arguments.run_file), arguments.index)
    model = _model(arguments)
    vocabulary = model.vocabulary if model else vocabulary_of(arguments) or _embedded(runs)
    verdicts = [verdict_of(run, vocabulary, constraint) for run in runs]
    tables = [run_beside(run, model, constraint) for run in runs] if model else []
    if arguments.json:
        answers = [verdict.to_dict() for verdict in verdicts]
        for answer, table in zip(answers, tables, strict=False):
            answer["beside"] = [asdict(row) for row in table.rows]
            answer["agrees"] = table.agrees
        print_json({"runs": answers})
    else:
        shown = [str(verdict) for verdict in verdicts]
        for k, table in enumerate(tables):
            shown[k] += f"\n\n{table}"
        print("\n\n".join(shown))
    return WHOLE if all(verdict.allowed for verdict in verdicts) else FAULTY


def _model(arguments: argparse.Namespace) -> LanguageModel | None:
    """The model to read the runs with, where that is asked for."""
    if not arguments.beside:
        return None
    if arguments.model is None:
        raise ExplorerError(
            "--beside shows a model's numbers, and no model is given.", remedy="Give --model NAME."
        )
    from explorer.decoding.models.load import load_model

    return load_model(arguments.model)


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
    """The vocabulary of an embedded model, where the log names one."""
    names = {run.model for run in runs}
    name = names.pop() if len(names) == 1 else None
    if name is None or name not in EMBEDDED:
        shown = "the model" if name is None else repr(name)
        raise ExplorerError(
            f"The tokenizer of {shown} is needed to say what the log's tokens are.",
            remedy="Give its file or folder: --tokenizer PATH.",
        )
    return Vocabulary.from_file(EMBEDDED[name])
