"""An oracle over random schemas: which texts a schema's machine takes, and which it should.

A *decision* is one text under one schema. The texts are of values that the schema is likely to
allow, of near misses, and of the machine's own words, in all spellings: white space, escapes, zeros
and exponents of numbers, order of members; and texts with a few bytes changed. Two validators that
are not ours, ``jsonschema`` and ``jsonschema-rs``, say whether the value is allowed; where they
differ, nothing is decided. A text that is not JSON is never allowed.

``python -m tests.languages.schema.decisions --decisions 1000000`` prints its seed, and each text
that is judged wrongly with the schema made small. Schemas are numbered, and each is drawn from the
seed and its number alone: ``--seed 1 --only 17`` is one of them again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, Final, NamedTuple

import jsonschema_rs
from jsonschema import Draft202012Validator

import explorer
from explorer.automata.machine import ByteMachine
from explorer.automata.words import accepts
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ExplorerError, UnsupportedSchema
from tests.languages.schema.corpora import depth
from tests.languages.schema.random_schemas import LikelyValues, RandomSchemas, near_miss, value
from tests.languages.schema.random_texts import (
    NoDecision,
    damaged,
    has_plain_numbers,
    spelled,
    value_of,
    walked,
)

DEEPEST: Final = 3
VALUES: Final = 12
"""Values for each schema; each comes with a near miss, and both in several spellings."""
WALKS: Final = 8
LIMITS: Final = Budget(states=100_000, arcs=5_000_000, seconds=20)
"""For one schema; what reaches them is counted and not decided."""

Options = dict[str, Any]

WAYS: Final[dict[str, Options]] = {
    "free": {"whitespace": "flexible", "property_order": "any", "escapes": "any"},
    "stack": {"whitespace": "flexible", "property_order": "any", "recursion": "stack"},
    "usual": {"property_order": "any", "recursion": "unroll"},
    "dumps": {"whitespace": "dumps", "property_order": "any"},
    "pretty": {"whitespace": "pretty", "property_order": "any"},
    "ordered": {"whitespace": "flexible"},
}
"""The options under which a schema is asked; the first allows every text of a value."""


class Wrong(NamedTuple):
    """A text that a machine judges as it should not."""

    number: int
    schema: Any
    way: str
    text: str
    allowed: bool


@dataclass
class Tally:
    """The counts of a run."""

    decided: Counter[tuple[bool, bool]] = field(default_factory=Counter[tuple[bool, bool]])
    undecided: Counter[str] = field(default_factory=Counter[str])
    schemas: int = 0
    wrong: list[Wrong] = field(default_factory=list[Wrong])

    @property
    def decisions(self) -> int:
        """The texts that were decided."""
        return sum(self.decided.values())

    def add(self, other: Tally) -> None:
        """Count what another one counted, too."""
        self.decided += other.decided
        self.undecided += other.undecided
        self.schemas += other.schemas
        self.wrong += other.wrong


class Judges:
    """Two validators of one schema."""

    def __init__(self, schema: Any) -> None:
        self._slow = Draft202012Validator(schema)
        self._fast = jsonschema_rs.Draft202012Validator(schema)
        self._known: dict[str, bool] = {}

    def allow(self, given: Any) -> bool:
        """Whether both allow a value.

        Raises:
            NoDecision: They differ.
        """
        key = json.dumps(given)
        if key not in self._known:
            fast = self._fast.is_valid(given)
            if self._slow.is_valid(given) != fast:
                raise NoDecision("validators differ")
            self._known[key] = fast
        return self._known[key]


def machine_for(schema: Any, way: str) -> ByteMachine:
    """The machine of a schema, which discovers its states.

    Raises:
        ExplorerError: It cannot be made.
    """
    options: Options = {"max_depth": DEEPEST + 1, **WAYS[way]}
    return explorer.json_schema(schema, **options).discover(Meter(LIMITS))


def texts(draw: random.Random, way: str, given: Any) -> Iterator[str]:
    """Texts of a value that the machine of a way reads, if the value is allowed."""
    if way == "free":
        yield spelled(draw, given)
        yield spelled(draw, given)
        yield json.dumps(given, ensure_ascii=draw.random() < 0.5)
    elif way == "usual":
        yield json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    elif way == "dumps":
        yield json.dumps(given, ensure_ascii=False)
    elif way == "pretty":
        yield json.dumps(given, ensure_ascii=False, indent=2)
    else:
        yield json.dumps(given, ensure_ascii=False)


def judged(
    machine: ByteMachine, judges: Judges, way: str, text: str, *, every: bool
) -> tuple[bool, bool] | None:
    """Whether a text is accepted, and whether it should be; ``None`` where it need not be.

    Args:
        every: Whether the machine is to take this text if the value is allowed.

    Raises:
        NoDecision: The text says nothing.
    """
    accepted = accepts(machine, text.encode())
    try:
        read = value_of(text)
    except ValueError:
        return accepted, False
    if depth(read) > DEEPEST:
        raise NoDecision("deeper than the machine is asked to go")
    allowed = judges.allow(read)
    if allowed and not accepted and not (every and has_plain_numbers(text)):
        return None
    return accepted, allowed


def orders(given: Any) -> Iterator[Any]:
    """The value with its members, and those of the values inside, in every order."""
    if isinstance(given, dict):
        for names in permutations(given):
            for values in _each([given[name] for name in names]):
                yield dict(zip(names, values, strict=True))
    elif isinstance(given, list):
        yield from _each(given)
    else:
        yield given


def _each(values: list[Any]) -> Iterator[list[Any]]:
    if not values:
        yield []
        return
    for first in orders(values[0]):
        for rest in _each(values[1:]):
            yield [first, *rest]


Make = Callable[[Any, str], ByteMachine]
"""Makes the machine of a schema in one of the ways."""


def decide(
    number: int, schema: Any, seed: int, ways: dict[str, Options] = WAYS, make: Make = machine_for
) -> Tally:
    """Decide many texts under one schema."""
    draw = random.Random(f"{seed} {number} values")
    tally = Tally(schemas=1)
    judges = Judges(schema)
    likely = LikelyValues(draw, schema)
    values: list[Any] = []
    for _ in range(VALUES):
        one = likely.value(DEEPEST) if draw.random() < 0.9 else value(draw, DEEPEST)
        values += [one, near_miss(draw, one)]
    values = [each for each in values if depth(each) <= DEEPEST]
    for way in ways:
        try:
            machine = make(schema, way)
            _decide_under(way, machine, judges, values, draw, tally, number, schema)
        except UnsupportedSchema as error:
            tally.undecided[f"unsupported: {error.keyword}"] += 1
        except BudgetExceeded:
            tally.undecided[f"over budget: {way}"] += 1
    return tally


def _decide_under(
    way: str, machine: ByteMachine, judges: Judges, values: list[Any], draw: random.Random,
    tally: Tally, number: int, schema: Any,
) -> None:  # fmt: skip
    def decide(text: str, *, every: bool) -> None:
        try:
            answer = judged(machine, judges, way, text, every=every)
        except NoDecision as reason:
            tally.undecided[str(reason)] += 1
            return
        if answer is None:
            tally.undecided["a spelling that need not be taken"] += 1
            return
        tally.decided[answer] += 1
        if answer[0] != answer[1]:
            tally.wrong.append(Wrong(number, schema, way, text, answer[1]))

    for given in values:
        for text in texts(draw, way, given):
            decide(text, every=way != "ordered")
            if way == "free" and draw.random() < 0.5:
                decide(damaged(draw, text), every=True)
    for _ in range(WALKS):
        if (text := walked(draw, machine)) is not None:
            decide(text, every=True)
            decide(damaged(draw, text), every=way == "free")
    if way == "ordered":
        for given in values[:8]:
            _decide_some_order(machine, judges, given, tally, number, schema)


def _decide_some_order(
    machine: ByteMachine, judges: Judges, given: Any, tally: Tally, number: int, schema: Any
) -> None:
    """An allowed value is written in one order at least."""
    try:
        allowed = judges.allow(given)
    except NoDecision:
        return
    if not allowed:
        return
    for count, one in enumerate(orders(given)):
        if accepts(machine, json.dumps(one, ensure_ascii=False).encode()):
            tally.decided[True, True] += 1
            return
        if count > 500:
            return
    tally.decided[False, True] += 1
    tally.wrong.append(Wrong(number, schema, "ordered", json.dumps(given), True))


def is_wrong(schema: Any, way: str, text: str, make: Make = machine_for) -> bool:
    """Whether a text is judged wrongly."""
    try:
        machine, judges = make(schema, way), Judges(schema)
        if way == "ordered":
            tally = Tally()
            _decide_some_order(machine, judges, value_of(text), tally, 0, schema)
            if tally.wrong:
                return True
        answer = judged(machine, judges, way, text, every=way != "ordered")
    except (NoDecision, ExplorerError, ValueError, RecursionError, KeyError, TypeError):
        return False
    except (
        Exception
    ) as error:  # A validator that is given a broken reference has errors of its own.
        if type(error).__module__.split(".")[0] in ("referencing", "jsonschema", "jsonschema_rs"):
            return False
        raise
    return answer is not None and answer[0] != answer[1]


def smaller(schema: Any) -> Iterator[Any]:
    """The schema with one part left out or put in place of what is around it."""
    if isinstance(schema, dict):
        for key in schema:
            yield {name: part for name, part in schema.items() if name != key}
        for key, part in schema.items():
            for other in smaller(part):
                yield {**schema, key: other}
            if isinstance(part, dict):
                for inner in part.values():
                    if isinstance(inner, dict | bool):
                        yield {**schema, key: inner}
    elif isinstance(schema, list):
        for place, part in enumerate(schema):
            yield [*schema[:place], *schema[place + 1 :]]
            for other in smaller(part):
                yield [*schema[:place], other, *schema[place + 1 :]]


def reduced(schema: Any, way: str, text: str, seconds: float = 30, make: Make = machine_for) -> Any:
    """The schema with as little in it as is judged wrongly still."""
    until = time.monotonic() + seconds
    again = True
    while again and time.monotonic() < until:
        again = False
        for other in smaller(schema):
            if time.monotonic() > until:
                break
            if isinstance(other, dict) and is_wrong(other, way, text, make):
                schema, again = other, True
                break
    return schema


def schema_of(seed: int, number: int) -> Any:
    """The random schema of a number."""
    draw = random.Random(f"{seed} {number}")
    return RandomSchemas(draw, draw.choice([4, 8, 8, 14])).schema()


def run(seed: int, decisions: int, first: int = 0, *, talk: bool = True) -> Tally:
    """Decide so many texts, or a few more."""
    tally = Tally()
    number, begin = first, time.monotonic()
    while tally.decisions < decisions:
        one = decide(number, schema_of(seed, number), seed)
        for wrong in one.wrong[:1]:
            if talk:
                small = reduced(wrong.schema, wrong.way, wrong.text)
                should = "should be allowed" if wrong.allowed else "should not be allowed"
                print(f"WRONG {wrong.number} {wrong.way}: {should}: {wrong.text!r}")
                print(f"  {json.dumps(small)}", flush=True)
        tally.add(one)
        number += 1
        if talk and number % 200 == 0:
            spent = time.monotonic() - begin
            print(f"{number} schemas, {tally.decisions} decisions, {len(tally.wrong)} wrong, "
                  f"{spent:.0f} s", flush=True)  # fmt: skip
    return tally


def main() -> None:
    """Decide from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("--decisions", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first schema")
    parser.add_argument("--only", type=int, help="decide the schema of this number, and no other")
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}", flush=True)
    if chosen.only is not None:
        schema = schema_of(chosen.seed, chosen.only)
        print(json.dumps(schema))
        tally = decide(chosen.only, schema, chosen.seed)
        for wrong in tally.wrong:
            print(wrong.way, repr(wrong.text), "should be", wrong.allowed)
    else:
        tally = run(chosen.seed, chosen.decisions, chosen.first)
    print(f"seed {chosen.seed}: {tally.schemas} schemas, {tally.decisions} decisions, "
          f"{len(tally.wrong)} wrong")  # fmt: skip
    for (accepted, allowed), count in sorted(tally.decided.items()):
        print(f"  accepted {accepted}, allowed {allowed}: {count}")
    for reason, count in tally.undecided.most_common():
        print(f"  undecided, {reason}: {count}")


if __name__ == "__main__":
    main()
