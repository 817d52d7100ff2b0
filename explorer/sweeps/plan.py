"""Estimates the cost of a large sweep from a small part of it.

`plan` runs some of the prompts in this process, times each part, and estimates the time of a
million rows on a number of workers, and what limits it. The model:

    T(N, w) = S + N · max(c / w, k)

with N rows, w workers, S seconds to open the models and compile the constraints (each worker does
so once, in parallel), c seconds of a worker for a row, and k seconds that the submitting process
spends on a row, for its key and for writing it. So n workers are n times as fast up to w = c / k
workers; beyond that the submitting process is the limit, and two sweeps over halves of the prompts
are faster. The model ignores the network (`bytes_sent` per row), workers of different speeds, and
idle workers during the last batches.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from explorer.arguments import counted, listed, whole_number
from explorer.decoding.batches.constrained_batch import AnyConstraint
from explorer.decoding.models.model import Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.sweeps.folder import SweepFolder, pyarrow
from explorer.sweeps.grid import SweepGrid, SweepSettings
from explorer.sweeps.models import ModelGiven
from explorer.sweeps.sweep import duration
from explorer.sweeps.worker import PARTS, run_batch

ONCE: Final = ("opening", "compiling")
"""The parts of the work that a worker does only once."""

MILLION: Final = 1_000_000
WORKERS: Final = (1, 2, 4, 16, 64, 256)


@dataclass(frozen=True)
class SweepPlan:
    """The estimated cost of a sweep; it prints as a table.

    Args:
        measured: The number of rows that were run for the estimate.
        once: The seconds of each part that a worker does only once.
        each: The seconds per row of each other part.
        asking: The seconds per row of the submitting process.
        tokens: The tokens per row.
        bytes_sent: The bytes per row that a worker sends back.
        bytes_kept: The bytes of Parquet per row.
        rows: The number of rows of the planned sweep.
        workers: The numbers of workers to compare.
    """

    measured: int
    once: Mapping[str, float]
    each: Mapping[str, float]
    asking: float
    tokens: float
    bytes_sent: float
    bytes_kept: float
    rows: int
    workers: tuple[int, ...]

    @property
    def work(self) -> float:
        """The seconds of a worker per row: c of the model."""
        return math.fsum(self.each.values())

    @property
    def most_workers(self) -> float:
        """The number of workers beyond which the submitting process is the limit."""
        return self.work / self.asking

    def seconds(self, rows: int, workers: int) -> float:
        """The seconds of a sweep: T(N, w) of the model.

        Args:
            workers: The number of workers, each as fast as this process.

        Example:
            >>> made = SweepPlan(8, {"opening": 5.0}, {"reading": 0.5}, 0.001, 9.0, 800.0, 200.0,
            ...     1_000_000, (1,))
            >>> made.seconds(1_000, 1), made.seconds(1_000, 100), made.seconds(1_000, 10**6)
            (505.0, 10.0, 6.0)
            >>> made.bound(100), made.bound(10**6)
            ('the workers: reading', 'the submitting process')
        """
        share = max(self.work / workers, self.asking)
        return math.fsum(self.once.values()) + rows * share

    def bound(self, workers: int) -> str:
        """The part that limits a sweep on this number of workers."""
        if workers >= self.most_workers:
            return "the submitting process"
        return f"the workers: {max(self.each, key=lambda part: self.each[part])}"

    def __str__(self) -> str:
        told = ", ".join(f"{part} {seconds:.1f} s" for part, seconds in self.once.items())
        lines = [
            f"measured on {counted(self.measured, 'row')} of {self.tokens:.1f} tokens",
            f"once per worker: {told}",
            f"{'part':<22}{'ms per row':>10}{'share':>8}",
        ]
        for part, seconds in self.each.items():
            lines.append(f"{part:<22}{1000 * seconds:>10.2f}{seconds / self.work:>8.1%}")
        lines += [
            f"{'a worker, in total':<22}{1000 * self.work:>10.2f}",
            f"{'the submitting process':<22}{1000 * self.asking:>10.3f}",
            f"{self.bytes_sent:,.0f} bytes per row come back, {self.bytes_kept:,.0f} are stored",
            f"{'workers':>8}  {f'{self.rows:,} rows take':<24}bound",
        ]
        for count in self.workers:
            took = duration(self.seconds(self.rows, count))
            lines.append(f"{count:>8}  {took:<24}{self.bound(count)}")
        return "\n".join(lines)


def plan(
    prompts: Prompt | Sequence[Prompt] | Mapping[str, Prompt],
    constraints: AnyConstraint | Sequence[AnyConstraint] | Mapping[str, AnyConstraint],
    models: ModelGiven | Sequence[ModelGiven] | Mapping[str, ModelGiven],
    samplers: Sampler | Sequence[Sampler] | Mapping[str, Sampler] = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
    seeds: int | Sequence[int] = 0,
    *,
    rows: int = MILLION,
    sample: int = 32,
    workers: Sequence[int] = WORKERS,
    max_tokens: int = 64,
    masking_budget: bool | None = None,
    batch_size: int = 32,
) -> SweepPlan:
    """Estimate the cost of a sweep by running a small part of it in this process.

    Args:
        prompts, constraints, models, samplers, seeds, max_tokens, masking_budget, batch_size: As in
            `explorer.sweep`.
        rows: The number of rows of the planned sweep.
        sample: The number of prompts to run, evenly spaced by length.
        workers: The numbers of workers to compare.

    Raises:
        ExplorerError: As in `explorer.sweep`.
        MissingDependency: The extra `sweeps` is not installed.

    Example:
        >>> from explorer import choice
        >>> made = plan(["The capital of France is"], choice([" Paris", " Rome"]), "tiny")
        >>> made.measured, made.tokens, "1,000,000 rows take" in str(made)
        (1, 2.0, True)
    """
    settings = SweepSettings(max_tokens, masking_budget, batch_size)
    grid = SweepGrid.of(prompts, constraints, models, samplers, seeds, settings)
    rows = whole_number("rows", rows, 1)
    sample = whole_number("sample", sample, 1)
    counts = tuple(
        whole_number("workers", each, 1) for each in listed("workers", workers, "a list of numbers")
    )
    part = _sampled(grid, sample)
    once: dict[str, float] = dict.fromkeys(ONCE, 0.0)
    each: dict[str, float] = {part: 0.0 for part in PARTS if part not in ONCE}
    tables: list[Any] = []
    tokens = 0
    for batch in part.batches(frozenset()):
        result = run_batch(part.setup, batch)
        tables.append(result.rows)
        tokens += result.tokens
        for name, seconds in result.seconds.items():
            (once if name in once else each)[name] += seconds
    made = pyarrow().concat_tables(tables)
    asking, kept = _asking(part, made)
    count = made.num_rows
    return SweepPlan(
        count, once, {name: seconds / count for name, seconds in each.items()}, asking,
        tokens / count, made.nbytes / count, kept, rows, counts,
    )  # fmt: skip


def _sampled(grid: SweepGrid, count: int) -> SweepGrid:
    """The grid with a sample of its prompts, evenly spaced by length."""
    if len(grid.prompts) <= count:
        return grid
    order = sorted(grid.prompts, key=lambda each: len(str(each[1])))
    step = len(order) / count
    return replace(grid, prompts=tuple(order[int((k + 0.5) * step)] for k in range(count)))


def _asking(grid: SweepGrid, made: Any) -> tuple[float, float]:
    """The seconds per row for keys and writing, and the bytes of Parquet per row."""
    many = pyarrow().concat_tables([made] * max(1, 2_000 // made.num_rows))
    at = time.perf_counter()
    keys = len(list(grid.keys()))
    for_keys = 2 * (time.perf_counter() - at) / keys  # Keys are computed for batches and table.
    with tempfile.TemporaryDirectory() as folder:
        kept = SweepFolder(Path(folder))
        at = time.perf_counter()
        kept.write(many)
        for_writing = (time.perf_counter() - at) / many.num_rows
        # Repeated rows compress too well, so the size is that of the rows written once.
        (old,) = kept.parts()
        old.unlink()
        kept.write(made)
        size = sum(part.stat().st_size for part in kept.parts())
    return for_keys + for_writing, size / made.num_rows
