"""``explorer sweep`` and ``explorer report``: many prompts into a folder, and a page about it.

The prompts are the lines of a file; in a file that ends in ``.jsonl`` each line is a text or a list
of messages as JSON. Repeating the command only adds missing rows.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from explorer.arguments import file_path
from explorer.cli.command import INTERRUPTED, Commands, add_command
from explorer.cli.options import add_constraint, constraint_of
from explorer.errors import ExplorerError
from explorer.files import read_text, write_whole

if TYPE_CHECKING:
    from explorer.decoding.models.model import Prompt


FAILED = 1
"""The exit status if some rows failed."""


def add_sweep(commands: Commands) -> None:
    """Add ``explorer sweep`` and its options."""
    command = add_command(
        commands,
        "sweep",
        _sweep,
        "write and measure a text for each prompt of a file",
        "Write a text for each prompt of a file and measure what the constraint did to the model; "
        "rows go to a folder of Parquet. The same command goes on where the last one ended. The "
        "exit status is 1 if some rows failed.",
    )
    command.add_argument("file", help="a prompt in each line; .jsonl: a text or messages as JSON")
    command.add_argument("--into", required=True, metavar="FOLDER", help="the folder of the rows")
    command.add_argument(
        "--model", action="append", metavar="NAME", help='as for trace; repeatable; default "tiny"'
    )
    add_constraint(command)
    command.add_argument(
        "--temperature", type=float, action="append", metavar="T", help="default 0; repeatable"
    )
    command.add_argument("--seeds", type=int, default=1, metavar="N", help="seeds 0 to N - 1")
    command.add_argument(
        "--max-tokens", type=int, default=64, metavar="N", help="the most per text"
    )
    command.add_argument(
        "--batch-size", type=int, default=32, metavar="N", help="rows read at once"
    )
    command.add_argument("--processes", type=int, metavar="N", help="default: only this one")
    command.add_argument("--dask", metavar="ADDRESS", help="the scheduler of a Dask cluster")
    command.add_argument("--traces", action="store_true", help="keep the trace of each row")
    command.add_argument("--retry-failures", action="store_true", help="run failed rows again")


def add_report(commands: Commands) -> None:
    """Add ``explorer report`` and its options."""
    command = add_command(
        commands,
        "report",
        _report,
        "write one HTML page about the folder of a sweep",
        "Write one HTML page about the folder of a sweep, which needs no network.",
    )
    command.add_argument("folder", help="the folder of a sweep")
    command.add_argument("--output", default="report.html", metavar="FILE", help="the page")


def _sweep(arguments: argparse.Namespace) -> int:
    from explorer.decoding.sampling.sampler import Sampler
    from explorer.sweeps.folder import library
    from explorer.sweeps.sweep import sweep

    if arguments.dask is not None and arguments.processes is not None:
        raise ExplorerError(
            "--dask and --processes are two places where a sweep runs.", remedy="Give one of them."
        )
    prompts = _prompts(arguments.file)
    constraint = constraint_of(arguments)
    where: object = arguments.processes
    if arguments.dask is not None:
        where = library("distributed", "--dask").Client(arguments.dask)
    done = sweep(
        prompts,
        constraint,
        arguments.model or ["tiny"],
        [Sampler(each) for each in arguments.temperature or [0.0]],
        range(arguments.seeds),
        folder=file_path("--into", arguments.into),
        where=where,
        max_tokens=arguments.max_tokens,
        batch_size=arguments.batch_size,
        traces=arguments.traces,
        retry_failures=arguments.retry_failures,
        progress=sys.stderr.isatty(),
    )
    print(done)
    if done.cancelled:
        return INTERRUPTED
    failed = sum(error is not None for error in done.table["error"].to_pylist())
    return FAILED if failed else 0


def _report(arguments: argparse.Namespace) -> None:
    from explorer.sweeps.report import report

    target = file_path("--output", arguments.output)
    drawn = report(file_path("folder", arguments.folder))
    pages = [
        figure.to_html(full_html=False, include_plotlyjs=k == 0) for k, figure in enumerate(drawn)
    ]
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Sweep</title><body>'
    write_whole(target, "\n".join([head, *pages]).encode("utf-8", "replace"))
    print(target)


def _prompts(name: str) -> list[Prompt]:
    path = file_path("file", name)
    lines = [line for line in read_text(path).split("\n") if line.strip()]
    if path.suffix.lower() != ".jsonl":
        return list(lines)
    prompts: list[Prompt] = []
    for number, line in enumerate(lines, 1):
        try:
            prompts.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise ExplorerError(
                f"{path}: line {number} is not JSON: {error}.",
                remedy="Write a text in quotes, or a list of messages, in each line.",
            ) from error
    return prompts
