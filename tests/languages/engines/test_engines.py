"""Readings of engines: the masks of the engines themselves, and what a source of the kind keeps."""

from __future__ import annotations

import json
import pickle
from random import Random

import pytest

import explorer
from explorer.languages.engines.reading import as_engine
from explorer.languages.engines.source import EngineSchema
from explorer.languages.sources.registry import kind_of
from tests.evidence import examples
from tests.languages.engines.oracle import compare

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.mark.parametrize("engine", ["xgrammar", "llguidance", "outlines"])
def test_every_mask_is_the_engines(engine: str) -> None:
    pytest.importorskip(engine.replace("outlines", "outlines_core"))
    tally = compare(
        engine, examples(20 if engine == "outlines" else 80), seed=Random().randrange(10**6)
    )
    assert not tally.differences and not tally.unread, tally


def test_a_reading_that_is_wrong_is_noticed() -> None:
    """The oracle can fail: an integer with zeros before it is not what xgrammar reads."""
    pytest.importorskip("xgrammar")
    wrong = as_engine(explorer.json_schema({"type": "integer"}), "xgrammar")
    assert not wrong.accepts("007") and wrong.accepts("7")
    assert not wrong.accepts("7.0")
    tally = compare("xgrammar", 150, seed=3, reading="llguidance")
    assert tally.differences, "a schema that is not read as xgrammar reads it"


def test_a_source_is_saved_and_says_where_it_is() -> None:
    constraint = as_engine(explorer.json_schema(CITY, whitespace="flexible"), "xgrammar")
    source = constraint.source
    assert kind_of("engine_schema").load(source.fields(), ()) == source
    assert pickle.loads(pickle.dumps(constraint)).source == source
    assert isinstance(constraint.source, EngineSchema)
    assert any("strict_mode" in said for _, said in constraint.source.remarks)
    assert constraint.parse('{"city": "Rome"}') == {"city": "Rome"}
    why = explorer.explain_text(constraint, '{"city": 5')
    assert "/properties/city/type" in why.message, why.message
    assert json.loads(constraint.source.text) == CITY
