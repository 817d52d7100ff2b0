"""Which part of a constraint costs the model most probability.

At each token the mask takes −ln Z from the model: its probability on what is not allowed. The
text so far says where in the constraint one is (`explorer.analysis.places`): at a property of a
schema, a rule of a grammar, a piece of a pattern. Adding up what was lost at each place gives the
cost of the parts.

Many rows share their beginnings, so what was lost is added up by constraint and text so far first,
and the texts that lost most are looked up until the time is used up. How much of all that was lost
the answer covers is part of it.

Cost: one pass over the tokens of the table, and 0.1 ms (a pattern) to 20 ms (a schema) for each
text that is looked up.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from explorer.analysis.places.part import SourcePart, SourcePlace
from explorer.analysis.places.spans import parts
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.sweeps.summary import column

SECONDS: Final = 20.0
"""How long places are looked up for, all constraints together."""

MOST_ROWS: Final = 100_000
"""How many rows of each constraint are read, the first ones."""

LONGEST_PART: Final = 60
"""The most characters of a part's name."""

MOST_TOGETHER: Final = 3
"""How many places are named together where several could go on."""

AT_THE_END: Final = "the end of the text"
UNPLACED: Final = "a place that the constraint does not name"


@dataclass(frozen=True)
class PartCost:
    """The probability that one part of a constraint took from the model.

    Args:
        part: What the part is called, or the parts where several could go on.
        nats: How much log-probability was lost there, over all rows.
        interventions: How often the model's first choice was masked there.
        tokens: How many tokens were chosen there.
    """

    part: str
    nats: float
    interventions: int
    tokens: int


@dataclass(frozen=True)
class ConstraintCost:
    """The probability that the parts of a constraint took from the model.

    Args:
        constraint: Its name.
        fingerprint: What it is.
        parts: The parts, the costliest first.
        nats: How much was lost in all its rows.
        covered: The share of that which ``parts`` accounts for.
        rows: How many rows were read.
    """

    constraint: str
    fingerprint: str
    parts: tuple[PartCost, ...]
    nats: float
    covered: float
    rows: int


@dataclass
class _LostAfter:
    """The probability that was lost after one text."""

    nats: float = 0.0
    interventions: int = 0
    tokens: int = 0


def costs_by_part(
    table: Any, constraints: Mapping[str, Constraint], seconds: float = SECONDS
) -> tuple[ConstraintCost, ...]:
    """The cost of each part of each constraint.

    Args:
        table: A pyarrow table with the columns of a sweep.
        constraints: The constraints, by fingerprint.
        seconds: How long places are looked up for.

    Example:
        >>> from explorer import regex, sweep
        >>> done = sweep("2 + 2 = ", {"digits": regex("[0-9]{2}!")}, "tiny")
        >>> (key,) = set(done.table["constraint_fingerprint"].to_pylist())
        >>> (cost,) = costs_by_part(done.table, {key: regex("[0-9]{2}!")})
        >>> sorted(part.part for part in cost.parts)
        ['! (character 9)', '[0-9] (characters 1 to 5)', 'the end of the text']
    """
    names: dict[str, str] = {}
    lost: dict[str, dict[bytes, _LostAfter]] = {}
    counts: dict[str, int] = {}
    columns = (
        "constraint_fingerprint", "constraint", "text", "offsets", "log_masses", "intervened",
    )  # fmt: skip
    for key, name, text, offsets, masses, intervened in zip(
        *(column(table, name) for name in columns), strict=True
    ):
        if key not in constraints or text is None or counts.get(key, 0) >= MOST_ROWS:
            continue
        names[key], counts[key] = name, counts.get(key, 0) + 1
        data = text.encode()
        known = lost.setdefault(key, {})
        for offset, mass, changed in zip(offsets, masses, intervened, strict=True):
            entry = known.setdefault(data[:offset], _LostAfter())
            entry.nats -= mass
            entry.interventions += changed
            entry.tokens += 1
    share = seconds / max(1, len(lost))
    return tuple(
        _cost_of(constraints[key], names[key], key, known, counts[key], share)
        for key, known in lost.items()
    )


def _cost_of(
    constraint: Constraint,
    name: str,
    fingerprint: str,
    lost: Mapping[bytes, _LostAfter],
    rows: int,
    seconds: float,
) -> ConstraintCost:
    until = time.monotonic() + seconds
    total = sum(entry.nats for entry in lost.values())
    found: dict[str, _LostAfter] = {}
    covered = 0.0
    for text, entry in sorted(lost.items(), key=lambda item: (-item[1].nats, item[0])):
        if found and time.monotonic() > until:
            break
        part = found.setdefault(named_place(constraint, text), _LostAfter())
        part.nats += entry.nats
        part.interventions += entry.interventions
        part.tokens += entry.tokens
        covered += entry.nats
    costs = [PartCost(n, e.nats, e.interventions, e.tokens) for n, e in found.items()]
    return ConstraintCost(
        name,
        fingerprint,
        tuple(sorted(costs, key=lambda cost: (-cost.nats, cost.part))),
        total,
        min(1.0, covered / total) if total else 1.0,
        rows,
    )


def named_place(constraint: Constraint, text: bytes) -> str:
    """The name of the place after a text: the part of the constraint that must go on there.

    Args:
        constraint: The constraint.
        text: The beginning of some word.

    Example:
        >>> from explorer import json_schema
        >>> named_place(json_schema({"properties": {"age": {"type": "integer"}}}), b'{"age":1')
        '/properties/age'
    """
    try:
        found = parts(constraint.source, constraint.machine, text, None)
    except ExplorerError:
        return UNPLACED
    names = list(dict.fromkeys(name for part in found for name in _names(part)))
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
