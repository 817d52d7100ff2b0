"""The JSON Schema test suite, case by case, against a file that says how each stands.

``ratchet.json`` holds every group that is not wholly right, with its category. A group that gets
worse fails, and so does one that gets better until the file says so: ``python -m
tests.languages.schema.test_suite`` writes it anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.automata import words
from explorer.automata.discovered.discover import discover
from explorer.automata.machine import ByteMachine
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, NotRegular, UnsupportedSchema
from explorer.languages.schema.machine import compile_schema
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.source import JsonSchema
from tests.languages.schema.corpora import Group, depth, needs_data, remotes, suite

RATCHET = Path(__file__).parent / "ratchet.json"
STATES = Budget(states=400_000)
"""A limit that is the same on every machine, unlike seconds."""


def machine_of(
    group: Group, order: Any, budget: Budget = STATES, remotes: Any = None, **options: Any
) -> ByteMachine:
    """The closed machine of a schema; where items are remembered, the one that is discovered."""
    deepest = max((depth(instance) for instance, _ in group.tests), default=0)
    how = SchemaOptions(
        whitespace="flexible", property_order=order, free_depth=max(2, deepest),
        max_depth=max(5, deepest), **options,
    )  # fmt: skip
    try:
        return compile_schema(group.schema, Meter(budget), how, remotes)[0]
    except NotRegular:
        texts = tuple((address, json.dumps(each)) for address, each in (remotes or {}).items())
        return discover(JsonSchema(json.dumps(group.schema), how, texts).tree, Budget())


def accepts(machine: ByteMachine, instance: object) -> bool:
    text = json.dumps(instance, ensure_ascii=False)
    return words.accepts(machine, text.encode(errors="surrogatepass"))


def category(group: Group, **options: Any) -> str:
    """``right``, or what is wrong with a group first."""
    try:
        in_order = machine_of(group, "schema", **options)
        again: list[Any] = []
        for instance, valid in group.tests:
            if accepts(in_order, instance) and not valid:
                return "wrong acceptance"
            if valid and not accepts(in_order, instance):
                again.append(instance)
        if again:
            any_order = machine_of(group, "any", **options)
            if not all(accepts(any_order, instance) for instance in again):
                return "wrong rejection"
            if any(accepts(any_order, instance) for instance, valid in group.tests if not valid):
                return "wrong acceptance"
    except UnsupportedSchema as error:
        return f"unsupported: {error.keyword}"
    except BudgetExceeded:
        return "over budget"
    return "right"


def standing() -> dict[str, str]:
    known: dict[str, str] = json.loads(RATCHET.read_bytes())
    return known


GROUPS = list(suite())


@needs_data
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_group_stands_as_written(group: Group) -> None:
    stands = standing().get(group.name, "right")
    assert category(group, formats=False, remotes=remotes()) == stands


@needs_data
def test_nothing_is_silently_wrong_and_most_is_right() -> None:
    """Wrong rejections are named in the file one by one; wrong acceptances are not tolerated."""
    stands = standing()
    right = sum(len(group.tests) for group in GROUPS if group.name not in stands)
    assert sum(len(group.tests) for group in GROUPS) == 1299
    assert right >= 1150
    assert not any(each == "wrong acceptance" for each in stands.values())


@needs_data
def test_a_wrong_machine_is_found() -> None:
    group = next(group for group in GROUPS if group.name.startswith("required: required valid"))
    weaker = Group(group.name, {**group.schema, "required": []}, group.tests)
    assert category(weaker, formats=False) == "wrong acceptance"


def write() -> None:
    if not GROUPS:
        raise SystemExit("EXPLORER_TOKENIZERS names no folder with the test suite beside it.")
    found = {group.name: category(group, formats=False, remotes=remotes()) for group in GROUPS}
    wrong = {name: kind for name, kind in found.items() if kind != "right"}
    RATCHET.write_text(json.dumps(wrong, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
