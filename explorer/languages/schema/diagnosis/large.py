"""The part of a schema that makes its machine too large, and an option with which it is not.

From the whole schema one goes into a subschema that is too large by itself, as long as there is
one. In the last one each keyword is taken away; one without which it is small enough is named. Each
option that makes machines smaller is tried before it is named. Cost: `LIMITS` for each attempt, and
at most `MOST_SECONDS` in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.languages.schema.diagnosis.keywords import schema_without
from explorer.languages.schema.machine import ClosedSchema
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.subschemas import Schema, Subschema, parts_of, subschemas

LIMITS: Final = Budget(states=100_000, seconds=0.3)
"""The budget of an attempt."""
MOST_SECONDS: Final = 3.0
"""The seconds of all attempts together."""

SMALLER: Final[tuple[tuple[str, Any], ...]] = (
    ("lazy", True), ("strict", False), ("property_order", "schema"), ("max_depth", 1),
    ("max_depth", 0), ("escapes", "free"), ("formats", False), ("whitespace", "compact"),
)  # fmt: skip
"""The options by which machines are smaller, each with the value; a lazy machine is tried by
itself."""


@dataclass(frozen=True, slots=True)
class Large:
    """A schema whose machine is too large.

    Args:
        schema, remotes: The schema, and those that references may name, by their address.
        options: How it is followed.
        make: Makes its discovered machine with other options.
    """

    schema: Schema
    remotes: Mapping[str, Schema]
    options: SchemaOptions
    make: Callable[[SchemaOptions, Meter], object]


def explained(error: BudgetExceeded, large: Large, seconds: float) -> BudgetExceeded:
    """An error about size that names the largest part of the schema, and what helps.

    Args:
        seconds: The seconds that the caller had; no more are spent.
    """
    clock = Meter(Budget(seconds=min(seconds, MOST_SECONDS)))
    part = _largest(large, clock)
    helps = next(_helping(large, clock), "")
    remedy = f"With {helps} it is small enough. Else {error.remedy[:1].lower()}{error.remedy[1:]}"
    remedy = remedy if helps else error.remedy
    if part is None:
        return error.advising(remedy)
    pointer, keyword, size = part
    named = f"{pointer}/{keyword}" if keyword else pointer or "the whole schema"
    found = f" The largest part is {named}: {size}."
    return error.advising(remedy, found, pointer=pointer, keyword=keyword)


def _limits(clock: Meter) -> Meter:
    left = clock.budget.seconds - clock.seconds()
    return Meter(replace(LIMITS, seconds=max(1e-9, min(LIMITS.seconds, left))))


def _largest(large: Large, clock: Meter) -> tuple[str, str, str] | None:
    """The pointer of the innermost subschema that is too large, its keyword, and its size."""
    here, size = subschemas(large.schema, large.remotes)[0], ""
    below = {here.pointer: here}
    closed = ClosedSchema(replace(large.options.bounded(), recursion="unroll"), Meter())
    try:
        while below:
            for sub in below.values():
                closed.sets.watch(_limits(clock))
                if said := _too_large(closed, sub):
                    here, size = sub, said
                    break
            else:
                break
            below = {
                each.pointer: each for path, part in parts_of(here.words)
                if (each := here.below(part, *path)).schema is not True
            }  # fmt: skip
    except ExplorerError:
        return None
    return (here.pointer, _keyword(large, here, clock), size) if size else None


def _too_large(closed: ClosedSchema, sub: Subschema) -> str:
    """The size that a subschema reaches by itself; empty if it is small enough."""
    try:
        closed.of(sub)
    except BudgetExceeded as error:
        if error.resource == "seconds":
            return f"by itself it takes more than {error.limit:.1g} s"
        return f"by itself it has more than {error.limit:,} {error.resource}"
    return ""


def _keyword(large: Large, sub: Subschema, clock: Meter) -> str:
    """A keyword without which a subschema is small enough, a number first; empty without one."""
    options = replace(large.options.bounded(), recursion="unroll")
    for keyword in sorted(sub.words, key=lambda name: not isinstance(sub.words[name], int)):
        schema = schema_without(large.schema, [f"{sub.pointer}/{keyword}"])
        for each in subschemas(schema, large.remotes):
            same = each.pointer == sub.pointer
            if same and not _too_large(ClosedSchema(options, _limits(clock)), each):
                return keyword
    return ""


def _helping(large: Large, clock: Meter) -> Iterator[str]:
    """The options with which the machine is made within the limits."""
    for name, value in SMALLER:
        options, limits = large.options, _limits(clock)
        try:
            if name != "lazy":
                if getattr(options, name) == value:
                    continue
                options = replace(options, **{name: value, "recursion": "auto"})
            large.make(options, limits)
        except ExplorerError:
            continue
        yield f"{name}={value!r}"
