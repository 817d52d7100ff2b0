"""The size of each part of a schema as a machine, and the time that it takes to build.

Each subschema is built alone, inner ones first, by one compiler that keeps its results. So the
milliseconds of a subschema do not include those of the subschemas inside it, and a subschema that
equals another one takes no time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final

from explorer.automata.construction.operations import dfa_to_nfa
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ConstraintError, UnsupportedSchema
from explorer.languages.schema.machine import WHOLE, ClosedSchema, compile_schema
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.subschemas import Subschema, subschemas
from explorer.languages.schema.source import JsonSchema, check_options, json_schema
from explorer.languages.types.schema import type_name

USUAL: Final = Budget(seconds=1.0)
"""The limits of a profile."""


@dataclass(frozen=True, slots=True)
class Row:
    """One subschema.

    Args:
        states: States of its minimal machine over compact JSON; 0 if it could not be built.
        same_as: The pointer of an equal subschema, which was built instead; empty if there is no
            equal one.
        error: Why it could not be built; empty if it was.
    """

    pointer: str
    states: int
    arcs: int
    milliseconds: float
    same_as: str = ""
    error: str = ""

    @property
    def remark(self) -> str:
        """A remark beside the figures."""
        return self.error or (f"same as {self.same_as}" if self.same_as else "")


@dataclass(frozen=True, slots=True)
class Profile:
    """The sizes of the subschemas of a schema; printed, it is a table, the largest first.

    Args:
        rows: One for each subschema, in the order of the schema, the whole schema first.
    """

    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, object]:
        """The rows as plain values for JSON."""
        return {"rows": [asdict(row) for row in self.rows]}

    def figure(self) -> dict[str, Any]:
        """A treemap of the states, as the data of a plotly figure.

        Returns:
            What ``plotly.graph_objects.Figure`` takes; the engine itself draws nothing.
        """
        known = {row.pointer for row in self.rows}
        return {
            "data": [
                {
                    "type": "treemap",
                    "ids": [row.pointer or WHOLE for row in self.rows],
                    "labels": [_last_steps(row.pointer, known) for row in self.rows],
                    "parents": [_around(row.pointer, known) for row in self.rows],
                    "values": [row.states for row in self.rows],
                    "customdata": [
                        [row.arcs, round(row.milliseconds, 2), row.remark] for row in self.rows
                    ],
                    "hovertemplate": "%{id}<br>%{value:,} states, %{customdata[0]:,} arcs, "
                    "%{customdata[1]} ms<br>%{customdata[2]}<extra></extra>",
                    "branchvalues": "remainder",
                }
            ],
            "layout": {"title": {"text": "States of each subschema"}},
        }

    def __str__(self) -> str:
        lines = [f"{'states':>9} {'arcs':>9} {'ms':>9}  subschema"]
        for row in sorted(self.rows, key=lambda row: -row.states):
            place = row.pointer or WHOLE
            remark = f"  ({row.remark})" if row.remark else ""
            lines.append(
                f"{row.states:>9,} {row.arcs:>9,} {row.milliseconds:>9.1f}  {place}{remark}"
            )
        return "\n".join(lines)


def profile(
    schema: Mapping[str, object] | bool | str, budget: Budget | None = None, **options: Any
) -> Profile:
    """States, arcs and milliseconds of each subschema, to find what makes a schema too large.

    Args:
        schema: As in `json_schema`.
        budget: The limits for all subschemas together, by default `USUAL`. A subschema that needs
            more than a quarter of the seconds that are left is listed as such, and those around it
            are still tried.
        **options: Those of `json_schema`.

    Returns:
        The sizes; printed, a table with the largest first; ``figure()`` is the data of a treemap.

    Raises:
        ConstraintError: There is no such option, or one of the errors of `json_schema`.

    Example:
        >>> sizes = profile({"items": {"enum": ["red", "green"]}})
        >>> [(row.pointer, row.states) for row in sizes.rows][1]
        ('/items', 10)
    """
    check_options("profile", options)
    constraint = json_schema(schema, **options)
    if not isinstance(constraint.source, JsonSchema):
        raise ConstraintError(
            f"profile measures a JSON Schema; {type_name(schema)} is a type.",
            remedy="Give its schema, such as Model.model_json_schema().",
        )
    source = constraint.source
    warm_up()
    meter = Meter(USUAL if budget is None else budget)
    places = subschemas(source.parsed, source.remote_schemas)
    closed = ClosedSchema(source.options.bounded(), meter)
    rows: dict[str, Row] = {}
    first = {id(sub.schema): sub.pointer for sub in reversed(places)}
    for sub in sorted(places, key=lambda sub: (-sub.pointer.count("/"), sub.pointer)):
        closed.sets.watch(meter.with_share(0.25))
        rows[sub.pointer] = _row(sub, closed, first)
    return Profile(tuple(rows[sub.pointer] for sub in places))


@cache
def warm_up() -> None:
    """Build a small schema, so that loading machine code is not charged to a subschema."""
    compile_schema(_SMALL, Meter(), SchemaOptions(free_depth=1))


_SMALL: Final[dict[str, Any]] = {
    "properties": {"a": {"type": "integer", "minimum": 3}, "b": {"pattern": "^[a-z]*$"}},
    "items": {"type": "string", "maxLength": 3}, "not": {"const": 1},
}  # fmt: skip


def _row(sub: Subschema, closed: ClosedSchema, first: Mapping[int, str]) -> Row:
    states = arcs = 0
    machine, error = None, ""
    begin = time.perf_counter()
    try:
        machine = closed.of(sub)
    except BudgetExceeded as reached:
        error = (
            f"over budget: {reached.reached:,.6g} {reached.resource}; the limit is "
            f"{reached.limit:,.6g}"
        )
    except UnsupportedSchema as refused:
        error = refused.message
    spent = 1e3 * (time.perf_counter() - begin)
    if machine is not None and machine.num_states:
        states, arcs = machine.num_states, len(dfa_to_nfa(machine).arcs)
    same = first[id(sub.schema)]
    same_as = "" if same == sub.pointer else (same or WHOLE)
    return Row(sub.pointer, states, arcs, spent, same_as, error)


def _around(pointer: str, known: set[str]) -> str:
    """The enclosing subschema's name in the treemap; empty for the whole schema."""
    if not pointer:
        return ""
    around = pointer.rpartition("/")[0]
    while around not in known:
        around = around.rpartition("/")[0]
    return around or WHOLE


def _last_steps(pointer: str, known: set[str]) -> str:
    """A pointer relative to the subschema around it."""
    around = _around(pointer, known)
    return pointer.removeprefix("" if around == WHOLE else around).lstrip("/") or WHOLE
