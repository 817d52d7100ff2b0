"""The report on a sweep: summary figures, and the cost of each part of a constraint.

`summarize` counts conformance, traps and failures. It is a pure function of the table, so a report
can be made on another machine than the sweep, and a test can check the figures by hand.

`costs_by_part` finds the parts of a constraint that cost the model most probability. At each token
the mask costs −ln Z, with Z the model's probability on allowed tokens. The text so far determines
the place in the constraint (`explorer.analysis.places`): a property of a schema, a rule of a
grammar, a piece of a pattern. The costs at a place add up to the cost of that part.

Many rows share a beginning, so costs are first added up by constraint and text so far. The texts
with the highest cost are then looked up until the time is used up; the result states which share of
the total cost it covers.

Cost: one pass over the tokens of the table, and 0.1 ms (a pattern) to 20 ms (a schema) for each
text that is looked up.

`report` returns plotly figures. They are drawn by the views, which the engine imports only by name.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec

from explorer.analysis.places.spans import SourcePart, SourcePlace, parts
from explorer.arguments import file_path, real_number, wrong
from explorer.errors import ExplorerError, MissingDependency
from explorer.languages.constraint import Constraint
from explorer.languages.sources.serial import source_from_dict
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
        nats: The log-probability that the masks took from the model, over all rows.
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
        """The number of rows that hold a text."""
        return self.rows - self.failed

    def share(self, count: int) -> float:
        """A count as a share of all rows."""
        return count / self.rows if self.rows else math.nan

    @property
    def nats_per_text(self) -> float:
        """The mean log-probability that the masks took from a text; NaN if there is no text."""
        return self.nats / self.written if self.written else math.nan

    @property
    def interventions_per_token(self) -> float:
        """The share of tokens at which the model's first choice was masked."""
        return self.interventions / self.tokens if self.tokens else math.nan


@dataclass(frozen=True)
class SweepSummary:
    """The figures of a table.

    Args:
        traps: Constraint, kind of trap and number of rows that met it; the most frequent first.
        errors: Kind, message and number of rows of each error; the most frequent first.
    """

    rows: int
    failed: int
    groups: tuple[GroupFigures, ...]
    traps: tuple[tuple[str, str, int], ...]
    errors: tuple[tuple[str, str, int], ...]


_NUMBERS: Final = (
    "num_tokens", "interventions", "nats_lost", "log_prob_model", "milliseconds",
)  # fmt: skip


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
    numbers = {name: [value or 0 for value in column(table, name)] for name in _NUMBERS}
    errors, stops = column(table, "error"), column(table, "stop")
    free = column(table, "valid")
    groups: dict[tuple[str, str, str], list[int]] = {}
    for k, name in enumerate(names):
        groups.setdefault(name, []).append(k)
    valid = [stops[k] == "end" if said is None else said for k, said in enumerate(free)]

    def total(name: str, rows: Sequence[int]) -> float:
        return math.fsum(numbers[name][k] for k in rows)

    figures = tuple(
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
    return SweepSummary(
        len(names),
        sum(error is not None for error in errors),
        figures,
        tuple((*name, count) for name, count in sorted(traps.items(), key=lambda e: (-e[1], e[0]))),
        tuple((*name, count) for name, count in said.most_common(MOST_ERRORS)),
    )


def column(table: Any, name: str) -> list[Any]:
    """A column of a table as a list."""
    return table[name].to_pylist()


SECONDS: Final = 20.0
"""The seconds for looking up places, for all constraints together."""

MOST_ROWS: Final = 100_000
"""The number of rows, from the first, that are read for each constraint."""

LONGEST_PART: Final = 60
"""The most characters of a part's name."""

MOST_TOGETHER: Final = 3
"""The most places that are named together if the text may continue in several."""

AT_THE_END: Final = "the end of the text"
UNPLACED: Final = "a place that the constraint does not name"


@dataclass(frozen=True)
class PartCost:
    """The log-probability that one part of a constraint took from the model.

    Args:
        part: The name of the part, or of several if the text may continue in each.
    """

    part: str
    nats: float
    interventions: int
    tokens: int


@dataclass(frozen=True)
class ConstraintCost:
    """The log-probability that the parts of a constraint took from the model.

    Args:
        covered: The share of ``nats`` that ``parts`` accounts for.
    """

    constraint: str
    parts: tuple[PartCost, ...]
    nats: float
    covered: float
    rows: int


@dataclass
class _LostAfter:
    """The log-probability lost after one text, summed over rows."""

    nats: float = 0.0
    interventions: int = 0
    tokens: int = 0


def costs_by_part(table: Any, seconds: float = SECONDS) -> tuple[ConstraintCost, ...]:
    """The cost of each part of each constraint of a sweep's table.

    A constraint whose source cannot be read here, such as a user's own kind that is not registered,
    is left out.

    Example:
        >>> from explorer import regex, sweep
        >>> done = sweep("2 + 2 = ", {"digits": regex("[0-9]{2}!")}, "tiny")
        >>> (cost,) = costs_by_part(done.table)
        >>> sorted(part.part for part in cost.parts)
        ['! (character 9)', '[0-9] (characters 1 to 5)', 'the end of the text']
    """
    lost: dict[tuple[str, str], dict[bytes, _LostAfter]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    columns = (
        "constraint", "constraint_source", "text", "offsets", "log_masses", "intervened",
    )  # fmt: skip
    for name, source, text, offsets, masses, intervened in zip(
        *(column(table, name) for name in columns), strict=True
    ):
        if source is None or text is None or counts[name, source] >= MOST_ROWS:
            continue
        counts[name, source] += 1
        data = text.encode()
        known = lost.setdefault((name, source), {})
        for offset, mass, changed in zip(offsets, masses, intervened, strict=True):
            entry = known.setdefault(data[:offset], _LostAfter())
            entry.nats -= mass
            entry.interventions += changed
            entry.tokens += 1
    share = seconds / max(1, len(lost))
    costs: list[ConstraintCost] = []
    for key, known in lost.items():
        try:
            constraint = Constraint(source_from_dict(msgspec.json.decode(key[1])))
        except (ExplorerError, msgspec.DecodeError):
            continue
        costs.append(_cost_of(constraint, key[0], known, counts[key], share))
    return tuple(costs)


def _cost_of(
    constraint: Constraint,
    name: str,
    lost: Mapping[bytes, _LostAfter],
    rows: int,
    seconds: float,
) -> ConstraintCost:
    until = time.monotonic() + seconds
    total = sum(entry.nats for entry in lost.values())
    lost_after: dict[str, _LostAfter] = {}
    covered = 0.0
    for text, entry in sorted(lost.items(), key=lambda item: (-item[1].nats, item[0])):
        if lost_after and time.monotonic() > until:
            break
        part = lost_after.setdefault(named_place(constraint, text), _LostAfter())
        part.nats += entry.nats
        part.interventions += entry.interventions
        part.tokens += entry.tokens
        covered += entry.nats
    costs = [PartCost(n, e.nats, e.interventions, e.tokens) for n, e in lost_after.items()]
    return ConstraintCost(
        name,
        tuple(sorted(costs, key=lambda cost: (-cost.nats, cost.part))),
        total,
        min(1.0, covered / total) if total else 1.0,
        rows,
    )


def named_place(constraint: Constraint, text: bytes) -> str:
    """The name of the place after a text: the part of the constraint that continues there.

    Example:
        >>> from explorer import json_schema
        >>> named_place(json_schema({"properties": {"age": {"type": "integer"}}}), b'{"age":1')
        '/properties/age'
    """
    try:
        place = parts(constraint.source, constraint.machine, text, None, offered="nothing")
    except ExplorerError:
        return UNPLACED
    names = list(dict.fromkeys(name for part in place for name in _names(part)))
    if not names:
        return AT_THE_END if constraint.accepts(text.decode(errors="replace")) else UNPLACED
    more = f" or {len(names) - MOST_TOGETHER} more" if len(names) > MOST_TOGETHER else ""
    return " or ".join(names[:MOST_TOGETHER]) + more


def _names(part: SourcePart) -> list[str]:
    if part.role != "expects":
        return []
    return [_name_of(place) for place in part.positions]


def _name_of(place: SourcePlace) -> str:
    if place.label:
        return place.label
    text = place.text if len(place.text) <= LONGEST_PART else f"{place.text[: LONGEST_PART - 1]}…"
    if place.start is None or place.end is None:
        return text
    first, last = place.start + 1, place.end
    where = f"character {first}" if first == last else f"characters {first} to {last}"
    return f"{text} ({where})"


_DRAWN_BY: Final = "widgets.report"


def report(table: Sweep | str | Path | Any, *, seconds: float = SECONDS) -> list[Any]:
    """Draw the figures of a sweep: conformance, the cost of each part of each constraint, traps.

    In a notebook, ``for figure in report(done): figure.show()``; elsewhere
    ``figure.write_html(path)``.

    Args:
        table: The result of `sweep`, its folder, or its pyarrow table.
        seconds: The time for finding the part of its constraint at each text.

    Returns:
        Figures of plotly, each with its content as a sentence below its title.

    Raises:
        ExplorerError: The table is not one of a sweep.
        MissingDependency: plotly or pyarrow is not installed.
        FileError: There is no such folder.

    Example:
        >>> from explorer import choice, sweep
        >>> done = sweep("The capital of France is", choice([" Paris", " Rome"]), "tiny")
        >>> len(report(done))
        3
    """
    rows = _rows_of(table)
    seconds = real_number("seconds", seconds, "a number of seconds")
    try:
        module: Any = import_module(_DRAWN_BY)
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"The report needs the library {error.name!r}, which is not installed.",
            remedy="Install the extra `lab`: pip install 'constraint-explorer[lab]'.",
            evidence={"library": error.name},
        ) from error
    return module.figures(summarize(rows), costs_by_part(rows, seconds))


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
