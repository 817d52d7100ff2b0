"""Machines of changed schemas that share what they have in common read what those made alone do."""

from __future__ import annotations

import random
from typing import Any

import pytest

import explorer
from explorer.automata.machine import run
from explorer.errors import ExplorerError
from explorer.languages.schema.diagnosis.keywords import every_keyword, schema_without
from explorer.languages.schema.diagnosis.variants import Variants
from explorer.languages.schema.options import USUAL
from tests.analysis.reasons import without
from tests.evidence import few
from tests.languages.schema.random_schemas import RandomSchemas
from tests.languages.schema.random_texts import walked

MOST_CHANGED = 12
"""The keywords of one schema that are taken away, each alone."""

REFERRED: dict[str, Any] = {
    "type": "array", "items": {"$ref": "#/$defs/d"}, "minItems": 1,
    "$defs": {"d": {"properties": {"a": {"$ref": "#/$defs/e"}}, "required": ["a"]},
              "e": {"type": "integer"}},
}  # fmt: skip


def agree(schema: Any, draw: random.Random) -> int:
    """Compare the machines of a schema without each of some keywords; how many were compared."""

    def alone(changed: Any, _: object) -> Any:
        return explorer.json_schema(changed).machine

    variants, compared = Variants(schema, {}, True, alone), 0
    pointers = [*every_keyword(schema)]
    for pointer in draw.sample(pointers, min(len(pointers), MOST_CHANGED)):
        try:
            # Taken away twice independently, and made with nothing to share.
            own = explorer.json_schema(without(schema, (pointer,)), recursion="unroll").machine
            shared = variants.machine(schema_without(schema, [pointer]), USUAL, [pointer])
            texts = [walked(draw, machine) for machine in (own, shared) for _ in range(3)]
        except ExplorerError:
            continue
        for text in filter(None, texts):
            data = text.encode()
            states = run(own, own.start, data), run(shared, shared.start, data)
            assert (states[0] < 0).tolist() == (states[1] < 0).tolist(), (schema, pointer, text)
            for ours, theirs in zip(*(each.tolist() for each in states), strict=True):
                if ours >= 0:
                    assert own.expected(ours) == shared.expected(theirs), (schema, pointer, text)
                    assert own.is_accepting(ours) == shared.is_accepting(theirs)
        compared += 1
    return compared


@pytest.mark.parametrize("seed", few(range(200), 6))
def test_a_shared_machine_reads_what_one_made_alone_reads(seed: int) -> None:
    draw = random.Random(31_000_000 + seed)
    agree(RandomSchemas(draw, size=draw.choice([4, 8, 16])).schema(), draw)


def test_a_change_that_a_reference_leads_to_is_seen_by_all_that_refer_to_it() -> None:
    assert agree(REFERRED, random.Random(1)) >= 4
