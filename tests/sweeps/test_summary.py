"""The figures of a table, against those computed from the sessions of its rows."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest

import explorer
from explorer import Sampler
from explorer.sweeps.report import AT_THE_END, costs_by_part, named_place, summarize
from tests.decoding.models import hash_model

CONSTRAINTS = {
    "pair": explorer.regex("[fdnosyen]{2}-[0-9]+"),
    "never": explorer.literal("z" * 30),
    "words": explorer.regex("[a-z]+"),
}
PROMPTS = ["a", "b", "cd"]


@cache
def done() -> Any:
    return explorer.sweep(
        PROMPTS, CONSTRAINTS, hash_model(), {"hot": Sampler(1.0)}, [0, 1], max_tokens=9
    )


def sessions(constraint: str) -> list[explorer.Session]:
    found: list[explorer.Session] = []
    for prompt in PROMPTS:
        for seed in (0, 1):
            made = explorer.Session(
                hash_model(), CONSTRAINTS[constraint], prompt, sampler=Sampler(1.0), seed=seed,
                max_tokens=9,
            )  # fmt: skip
            made.run()
            found.append(made)
    return found


def lost(session: explorer.Session) -> float:
    return -sum(math.log(p.distribution.z) for p in session.trace.positions if p.distribution)


def test_the_groups_count_what_sessions_count() -> None:
    summary = summarize(done().table)
    assert (summary.rows, summary.failed, len(summary.groups)) == (18, 6, 3)
    groups = {group.constraint: group for group in summary.groups}
    assert (groups["never"].rows, groups["never"].failed, groups["never"].valid) == (6, 6, 0)
    assert math.isnan(groups["never"].nats_per_text)
    for name in ("pair", "words"):
        made, group = sessions(name), groups[name]
        assert (group.rows, group.written, group.valid, group.cut) == (6, 6, 6, 0)
        steps = [step for session in made for step in session.trace.steps]
        assert group.tokens == len(steps)
        assert group.interventions == sum(step.intervention for step in steps)
        assert group.unhelped == sum(
            not any(step.intervention for step in session.trace.steps) for session in made
        )
        assert group.nats == pytest.approx(sum(map(lost, made)))
    assert summary.errors[0][2] == 6 and "can write no word" in summary.errors[0][1]


def test_the_parts_of_a_pattern_cost_what_was_lost_in_them() -> None:
    """The place of each position is read off its text: two letters, a dash, digits."""
    table = done().table
    costs = {cost.constraint: cost for cost in costs_by_part(table)}
    assert set(costs) == {"pair", "words"}
    expected: dict[str, float] = {}
    counts: dict[str, int] = {}
    for session in sessions("pair"):
        for position in session.trace.positions:
            if position.distribution is None:
                continue
            length = len(position.data)
            place = "[fdnosyen]" if length < 2 else "-" if length == 2 else "[0-9]"
            expected[place] = expected.get(place, 0) - position.distribution.log_z
            counts[place] = counts.get(place, 0) + position.distribution.intervention
    found = {part.part.split(" (")[0]: part for part in costs["pair"].parts}
    assert set(found) == set(expected)
    for place, nats in expected.items():
        assert found[place].nats == pytest.approx(nats)
        assert found[place].interventions == counts[place]
    assert costs["pair"].covered == pytest.approx(1.0)
    assert costs["pair"].nats == pytest.approx(sum(expected.values()))


def test_a_schema_is_named_by_its_pointers() -> None:
    schema = explorer.json_schema(
        {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    )
    assert named_place(schema, b'{"name":"A') == "/properties/name"
    assert named_place(schema, b'{"name":"A","age":1') == "/properties/age"
    assert named_place(explorer.choice(["yes", "no"]), b"yes") == AT_THE_END
    rules = explorer.grammar('root ::= "(" num ")"\nnum ::= [0-9]+')
    assert named_place(rules, b"(1") == "rule `root` or rule `num`"


def test_a_time_that_is_used_up_says_what_it_covers() -> None:
    for cost in costs_by_part(done().table, seconds=0):
        assert 0 < cost.covered < 1 and len(cost.parts) == 1


def test_a_forged_source_is_left_out() -> None:
    table = done().table
    place = table.column_names.index("constraint_source")
    for forged in ('{"kind": "regex", "pattern": "("}', "{", '{"kind": "nothing"}'):
        other = table.set_column(place, "constraint_source", [[forged] * table.num_rows])
        assert costs_by_part(other) == ()
