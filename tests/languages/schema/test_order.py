"""The order of one text in place of any order: both read the same texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import explorer
from explorer.automata.discovered.discover import discover
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.budget import Budget, Meter
from explorer.errors import ExplorerError
from explorer.languages.schema.diagnosis.order import order_of
from explorer.languages.schema.reading.subschemas import root_of
from explorer.languages.schema.reading.text import Step
from explorer.languages.schema.source import JsonSchema
from explorer.languages.schema.values.places import Site
from explorer.languages.schema.values.sets import ValueSets
from tests.languages.schema.random_schemas import NAMES, RandomSchemas
from tests.languages.schema.random_texts import walked


def reads(machine: ByteMachine, text: bytes) -> bool:
    state = machine.start
    for byte in text:
        state = machine.step(state, byte) if state != NO_ARC else NO_ARC
    return state != NO_ARC


def names_at(site: Site, steps: Sequence[Step]) -> tuple[str, ...]:
    for kind, step in steps:
        site = site.member(str(step)) if kind == "member" else site.item
    return site.names


def test_a_text_is_read_in_its_own_order_if_it_is_read_in_any() -> None:
    judged = taken = 0
    for seed in range(400):
        draw = Random(seed)
        schema = RandomSchemas(draw, size=draw.choice([6, 12])).schema()
        source = JsonSchema.of(schema, recursion="unroll", max_depth=2)
        try:
            every = explorer.json_schema(
                schema, property_order="any", recursion="unroll", max_depth=2
            ).machine
            sets = ValueSets(source.options, Meter())
            root = sets.place([root_of(source.parsed, {})])
            for _ in range(6):
                text = (walked(draw, every) or "").encode()
                text = text[: draw.randint(0, len(text))]
                if draw.random() < 0.5:
                    text += draw.choice([f'"{name}' for name in NAMES] + ["}", ","]).encode()
                order = order_of(text, lambda steps, root=root: names_at(root, steps))
                if order is None or b"{" not in text:
                    continue
                options = replace(source.options, first=order)
                own = discover(source.with_parsed(source.parsed, options).tree, Budget())
                judged += 1
                taken += reads(every, text)
                assert reads(own, text) == reads(every, text), (seed, text, order)
        except ExplorerError:
            continue
    assert judged > 100 and 20 < taken < judged - 20
