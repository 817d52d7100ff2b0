"""Traps by what ends them: each remedy, once followed, ends the traps of its group."""

from __future__ import annotations

import json
from typing import Any

import pytest

import explorer
from explorer.analysis.traps import Trap, grouped_traps, machine_traps
from explorer.analysis.traps.loops import loop_at

LETTERS = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(128)], eos_ids=[128])


def traps_of(constraint: explorer.Constraint) -> tuple[Trap, ...]:
    """The grouped loops of a constraint."""
    traps = grouped_traps(machine_traps(explorer.compile(constraint, LETTERS)))
    return tuple(trap for trap in traps if trap.kind in ("endless", "whitespace_loop"))


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }  # fmt: skip


TEXT: dict[str, Any] = {"type": "string"}
BOUNDED: dict[str, Any] = {"type": "string", "maxLength": 3}


@pytest.mark.parametrize(
    ("schema", "keyword", "places", "mended"),
    [
        (closed(a=TEXT, b=TEXT), "maxLength", ("a", "b"), closed(a=BOUNDED, b=BOUNDED)),
        (
            closed(a=closed(b=TEXT), c=TEXT),
            "maxLength",
            ("a.b", "c"),
            closed(a=closed(b=BOUNDED), c=BOUNDED),
        ),
        (
            closed(a={"type": "array", "items": BOUNDED}),
            "maxItems",
            "a",
            closed(a={"type": "array", "items": BOUNDED, "maxItems": 2}),
        ),
        (
            closed(a={"type": "array", "items": closed(b=BOUNDED)}),
            "maxItems",
            "a",
            closed(a={"type": "array", "items": closed(b=BOUNDED), "maxItems": 2}),
        ),
        (
            closed(a={"type": "array", "items": TEXT}),
            "maxItems",
            "a",
            closed(a={"type": "array", "items": BOUNDED, "maxItems": 2}),
        ),
        (
            closed(a={"type": "object", "additionalProperties": {"type": "boolean"}}),
            "maxProperties",
            "a",
            closed(a={"type": "object", "additionalProperties": False}),
        ),
    ],
)
def test_a_schema_is_told_its_keyword_and_the_keyword_ends_it(
    schema: dict[str, Any], keyword: str, places: object, mended: dict[str, Any]
) -> None:
    (trap,) = traps_of(explorer.json_schema(json.dumps(schema)))
    assert f'"{keyword}"' in trap.remedy
    assert trap.evidence.get("places", trap.evidence["where"]) in (places, *places, tuple(places))  # type: ignore[misc]
    assert traps_of(explorer.json_schema(json.dumps(mended))) == ()


def test_digits_are_told_their_keywords_and_what_no_keyword_ends() -> None:
    (trap,) = traps_of(explorer.json_schema(closed(a={"type": "number"}, b={"type": "number"})))
    assert '"minimum"' in trap.remedy and "max_tokens" in trap.remedy
    assert trap.evidence["places"] == ("a", "b")


def test_white_space_is_one_trap() -> None:
    (trap,) = traps_of(explorer.json_schema(closed(a={"type": "boolean"}), whitespace="flexible"))
    assert 'whitespace="compact"' in trap.remedy and "This holds in" in trap.message
    assert traps_of(explorer.json_schema(closed(a={"type": "boolean"}))) == ()


def test_a_pattern_is_told_its_bounds_and_a_grammar_its_rules() -> None:
    (trap,) = traps_of(explorer.regex("[a-z]+-[0-9]*"))
    assert "{1,40}" in trap.remedy and trap.evidence["places"] == ("[a-z]", "[0-9]")
    assert traps_of(explorer.regex("[a-z]{1,40}-[0-9]{0,40}")) == ()
    (trap,) = traps_of(explorer.grammar('root ::= "-" num "." num\nnum ::= [0-9]+\n'))
    assert "num" in trap.message or "root" in trap.message


def test_a_group_of_one_is_that_trap_and_a_group_holds_all_states() -> None:
    machine = explorer.compile(explorer.json_schema(closed(a=TEXT, b=TEXT)), LETTERS)
    traps = machine_traps(machine)
    assert len(traps) == 2 and grouped_traps(traps[:1]) == traps[:1]
    (both,) = grouped_traps(traps)
    states = [set(trap.evidence["states"]) for trap in traps]  # type: ignore[call-overload]
    assert set(both.evidence["states"]) == states[0] | states[1]  # type: ignore[call-overload]
    assert both.evidence["traps"] == 2
    # What stands at a position of a run is never put with what stands at another.
    apart = [Trap("greedy_trap", "m", "r", position=k) for k in (0, 3)]
    assert grouped_traps(apart) == tuple(apart)


@pytest.mark.parametrize(
    ("text", "inside", "answer"),
    [
        (b'{"a":"', (b"x",), ("string", "a")),
        (b'{"a":{"b":"', (b"x",), ("string", "a.b")),
        (b'{"a":["', (b"x", b'"'), ("array", "a")),
        (b'[{"a":"', (b"x", b'"', b'"}'), ("array", "")),
        (b'{"a":[{', (), ("array", "a")),
        (b'{"a":1', (b"1",), ("number", "a")),
        (b'{"a":1.5E+', (b"1",), ("number", "a")),
        (b"[1", (b"1", b","), ("array", "")),
        (b'{"a":{"', (b"x", b'"'), ("object", "a")),
        (b"abc", (b"d",), ("repeat", "")),
    ],
)
def test_the_part_that_goes_round(
    text: bytes, inside: tuple[bytes, ...], answer: tuple[str, str]
) -> None:
    assert loop_at(text, lambda more: more in inside) == answer
