"""Thousands of prompts through constraints, models, samplers and seeds: one row for each.

`sweep` runs the product of its arguments in batches and returns a table. With a folder, rows are
written to Parquet while the sweep runs; the same call resumes where the last one ended, however it
ended. `explorer.sweeps.places` says where batches run.

Cost: that of generating the texts (`docs/sweeps.md` has the figures), and per row about 2 kB of
memory without a folder or about 0.5 kB of disk with one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any, Final, TextIO

from explorer.arguments import counted, file_path, flag, instance, wrong
from explorer.budget import Budget
from explorer.decoding.batches.constrained_batch import AnyConstraint
from explorer.decoding.models.model import Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.sweeps.folder import KnownSweep, SweepFolder, columns, pyarrow, with_knowledge
from explorer.sweeps.grid import SweepBatch, SweepGrid, SweepSettings
from explorer.sweeps.models import ModelGiven
from explorer.sweeps.places import Finished, Place, place_for
from explorer.sweeps.worker import PARTS, failed_batch

WIDTH: Final = 24
EVERY: Final = 0.2
"""The least seconds between two drawings of the bar."""


@dataclass(frozen=True)
class SweepProgress:
    """The progress of a sweep.

    Example:
        >>> print(SweepProgress(6, 24, 1, 2.0))
        ██████                    6 of 24 rows, 2.0 a second, 9 s left, 1 failed
    """

    done: int
    total: int
    failed: int
    rate: float

    @property
    def left(self) -> float:
        """The estimated seconds until the end; infinite before the first result."""
        return (self.total - self.done) / self.rate if self.rate else float("inf")

    def __str__(self) -> str:
        bar = "█" * (WIDTH * self.done // max(1, self.total))
        parts = [f"{bar:<{WIDTH}}  {self.done:,} of {self.total:,} rows"]
        if self.rate:
            parts.append(f"{self.rate:,.1f} a second")
        if self.rate and self.done < self.total:
            parts.append(f"{duration(self.left)} left")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        return ", ".join(parts)


def duration(seconds: float) -> str:
    """A duration for display.

    Example:
        >>> duration(42.4), duration(62), duration(90_061), duration(10**6)
        ('42 s', '1 min 02 s', '25 h 01 min', '12 days')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{round(hours / 24):,} days"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


Listener = Callable[[SweepProgress], object]


class SweepBar:
    """A progress bar on one terminal line, which is overwritten in place.

    Args:
        stream: The output; by default standard error.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._drawn = 0.0
        self._length = 0

    def __call__(self, progress: SweepProgress) -> None:
        """Draw the bar, unless it was drawn within the last `EVERY` seconds."""
        now = time.monotonic()
        if now - self._drawn < EVERY and progress.done < progress.total:
            return
        self._drawn = now
        line = str(progress)
        self._stream.write(f"\r{line:<{self._length}}")
        self._stream.flush()
        self._length = len(line)

    def close(self) -> None:
        """End the line, if one was drawn."""
        if self._length:
            self._stream.write("\n")
            self._stream.flush()


def checked_progress(progress: object) -> SweepBar | Listener | None:
    """The listener for a user's ``progress``: a bar, ``None``, or a function.

    Raises:
        ExplorerError: It is neither a bool nor a function.
    """
    if isinstance(progress, bool):
        return SweepBar() if flag("progress", progress) else None
    if not callable(progress):
        raise wrong("progress", progress, "True, False, or a function of a SweepProgress")
    return progress


ROWS_IN_PART: Final = 4096
"""The number of rows after which a part is written."""

SECONDS_IN_PART: Final = 10.0
"""The seconds after which a part is written, so that a crash costs little."""

WAIT: Final = 0.2
"""The seconds that the sweep waits for a result before it checks whether it was cancelled."""

MOST_LOSSES: Final = 3
"""The losses after which a batch is run row by row, and a single row counts as a failure."""


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
        parts: The seconds of each part of the work, over all workers.
    """

    table: Any
    folder: Path | None
    asked: int
    found: int
    written: int
    failed: int
    cancelled: bool
    seconds: float
    parts: Mapping[str, float]

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
            said.append("called off")
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
    traces: bool = False,
    retry_failures: bool = False,
    progress: bool | Listener = False,
    cancel: Event | None = None,
    budget: Budget | None = None,
) -> Sweep:
    """Generate and measure a text for each prompt, constraint, model, sampler and seed.

    A failed row says what went wrong. Ctrl-C ends the sweep as ``cancel`` does: finished rows stay
    in the folder and in the returned table.

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
        where: The place where batches run: ``None`` for this process, a number of processes, an
            executor of `concurrent.futures`, a Dask client, or your own `Place`.
        max_tokens: The most tokens of each text, including the end of text.
        masking_budget: Whether masks make the texts end within ``max_tokens``, as in `generate`.
        batch_size: The number of rows that a model reads at once.
        traces: Whether each row stores its trace, as JSON that `Trace` reads.
        retry_failures: Whether failed rows in the folder are run again.
        progress: Whether to draw a progress bar; or a function that receives `SweepProgress`.
        cancel: An event that ends the sweep when it is set.
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
    settings = SweepSettings(max_tokens, masking_budget, batch_size, traces, budget)
    grid = SweepGrid.of(prompts, constraints, models, samplers, seeds, settings)
    told = checked_progress(progress)
    if cancel is not None:
        cancel = instance("cancel", cancel, Event, "a threading.Event")
    again = flag("retry_failures", retry_failures)
    place = place_for(where)
    if folder is None:
        return _Running(grid, None, place, told, cancel).run()
    kept = SweepFolder(file_path("folder", folder))
    with kept.locked():
        if again:
            kept.drop_failures()
        kept.describe(grid.setup)
        return _Running(grid, kept, place, told, cancel).run()


@dataclass
class _Running:
    """The state of a running sweep."""

    grid: SweepGrid
    folder: SweepFolder | None
    place: Place
    told: SweepBar | Listener | None
    cancel: Event | None
    done: set[str] = field(default_factory=lambda: set[str]())
    memory: list[Any] = field(default_factory=lambda: [])
    buffers: dict[int, list[Any]] = field(default_factory=lambda: {})
    buffered_at: float = 0.0
    parts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    losses: dict[int, int] = field(default_factory=lambda: {})
    singles: Iterator[int] = field(default_factory=lambda: count(1))
    written: int = 0
    failed: int = 0

    def run(self) -> Sweep:
        begun = time.monotonic()
        if self.folder is not None:
            self.done = self.folder.done()
        order = list(self.grid.keys())
        known = sum(key in self.done for key in order)
        cancelled = False
        try:
            self.place.start(self.grid.setup)
            cancelled = not self._all(known, begun)
        except KeyboardInterrupt:
            cancelled = True
        finally:
            self._flush()
            self.place.close()
            if isinstance(self.told, SweepBar):
                self.told.close()
        return Sweep(
            self._table(order), None if self.folder is None else self.folder.path, len(order),
            known, self.written, self.failed, cancelled, time.monotonic() - begun, self.parts,
        )  # fmt: skip

    def _all(self, known: int, begun: float) -> bool:
        """Run all missing rows; return whether the sweep reached its end."""
        waiting: Iterator[SweepBatch] = self.grid.batches(self.done)
        again: list[SweepBatch] = []
        flying = 0
        total = self.grid.num_rows
        self._tell(known, total, begun)
        while True:
            while flying < self.place.capacity:
                if self._called_off():
                    return False
                batch = again.pop() if again else next(waiting, None)
                if batch is None:
                    break
                self.place.submit(batch)
                flying += 1
            if not flying:
                return True
            for back in self.place.finished(WAIT):
                flying -= 1
                if back.result is None:
                    again += self._tried_again(back)
                else:
                    self._take(back)
                self._tell(known, total, begun)
            if self._called_off():
                return False

    def _called_off(self) -> bool:
        return self.cancel is not None and self.cancel.is_set()

    def _tried_again(self, back: Finished) -> list[SweepBatch]:
        """The batches to submit for a lost batch.

        A batch that may have killed its workers is tried a few times, then row by row; a row that
        still kills its worker becomes a failure.
        """
        batch = back.batch
        if not back.suspect:
            return [batch]
        number = batch.number
        self.losses[number] = self.losses.get(number, 0) + 1
        if self.losses[number] < MOST_LOSSES:
            return [batch]
        if len(batch.rows) > 1:
            return [replace(batch, number=-next(self.singles), rows=(row,)) for row in batch.rows]
        error = ExplorerError(
            f"The row was lost {MOST_LOSSES} times with the worker that ran it: {back.lost}",
            remedy="Check whether the workers have enough memory.",
        )
        self._take(Finished(batch, failed_batch(self.grid.setup, batch, error)))
        return []

    def _take(self, back: Finished) -> None:
        result = back.result
        if result is None:
            return
        self.written += result.rows.num_rows
        self.failed += result.failed
        for part, seconds in result.seconds.items():
            self.parts[part] += seconds
        if self.folder is None:
            self.memory.append(result.rows)
            return
        if not self.buffers:
            self.buffered_at = time.monotonic()
        self.buffers.setdefault(back.batch.model, []).append(result.rows)
        count = sum(rows.num_rows for tables in self.buffers.values() for rows in tables)
        if count >= ROWS_IN_PART or time.monotonic() - self.buffered_at >= SECONDS_IN_PART:
            self._flush()

    def _flush(self) -> None:
        if self.folder is None:
            return
        for model in list(self.buffers):
            self.folder.write(pyarrow().concat_tables(self.buffers[model]))
            del self.buffers[model]

    def _tell(self, known: int, total: int, begun: float) -> None:
        if self.told is not None:
            rate = self.written / max(1e-9, time.monotonic() - begun)
            self.told(SweepProgress(known + self.written, total, self.failed, rate))

    def _table(self, order: Sequence[str]) -> Any:
        if self.folder is not None:
            return self.folder.table(order)
        pa = pyarrow()
        rows = pa.concat_tables(self.memory) if self.memory else columns().empty_table()
        rows = with_knowledge(rows, KnownSweep.of(self.grid.setup))
        place = {key: k for k, key in enumerate(rows["key"].to_pylist())}
        return rows.take(pa.array([place[key] for key in order if key in place], pa.int64()))
