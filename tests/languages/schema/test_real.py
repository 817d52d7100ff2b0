"""Real and hand-written schemas with instances, case by case, against a file that lists them all.

``real.json`` gives each of the 550 schemas its category: ``right`` where every instance is judged
as the benchmark has it. Instances are written as ``json.dumps(data, ensure_ascii=False)``, with any
white space; in any order where the schema's order is not theirs. The machine is the one that
discovers its states, because that is what decoding uses where a table would be too large. A case
that gets worse fails the long test, and so does one that gets better until the file says so:
``python -m tests.languages.schema.test_real`` writes it anew, in processes of their own.

The short test takes every `EVERY`-th schema, and of those the ones whose machines stay small.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.automata.words import accepts
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, UnsupportedSchema
from tests.languages.schema.corpora import Group, depth, needs_data, real

RATCHET = Path(__file__).parent / "real.json"
LARGE = Budget(states=150_000, seconds=600)
"""Of states, so that a case stands alike on every machine."""
SMALL = Budget(states=20_000, seconds=600)
EVERY = 11
FEWEST_RIGHT = 0.92


def judged(group: Group, order: Any, budget: Budget) -> list[bool]:
    """Whether the machine of a schema accepts each of its instances."""
    deepest = max((depth(instance) for instance, _ in group.tests), default=0)
    constraint = explorer.json_schema(
        group.schema, whitespace="flexible", property_order=order, max_depth=max(5, deepest)
    )
    machine = constraint.discover(Meter(budget))
    return [
        accepts(machine, json.dumps(data, ensure_ascii=False).encode(errors="surrogatepass"))
        for data, _ in group.tests
    ]


def category(group: Group, budget: Budget) -> str:
    """``right``, or what is wrong with a schema first."""
    wanted = [valid for _, valid in group.tests]
    try:
        found = judged(group, "schema", budget)
        if any(accepted and not valid for accepted, valid in zip(found, wanted, strict=True)):
            return "wrong acceptance"
        if found != wanted:
            found = judged(group, "any", budget)
    except UnsupportedSchema as error:
        return f"unsupported: {error.keyword}"
    except BudgetExceeded:
        return "over budget"
    if found == wanted:
        return "right"
    too_much = any(accepted and not valid for accepted, valid in zip(found, wanted, strict=True))
    return "wrong acceptance" if too_much else "wrong rejection"


def listed() -> dict[str, str]:
    known: dict[str, str] = json.loads(RATCHET.read_bytes())
    return known


GROUPS = list(real())


@needs_data
@pytest.mark.parametrize("group", GROUPS[::EVERY], ids=lambda group: group.name)
def test_a_sample_stands_as_listed(group: Group) -> None:
    found = category(group, SMALL)
    if found != "over budget":
        assert found == listed()[group.name]


@needs_data
@pytest.mark.long
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_schema_stands_as_listed(group: Group) -> None:
    assert category(group, LARGE) == listed()[group.name]


@needs_data
def test_nearly_all_are_whole_and_none_is_wrong() -> None:
    stands = listed()
    assert stands.keys() == {group.name for group in GROUPS}
    counts = Counter(stands.values())
    assert counts["right"] >= FEWEST_RIGHT * len(stands)
    assert not any(each.startswith("wrong") for each in counts)


@needs_data
def test_a_wrong_machine_is_found() -> None:
    group = next(group for group in GROUPS if group.tests and listed()[group.name] == "right")
    turned = Group(
        group.name, group.schema, tuple((data, not valid) for data, valid in group.tests)
    )
    assert category(group, SMALL) == "right"
    assert category(turned, SMALL).startswith("wrong")


def named_category(group: Group) -> tuple[str, str]:
    return group.name, category(group, LARGE)


def write() -> None:
    if not GROUPS:
        raise SystemExit("EXPLORER_TOKENIZERS names no folder with the schemas beside it.")
    found: dict[str, str] = {}
    with get_context("fork").Pool(os.cpu_count(), maxtasksperchild=20) as pool:
        for name, each in pool.imap_unordered(named_category, GROUPS):
            found[name] = each
            print(name, each, flush=True)
    RATCHET.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(Counter(found.values()))


if __name__ == "__main__":
    write()
