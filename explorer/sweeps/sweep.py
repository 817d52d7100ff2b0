"""Thousands of prompts through constraints, models, samplers and seeds: one row for each.

`sweep` runs the product of its arguments in batches and returns a table. With a folder, rows are
written to Parquet while the sweep runs; the same call resumes where the last one ended, however it
ended. Elsewhere than in this process, a batch is a task of a Dask cluster: Dask gives the batches
of a worker that dies to another one, and reports a batch that kills its workers, whose rows are
then run one by one.

The setup is a task too, and not scattered data: a worker that joins later fetches it from another
worker, and if all workers that hold it die, it is computed again. Objects are pickled between the
processes of the cluster, as always in Dask: run one only where Dask's own documentation says that
it is safe.

Cost: that of generating the texts, and per row about 2 kB of memory without a folder or about
0.5 kB of disk with one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from explorer.arguments import counted, file_path, flag, plain, whole_number, wrong
from explorer.budget import Budget
from explorer.decoding.batches.constrained_batch import AnyConstraint
from explorer.decoding.models.model import Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.files import file_errors
from explorer.sweeps.folder import (
    columns,
    keys_of,
    library,
    pyarrow,
    read_rows,
    stored_parts,
    write_part,
)
from explorer.sweeps.grid import SweepBatch, SweepGrid, SweepSettings, SweepSetup
from explorer.sweeps.models import ModelGiven
from explorer.sweeps.worker import BatchResult, failed_batch, packed_setup, run_batch

ROWS_IN_PART: Final = 4096
"""The number of rows after which a part is written."""

SECONDS_IN_PART: Final = 10.0
"""The seconds after which a part is written, so that a crash costs little."""

MOST_PROCESSES: Final = 1024

Listener = Callable[[int, int], object]
"""A function of the number of finished rows and the number of all rows."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """The result of a sweep: a table, and the counts of the run.

    It can be read as an Arrow table: ``pyarrow.table(sweep)``, ``polars.from_arrow(sweep)`` and
    DuckDB accept it.

    Args:
        table: The finished rows as a ``pyarrow.Table``, ordered by prompt, constraint, model,
            sampler and seed; `docs/sweeps.md` explains each column.
        folder: The folder of the rows; ``None`` if none was given.
        asked: The number of rows that were asked for.
        found: The number of rows that the folder held before.
        written: The number of rows that this run added.
        failed: The number of written rows that failed; their column ``error`` says why.
        cancelled: Whether the run was interrupted.
    """

    table: Any
    folder: Path | None
    asked: int
    found: int
    written: int
    failed: int
    cancelled: bool
    seconds: float

    def __len__(self) -> int:
        """The number of finished rows."""
        return self.found + self.written

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        said = [f"{len(self):,} of {counted(self.asked, 'row')}"]
        if self.found:
            said.append(f"{self.found:,} of them were there already")
        said.append(f"{self.failed:,} failed")
        if self.cancelled:
            said.append("interrupted")
        where = "" if self.folder is None else f" in {self.folder}"
        return f"{', '.join(said)}; {self.seconds:.1f} s{where}"

    def __repr__(self) -> str:
        return f"<Sweep: {self}>"


def sweep(
    prompts: Prompt | Sequence[Prompt] | Mapping[str, Prompt],
    constraints: AnyConstraint | Sequence[AnyConstraint] | Mapping[str, AnyConstraint],
    models: ModelGiven | Sequence[ModelGiven] | Mapping[str, ModelGiven],
    samplers: Sampler | Sequence[Sampler] | Mapping[str, Sampler] = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
    seeds: int | Sequence[int] = 0,
    *,
    folder: str | Path | None = None,
    where: object = None,
    max_tokens: int = 64,
    masking_budget: bool | None = None,
    batch_size: int = 32,
    retry_failures: bool = False,
    progress: bool | Listener = False,
    budget: Budget | None = None,
) -> Sweep:
    """Generate and measure a text for each prompt, constraint, model, sampler and seed.

    A failed row says what went wrong. Ctrl-C (or an interrupted kernel) ends the sweep: finished
    rows stay in the folder and in the returned table.

    Args:
        prompts: Texts or conversations; a mapping gives them names. Equal prompts count once.
        constraints: The constraints on the texts; ``None`` for unconstrained text. A mapping gives
            them names.
        models: Names or folders for `load_model`, models, or functions that open one; each worker
            opens each model once. A mapping gives them names.
        samplers: By default greedy. A mapping gives them names.
        seeds: The seeds of the random numbers; a row is the text of ``Session(..., seed=seed)``.
        folder: The folder to which rows are written as Parquet; a later call runs only the missing
            rows. By default rows are kept in memory.
        where: ``None`` for this process, a number of processes, or a Dask client.
        max_tokens: The most tokens of each text, including the end of text.
        masking_budget: Whether masks make the texts end within ``max_tokens``, as in `generate`.
        batch_size: The number of rows that a model reads at once.
        retry_failures: Whether failed rows in the folder are run again.
        progress: Whether to draw a progress bar; or a function of the number of finished rows and
            that of all rows.
        budget: Limits for compiling each constraint.

    Returns:
        The table, and the counts of the run.

    Raises:
        ExplorerError: An argument is of the wrong kind, or the sweep has no rows.
        MissingDependency: The extra `sweeps` is not installed.
        FileError: The folder cannot be written.

    Example:
        >>> from explorer import choice
        >>> done = sweep(
        ...     ["The capital of France is", "The capital of Italy is"],
        ...     choice([" Paris", " Rome"]), "tiny")
        >>> done.table["text"].to_pylist(), done.table["valid"].to_pylist()
        ([' Paris', ' Rome'], [True, True])
    """
    pyarrow()  # Raises early if the extra is missing.
    settings = SweepSettings(max_tokens, masking_budget, batch_size, budget)
    grid = SweepGrid.of(prompts, constraints, models, samplers, seeds, settings)
    again = flag("retry_failures", retry_failures)
    told, place = _listener(progress), _checked_place(where)
    kept = None if folder is None else file_path("folder", folder)
    done: set[str] = set()
    if kept is not None:
        with file_errors(kept, writing=True):
            kept.mkdir(parents=True, exist_ok=True)
        done = keys_of(kept, failures=not again)
    order = list(grid.keys())
    already = sum(key in done for key in order)
    rows = _SweptRows(kept)
    begun, cancelled = time.monotonic(), False
    told(already, len(order))
    results = _results(place, grid.setup, grid.batches(done))
    try:
        for result in results:
            rows.add(result)
            told(already + rows.written, len(order))
    except KeyboardInterrupt:
        cancelled = True
    finally:
        results.close()
        rows.flush()
    return Sweep(
        rows.table(order), kept, len(order), already, rows.written, rows.failed, cancelled,
        time.monotonic() - begun,
    )  # fmt: skip


@dataclass
class _SweptRows:
    """The rows that a sweep has made so far; with a folder they are written to it in parts."""

    folder: Path | None
    kept: list[Any] = field(default_factory=lambda: [])
    written: int = 0
    failed: int = 0
    since: float = field(default_factory=time.monotonic)

    def add(self, result: BatchResult) -> None:
        self.kept.append(result.rows)
        self.written += result.rows.num_rows
        self.failed += result.failed
        late = time.monotonic() - self.since >= SECONDS_IN_PART
        if late or sum(rows.num_rows for rows in self.kept) >= ROWS_IN_PART:
            self.flush()

    def flush(self) -> None:
        if self.folder is not None and self.kept:
            write_part(self.folder, pyarrow().concat_tables(self.kept))
            self.kept.clear()
        self.since = time.monotonic()

    def table(self, order: Sequence[str]) -> Any:
        """The finished rows with these keys, in this order."""
        pa = pyarrow()
        if self.folder is not None and stored_parts(self.folder):
            rows = read_rows(self.folder)
        else:
            rows = pa.concat_tables([columns().empty_table(), *self.kept])
        place = {key: k for k, key in enumerate(rows["key"].to_pylist())}
        return rows.take(pa.array([place[key] for key in order if key in place], pa.int64()))


def _listener(progress: object) -> Listener:
    """The listener for a user's ``progress``.

    Raises:
        ExplorerError: It is neither a bool nor a function.
    """
    if isinstance(progress, bool):
        if not progress:
            return lambda _done, _total: None
        bar: Any = library("tqdm.auto", "A progress bar").tqdm(unit=" rows")

        def draw(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)
            if done == total:
                bar.close()

        return draw
    if not callable(progress):
        raise wrong("progress", progress, "True, False, or a function of two numbers of rows")
    return progress


def _checked_place(where: object) -> Any:
    """``None``, a number of processes, or a Dask client.

    Raises:
        ExplorerError: It is something else.
    """
    where = plain(where)
    if where is None:
        return None
    if isinstance(where, int) and not isinstance(where, bool):
        return whole_number("where", where, 1, MOST_PROCESSES)
    # A Dask client can exist only if its module has been imported.
    dask: Any = sys.modules.get("distributed")
    if dask is not None and isinstance(where, dask.Client):
        return where
    raise wrong("where", where, "None, a number of processes or a Dask client")


def _results(
    where: Any, setup: SweepSetup, batches: Iterator[SweepBatch]
) -> Generator[BatchResult]:
    """The results of all batches, in any order."""
    if where is None:
        for batch in batches:
            yield run_batch(setup, batch)
    elif isinstance(where, int):
        dask = library("distributed", "A sweep in several processes")
        with dask.LocalCluster(
            n_workers=where, threads_per_worker=1, dashboard_address=None
        ) as cluster, dask.Client(cluster) as client:  # fmt: skip
            yield from _on_dask(dask, client, setup, batches)
    else:
        dask = library("distributed", "A cluster")
        yield from _on_dask(dask, where, setup, batches)


def _on_dask(
    dask: Any, client: Any, setup: SweepSetup, batches: Iterator[SweepBatch]
) -> Generator[BatchResult]:
    """The results of all batches from a cluster; what is not done at the end is cancelled there."""
    packed = client.submit(bytes, packed_setup(setup), pure=False)
    flying = {
        client.submit(run_batch, packed, batch, pure=False): batch for batch in batches
    }  # fmt: skip
    suspects: list[SweepBatch] = []
    try:
        for future in dask.as_completed(list(flying)):
            batch = flying.pop(future)
            try:
                yield future.result()
            except dask.KilledWorker:
                suspects += [replace(batch, rows=(row,)) for row in batch.rows]
        # Dask suspects all tasks of a worker that dies, so each of these rows is alone there.
        for batch in suspects:
            future = client.submit(run_batch, packed, batch, pure=False)
            try:
                yield future.result()
            except dask.KilledWorker as error:
                yield failed_batch(setup, batch, _lost(error))
    except (OSError, dask.CancelledError) as error:  # `CommClosedError` is an OSError too.
        raise ExplorerError(
            "The Dask scheduler went away.",
            remedy="Connect a new client and run the sweep again: with a folder it goes on where "
            "it ended.",
            evidence={"error": type(error).__name__},
        ) from error
    finally:
        if client.status == "running":
            client.cancel(list(flying))


def _lost(error: Exception) -> ExplorerError:
    return ExplorerError(
        f"The worker that ran the row died each time: {error}",
        remedy="Check whether the workers have enough memory.",
    )
