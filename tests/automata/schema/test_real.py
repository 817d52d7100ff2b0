"""Real and hand-written schemas with instances, case by case, against a file that lists them all.

``real.json`` gives each of the 550 schemas its category: ``right`` where every instance is judged
as the benchmark has it. Instances are written as ``json.dumps(data, ensure_ascii=False)``, with any
white space; in any order where the schema's order is not theirs. A case that gets worse fails the
long test, and so does one that gets better until the file says so: ``python -m
tests.automata.schema.test_real`` writes it anew, each schema in a process that is ended when it
takes too long.

The short test takes every `EVERY`-th schema, and of those the ones whose machines stay small.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

import pytest

from explorer.budget import Budget
from tests.automata.schema.corpora import Group, needs_data, real
from tests.automata.schema.test_suite import category

RATCHET = Path(__file__).parent / "real.json"
LARGE = Budget(states=400_000, seconds=120)
SMALL = Budget(states=20_000, seconds=120)
EVERY = 11
FEWEST_RIGHT = 0.92


def listed() -> dict[str, str]:
    known: dict[str, str] = json.loads(RATCHET.read_bytes())
    return known


GROUPS = list(real())


@needs_data
@pytest.mark.parametrize("group", GROUPS[::EVERY], ids=lambda group: group.name)
def test_a_sample_stands_as_listed(group: Group) -> None:
    found = category(group, budget=SMALL)
    if found != "over budget":
        assert found == listed()[group.name]


@needs_data
@pytest.mark.long
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_schema_stands_as_listed(group: Group) -> None:
    assert category(group, budget=LARGE) == listed()[group.name]


@needs_data
def test_nearly_all_are_whole_and_none_is_wrong() -> None:
    stands = listed()
    assert stands.keys() == {group.name for group in GROUPS}
    counts = Counter(stands.values())
    assert counts["right"] >= FEWEST_RIGHT * len(stands)
    assert not any(each.startswith("wrong") for each in counts)


@needs_data
def test_a_wrong_machine_is_found() -> None:
    group = next(group for group in GROUPS if group.name == "Handwritten---key1")
    turned = Group(
        group.name, group.schema, tuple((data, not valid) for data, valid in group.tests)
    )
    assert category(group, budget=SMALL) == "right"
    assert category(turned, budget=SMALL).startswith("wrong")


def named_category(group: Group) -> tuple[str, str]:
    return group.name, category(group, budget=LARGE)


def write() -> None:
    if not GROUPS:
        raise SystemExit("EXPLORER_TOKENIZERS names no folder with the schemas beside it.")
    found: dict[str, str] = {}
    with get_context("fork").Pool(os.cpu_count(), maxtasksperchild=20) as pool:
        for name, each in pool.imap_unordered(named_category, GROUPS):
            found[name] = each
            if each != "right":
                print(name, each, flush=True)
    RATCHET.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(Counter(found.values()))


if __name__ == "__main__":
    write()
