"""Readings of engines: the masks of the engines themselves, and what a source of the kind keeps."""

from __future__ import annotations

import json
import pickle
import re

import pytest

import explorer
from explorer.errors import ExplorerError
from explorer.languages.engines.outlines import OutlinesDrawing
from explorer.languages.engines.patterns import EnginePattern
from explorer.languages.engines.reading import as_engine
from explorer.languages.engines.source import EngineSchema
from explorer.languages.sources.registry import kind_of
from tests.evidence import examples
from tests.languages.engines.oracle import compare
from tests.languages.engines.schemas import whole_schema

SEED = 20261128
"""The first seed of a push; ``python -m tests.languages.engines.oracle`` takes others."""

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.mark.parametrize("engine", ["xgrammar", "llguidance", "outlines"])
def test_every_mask_is_the_engines(engine: str) -> None:
    pytest.importorskip(engine.replace("outlines", "outlines_core"))
    tally = compare(engine, examples(20 if engine == "outlines" else 80), seed=SEED)
    assert not tally.differences and not tally.unread, tally


def test_the_pattern_of_a_schema_is_that_of_outlines() -> None:
    """Letter by letter, also where references nest; what it refuses is refused."""
    library = pytest.importorskip("outlines_core.json_schema")
    for text in (*map(json.dumps, map(whole_schema, range(SEED, SEED + 200))), *NESTED):
        try:
            theirs = library.build_regex_from_schema(text)
        except Exception:  # It has no class of its own, and panics.
            theirs = None
        try:
            ours = re.sub("[\U000f0000-\U0010ffff]", "", OutlinesDrawing(text).marked())
        except ExplorerError:
            ours = None
        assert ours == theirs, text


def test_a_pattern_is_read_in_the_dialect_of_the_engine() -> None:
    anywhere = explorer.regex(r"(^a|b$).\s\w")
    assert as_engine(anywhere, "xgrammar").accepts("a\n\xa0b")
    assert not as_engine(anywhere, "xgrammar").accepts("a1 é")
    assert as_engine(anywhere, "outlines").accepts("a1 é")
    assert not as_engine(explorer.regex("(?:a$)\n?"), "llguidance").accepts("a\n")
    plain = explorer.regex("[0-9]{4}-[a-c]+")
    assert as_engine(plain, "xgrammar") is plain
    source = as_engine(anywhere, "xgrammar").source
    assert kind_of("engine_regex").load(source.fields(), ()) == source
    assert isinstance(source, EnginePattern)
    assert [said.split()[1] for _, said in source.remarks] == ["dot", "\\d", "ignores"]


NESTED = [
    json.dumps({**_NODE, "$defs": {"x": {"type": "object", "properties": {"y": _NODE}}}})
    for _NODE in (
        {"type": "object", "properties": {"n": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
         "required": ["n"]},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"type": "null"}}},
        {"$ref": "#/$defs/x"}, {"const": 1e-5}, {"enum": [1e-6, 2.5e20, "\x01é~"]},
    )
]  # fmt: skip


def test_a_reading_that_is_wrong_is_noticed() -> None:
    """The oracle can fail: an integer with zeros before it is not what xgrammar reads."""
    pytest.importorskip("xgrammar")
    wrong = as_engine(explorer.json_schema({"type": "integer"}), "xgrammar")
    assert not wrong.accepts("007") and wrong.accepts("7")
    assert not wrong.accepts("7.0")
    tally = compare("xgrammar", 150, seed=3, reading="llguidance")
    assert tally.differences, "a schema that is not read as xgrammar reads it"


@pytest.mark.parametrize(("least", "most", "ok"), [
    ("exclusiveMinimum", "exclusiveMaximum", "36"), ("minimum", "maximum", "0369"),
])  # fmt: skip
def test_multiples_are_listed_between_their_bounds(least: str, most: str, ok: str) -> None:
    schema = explorer.json_schema({"type": "integer", least: 0, most: 9, "multipleOf": 3})
    read = as_engine(schema, "xgrammar")
    assert "".join(each for each in "0123456789" if read.accepts(each)) == ok


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
