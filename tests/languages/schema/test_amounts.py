"""Sets of numbers beside plain sets of many candidates, and beside the machines of their texts."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import explorer
from explorer.budget import Budget, Meter
from explorer.languages.schema.machine import is_possible
from explorer.languages.schema.values.amounts import ALL, WHOLE, NumberPart, Numbers, point

DIVISORS = [Decimal(k) / 20 for k in (20, 40, 60, 100, 120, 140, 10, 30, 5, 240, 6, 50)]
BOUNDS = [Decimal(k) / 20 for k in (-140, -50, -20, 0, 6, 20, 40, 50, 60, 120, 145, 240, 2000)]
CANDIDATES = [
    *(Decimal(k) / 20 for k in range(-200, 300)),
    *(Decimal(k) / 1000 for k in (-420_000, -37_000, 33_000, 420_000, 1, -333, 100_500)),
]
METER = Meter(Budget(seconds=1e6))  # It runs from the import on, in whichever test comes last.


def holds(part: NumberPart, number: Decimal) -> bool:
    def divides(divisor: Decimal) -> bool:
        return (Fraction(number) / Fraction(divisor)).denominator == 1

    inside = part.low <= (number, 0) and (number, 1) <= part.high
    return inside and all(map(divides, part.steps)) and not any(map(divides, part.but))


def members(numbers: Numbers) -> set[Decimal]:
    return {each for each in CANDIDATES if any(holds(part, each) for part in numbers)}


def atom(rng: random.Random) -> Numbers:
    cut: Any = rng.choice(BOUNDS), rng.randrange(2)
    return Numbers((rng.choice([
        NumberPart(low=cut), NumberPart(high=cut), point(cut[0]), ALL, WHOLE,
        NumberPart(steps=frozenset((rng.choice(DIVISORS),))),
    ]),))  # fmt: skip


def combined(rng: random.Random, depth: int) -> tuple[Numbers, set[Decimal]]:
    """A random set, by its parts and by its candidates."""
    if depth == 0:
        made = atom(rng)
        return made, members(made)
    (one, first), (two, second) = combined(rng, depth - 1), combined(rng, depth - 1)
    match rng.randrange(3):
        case 0:
            return one.met(two, METER), first & second
        case 1:
            return one.joined(two, METER), first | second
        case _:
            return one.without(two, METER), first - second


@pytest.mark.parametrize("seed", range(120))
def test_sets_are_combined_as_sets_and_spelled_as_they_are(seed: int) -> None:
    rng = random.Random(seed)
    numbers, expected = combined(rng, rng.randrange(1, 4))
    assert members(numbers) == expected
    assert numbers or not expected
    if numbers:
        machines = numbers.machines(METER)
        assert all(machine.num_states for machine in machines)
        for each in rng.sample(CANDIDATES, 40):
            accepted = any(machine.accepts(f"{each:f}".encode()) for machine in machines)
            assert accepted == (each in expected), (each, numbers)
        listed = numbers.values(1000)
        assert listed is None or len(listed) == 1000 or expected <= set(listed)


def test_an_interval_without_a_multiple_is_empty() -> None:
    schema = {"type": "integer", "exclusiveMinimum": 12, "exclusiveMaximum": 14, "multipleOf": 7}
    assert not is_possible(schema, METER)
    assert is_possible({**schema, "exclusiveMaximum": 15}, METER)
    assert explorer.json_schema({**schema, "exclusiveMaximum": 15}).accepts("14")


def test_multiples_that_all_are_taken_away_are_empty_at_once() -> None:
    whole = Numbers((WHOLE._replace(low=(Decimal(0), 0), high=(Decimal(10**30), 0)),))
    assert not whole.without(Numbers((NumberPart(steps=frozenset((Decimal("0.5"),))),)), METER)


def test_many_divisors_are_one_where_all_are_asked_for() -> None:
    """Product by product this is a machine of more than a million states."""
    divisors = [{"multipleOf": each} for each in (6.75, 19, 9.5, 2.125)]
    constraint = explorer.json_schema({"type": "number", "allOf": divisors})
    assert constraint.accepts("8721") and constraint.accepts("-17442.0")
    assert not constraint.accepts("8720") and not constraint.accepts("513")
