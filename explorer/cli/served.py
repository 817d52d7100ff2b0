"""``explorer why --run FILE``: what the constraint of a request says of what a server wrote.

Each run of the log is held against the constraint of its own request, or against the one that the
options name. The exit status is 0 if the constraint allows all that was written, 1 if it would have
masked a token of some run, or the end of its text.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from explorer.automata.constraint import Constraint
from explorer.cli.answers import print_json
from explorer.decoding.models.embedded import EMBEDDED
from explorer.errors import ExplorerError
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
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
        from explorer.servers import read_runs, verdict_of
    except ImportError as error:
        raise ExplorerError(
            f"Runs of servers come with the models, and importing failed: {error}.",
            remedy="Install the extra `models` of this package.",
        ) from error
    runs = _chosen(read_runs(arguments.run_file), arguments.index)
    vocabulary = vocabulary_of(arguments) or _embedded(runs)
    verdicts = [verdict_of(run, vocabulary, constraint) for run in runs]
    if arguments.json:
        answers = [verdict.to_dict() for verdict in verdicts]
        print_json({"runs": answers})
    else:
        print("\n\n".join(str(verdict) for verdict in verdicts))
    return WHOLE if all(verdict.allowed for verdict in verdicts) else FAULTY


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
