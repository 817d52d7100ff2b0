"""The figures of a sweep's table: conformance, traps, failures, and the worst runs. Figures only.

Everything here is a pure function of the table, so that a report can be made elsewhere than the
sweep, and a test can work the same figures out by hand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

WORST: Final = 10
"""How many runs a report opens."""

MOST_ERRORS: Final = 20
"""How many different errors are listed."""


@dataclass(frozen=True)
class GroupFigures:
    """The rows of one model, constraint and sampler.

    Args:
        model, constraint, sampler: Their names.
        rows: How many there are.
        failed: How many of them are failures.
        valid: How many are texts of the constraint; of free texts, how many were ended.
        cut: How many were cut off by ``max_tokens``.
        unhelped: How many are valid without one intervention, so that the model wrote them by
            itself.
        tokens: How many tokens all rows have.
        interventions: At how many of them the model's first choice was masked.
        nats: How much log-probability the mask took from the model, of all rows together.
        log_prob: The log-probability of all texts under the model, in nats.
        milliseconds: The rows' shares of their batches' time, together.
    """

    model: str
    constraint: str
    sampler: str
    rows: int
    failed: int
    valid: int
    cut: int
    unhelped: int
    tokens: int
    interventions: int
    nats: float
    log_prob: float
    milliseconds: float

    @property
    def written(self) -> int:
        """How many rows hold a text."""
        return self.rows - self.failed

    def share(self, count: int) -> float:
        """A count as a share of all rows."""
        return count / self.rows if self.rows else math.nan

    @property
    def nats_per_text(self) -> float:
        """The mean of what the mask took from a text; NaN where there is no text."""
        return self.nats / self.written if self.written else math.nan

    @property
    def interventions_per_token(self) -> float:
        """The share of tokens at which the model's first choice was masked."""
        return self.interventions / self.tokens if self.tokens else math.nan


@dataclass(frozen=True)
class SweepSummary:
    """The figures of a table.

    Args:
        rows: How many rows there are.
        failed: How many of them are failures.
        groups: By model, constraint and sampler, in the order of the names.
        traps: How many rows met each kind of trap, by constraint; the most first.
        errors: Kinds and messages of failures with their numbers, the most first.
        worst: The numbers of the rows with texts that lost the most log-probability, the worst
            first; of rows that wrote the same after the same prompt, the first.
    """

    rows: int
    failed: int
    groups: tuple[GroupFigures, ...]
    traps: tuple[tuple[str, str, int], ...]
    errors: tuple[tuple[str, str, int], ...]
    worst: tuple[int, ...]


_NUMBERS: Final = (
    "num_tokens", "interventions", "nats_lost", "log_prob_model", "milliseconds",
)  # fmt: skip


def summarize(table: Any, worst: int = WORST) -> SweepSummary:
    """The figures of a sweep's table.

    Args:
        table: A pyarrow table with the columns of a sweep.
        worst: How many of the worst runs are named.

    Example:
        >>> from explorer import choice, sweep
        >>> done = sweep("The capital of France is", choice([" Paris", " Rome"]), "tiny")
        >>> found = summarize(done.table)
        >>> found.rows, found.groups[0].valid, found.worst
        (1, 1, (0,))
    """
    names = list(zip(*(column(table, n) for n in ("model", "constraint", "sampler")), strict=True))
    numbers = {name: [value or 0 for value in column(table, name)] for name in _NUMBERS}
    errors, stops = column(table, "error"), column(table, "stop")
    free = column(table, "valid")
    groups: dict[tuple[str, str, str], list[int]] = {}
    for k, name in enumerate(names):
        groups.setdefault(name, []).append(k)
    valid = [stops[k] == "end" if said is None else said for k, said in enumerate(free)]

    def total(name: str, rows: Sequence[int]) -> float:
        return math.fsum(numbers[name][k] for k in rows)

    found = tuple(
        GroupFigures(
            *name,
            rows=len(rows),
            failed=sum(errors[k] is not None for k in rows),
            valid=sum(valid[k] for k in rows),
            cut=sum(stops[k] == "max_tokens" for k in rows),
            unhelped=sum(valid[k] and not numbers["interventions"][k] for k in rows),
            tokens=int(total("num_tokens", rows)),
            interventions=int(total("interventions", rows)),
            nats=total("nats_lost", rows),
            log_prob=total("log_prob_model", rows),
            milliseconds=total("milliseconds", rows),
        )
        for name, rows in sorted(groups.items())
    )
    traps = Counter(
        (names[k][1], kind)
        for k, kinds in enumerate(column(table, "traps"))
        for kind in kinds or ()
    )
    said = Counter(
        (kind, message)
        for kind, message in zip(column(table, "error_kind"), errors, strict=True)
        if message is not None
    )
    prompts, texts = column(table, "prompt"), column(table, "text")
    order = sorted(
        (k for k, error in enumerate(errors) if error is None),
        key=lambda k: (-numbers["nats_lost"][k], k),
    )
    different: dict[tuple[str, ...], int] = {}
    for k in order:
        different.setdefault((*names[k][:2], prompts[k], texts[k]), k)
    return SweepSummary(
        len(names),
        sum(error is not None for error in errors),
        found,
        tuple((*name, count) for name, count in sorted(traps.items(), key=lambda e: (-e[1], e[0]))),
        tuple((*name, count) for name, count in said.most_common(MOST_ERRORS)),
        tuple(different.values())[:worst],
    )


def column(table: Any, name: str) -> list[Any]:
    """A column of a table as a list."""
    return table[name].to_pylist()
