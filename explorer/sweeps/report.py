"""The report on a sweep: its summary figures.

`summarize` counts conformance and failures. It is a pure function of the table, so a report can be
made on another machine than the sweep, and a test can check the figures by hand. `report` returns a
plotly figure. It is drawn by the views, which the engine imports only by name.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from explorer.arguments import file_path, wrong
from explorer.errors import ExplorerError, MissingDependency
from explorer.sweeps.folder import columns, pyarrow, read_rows
from explorer.sweeps.sweep import Sweep

MOST_ERRORS: Final = 20
"""The most different errors that are listed."""


@dataclass(frozen=True)
class GroupFigures:
    """The figures of the rows of one model, constraint and sampler.

    Args:
        valid: The number of texts that satisfy the constraint; if unconstrained, that ended.
        cut: The number of texts cut off by ``max_tokens``.
        unhelped: The number of valid texts without an intervention, which the model alone would
            have written too.
    """

    model: str
    constraint: str
    sampler: str
    rows: int
    failed: int
    valid: int
    cut: int
    unhelped: int

    def share(self, count: int) -> float:
        """A count as a share of all rows."""
        return count / self.rows if self.rows else math.nan


@dataclass(frozen=True)
class SweepSummary:
    """The figures of a table.

    Args:
        errors: Kind, message and number of rows of each error; the most frequent first.
    """

    rows: int
    failed: int
    groups: tuple[GroupFigures, ...]
    errors: tuple[tuple[str, str, int], ...]


def summarize(table: Any) -> SweepSummary:
    """The figures of a sweep's table.

    Example:
        >>> from explorer import choice, sweep
        >>> done = sweep("The capital of France is", choice([" Paris", " Rome"]), "tiny")
        >>> summary = summarize(done.table)
        >>> summary.rows, summary.groups[0].valid
        (1, 1)
    """
    names = list(zip(*(column(table, n) for n in ("model", "constraint", "sampler")), strict=True))
    changed = column(table, "interventions")
    errors, stops = column(table, "error"), column(table, "stop")
    free = column(table, "valid")
    groups: dict[tuple[str, str, str], list[int]] = {}
    for k, name in enumerate(names):
        groups.setdefault(name, []).append(k)
    valid = [stops[k] == "end" if said is None else said for k, said in enumerate(free)]

    figures = tuple(
        GroupFigures(
            *name,
            rows=len(rows),
            failed=sum(errors[k] is not None for k in rows),
            valid=sum(valid[k] for k in rows),
            cut=sum(stops[k] == "max_tokens" for k in rows),
            unhelped=sum(valid[k] and not changed[k] for k in rows),
        )
        for name, rows in sorted(groups.items())
    )
    said = Counter(
        (kind, message)
        for kind, message in zip(column(table, "error_kind"), errors, strict=True)
        if message is not None
    )
    return SweepSummary(
        len(names),
        sum(error is not None for error in errors),
        figures,
        tuple((*name, count) for name, count in said.most_common(MOST_ERRORS)),
    )


def column(table: Any, name: str) -> list[Any]:
    """A column of a table as a list."""
    return table[name].to_pylist()


_DRAWN_BY: Final = "widgets.report"


def report(table: Sweep | str | Path | Any) -> list[Any]:
    """Draw the figure of a sweep: how many texts satisfy their constraint, and by whose doing.

    In a notebook, ``for figure in report(done): figure.show()``; elsewhere
    ``figure.write_html(path)``.

    Args:
        table: The result of `sweep`, its folder, or its pyarrow table.

    Returns:
        A figure of plotly, with its content as a sentence below its title.

    Raises:
        ExplorerError: The table is not one of a sweep.
        MissingDependency: plotly or pyarrow is not installed.
        FileError: There is no such folder.

    Example:
        >>> from explorer import choice, sweep
        >>> done = sweep("The capital of France is", choice([" Paris", " Rome"]), "tiny")
        >>> len(report(done))
        1
    """
    rows = _rows_of(table)
    try:
        module: Any = import_module(_DRAWN_BY)
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"The report needs the library {error.name!r}, which is not installed.",
            remedy="Install the extra `lab`: pip install 'constraint-explorer[lab]'.",
            evidence={"library": error.name},
        ) from error
    return module.figures(summarize(rows))


def _rows_of(table: object) -> Any:
    if isinstance(table, Sweep):
        return table.table
    if isinstance(table, str | Path):
        return read_rows(file_path("table", table))
    if not isinstance(table, pyarrow().Table):
        raise wrong("table", table, "a sweep, its folder or its table")
    rows: Any = table
    lacking = [name for name in columns().names if name not in rows.column_names]
    if lacking:
        raise ExplorerError(
            f"The table has no column {lacking[0]!r}, so it is not the table of a sweep.",
            remedy="Give what `explorer.sweep` returned, or its folder.",
            evidence={"lacking": tuple(lacking)},
        )
    return rows
