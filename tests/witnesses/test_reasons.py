"""Reasons hold for what they name: asked of the engines themselves and of independent judges."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import explorer
from explorer import Vocabulary
from explorer.errors import ExplorerError
from explorer.languages.schema.source import JsonSchema
from explorer.witnesses.asking import statement_of
from explorer.witnesses.engines import Tokens, peer
from explorer.witnesses.judging import judge_of
from explorer.witnesses.rules.classes import CLASSES
from explorer.witnesses.variants import ASCII_AND_NBSP, variants_of_schema

for library in ("outlines_core", "xgrammar", "llguidance", "jsonschema"):
    pytest.importorskip(library)


@cache
def vocabulary() -> Vocabulary:
    longer = ["ab", "12", ".5", "-b", "é", "\u3000", "1e"]
    return Vocabulary.from_bytes(
        [bytes([b]) for b in range(256)] + [text.encode() for text in longer],
        eos_ids=[256 + len(longer)],
    )


@cache
def engine(name: str) -> Any:
    """An engine in this process, on single bytes."""
    return peer(name, Tokens((*(bytes([b]) for b in range(256)), None), 256))


def accepts(name: str, compiled: Any, text: str) -> bool:
    return engine(name).accepts(compiled, list(text.encode()))


POSITIVE = {"type": "integer", "minimum": 10}
NESTED: dict[str, tuple[dict[str, Any], str]] = {
    "allOf": ({"allOf": [POSITIVE, {"maximum": 29}]}, "1"),
    "oneOf": ({"oneOf": [POSITIVE, {"type": "null"}]}, "1"),
    "if": ({"type": "integer", "if": {"minimum": 5}, "then": {"maximum": 15}}, "1"),
    "contains": ({"type": "array", "contains": POSITIVE, "maxItems": 1}, "["),
    "propertyNames": ({"type": "object", "propertyNames": {"maxLength": 1}}, '{"a'),
    "dependentRequired": (
        {"properties": {"a": POSITIVE, "b": {}}, "dependentRequired": {"a": ["b"]}}, '{"a":'
    ),
}  # fmt: skip


@pytest.mark.parametrize("keyword", NESTED)
def test_a_keyword_that_holds_schemas_is_left_out_whole(keyword: str) -> None:
    schema, text = NESTED[keyword]
    constraint = explorer.json_schema(schema, strict=False)
    found = explorer.witness(constraint, vocabulary(), text, engines=["xgrammar"])
    ours, theirs = found.masks.get("explorer"), found.masks.get("xgrammar")
    assert ours is not None
    listed = [int(token) for each in found.disagreements for token in each.tokens]
    if theirs is not None:
        assert sorted(listed) == np.flatnonzero(theirs != ours).tolist()


@pytest.mark.parametrize("keyword", NESTED)
def test_no_change_of_a_schema_walks_where_another_left_nothing(keyword: str) -> None:
    source = explorer.json_schema(NESTED[keyword][0], strict=False).source
    assert isinstance(source, JsonSchema)
    made = [variant.make() for variant in variants_of_schema(source)]
    assert any(keyword not in each.source.text for each in made)


def test_half_a_character_is_a_prefix() -> None:
    found = explorer.witness(explorer.regex("aé"), vocabulary(), b"a\xc3")
    assert found.prefix == (ord("a"), 0xC3) and found.agree
    few = Vocabulary.from_bytes([b"a", "é".encode()], eos_ids=[2])
    with pytest.raises(ExplorerError, match="bytes that tokens of the vocabulary write"):
        explorer.witness(explorer.regex("aé"), few, b"a\xc3")


PAST: list[tuple[explorer.Constraint, str, list[str]]] = [
    (explorer.regex("foo|foobar"), "foo", ["b"]),
    (explorer.regex("a|a-b"), "a", ["-", "-b"]),
    (explorer.regex(".+"), "a", ["\u00c3"]),
    (explorer.json_schema({"type": "number"}), "1", [".", "e", "E"]),
]


@pytest.mark.parametrize(
    ("constraint", "prefix", "masked"), PAST, ids=["branch", "direct", "bytes", "number"]
)
def test_past_a_match_the_own_pattern_and_the_index_contradict_each_other(
    constraint: explorer.Constraint, prefix: str, masked: list[str]
) -> None:
    found = explorer.witness(constraint, vocabulary(), prefix, engines=["outlines-core"])
    pattern = engine("outlines-core").own_pattern(found.statement)
    index = engine("outlines-core").compile(pattern)
    for token in masked:
        each = found.disagreement("outlines-core", vocabulary().ids_of(token.encode("latin-1"))[0])
        assert each is not None and (each.kind, each.allows) == ("bug", False)
        assert "its own pattern goes on with these" in each.sentence
        shown = each.evidence["re.fullmatch"]
        assert "its own pattern matches" in shown
        text = shown.removeprefix("its own pattern matches ")[1:-1]
        if "\\" not in text:  # Of half a character only the escaped form is shown.
            assert re.fullmatch(pattern, text) and not accepts("outlines-core", index, text)
    assert "foobar" in str(found) or prefix != "foo"


def test_what_the_engine_reads_otherwise_is_not_called_lost_past_a_match() -> None:
    # U+001C is not white space in Rust, so no longer text of the engine's pattern is lost.
    found = explorer.witness(explorer.regex(r"\s+"), vocabulary(), " ", engines=["outlines-core"])
    each = found.disagreement("outlines-core", 0x1C)
    assert each is not None and each.kind == "Unicode class"


def test_the_spaces_of_xgrammar_are_those_of_the_reason() -> None:
    compiled = engine("xgrammar").compile(r"\s")
    own = re.compile(f"[{ASCII_AND_NBSP}]")
    places = [*range(0x300), 0x1680, *range(0x2000, 0x2030), 0x205F, 0x3000, 0xFEFF]
    for code in places:
        assert accepts("xgrammar", compiled, chr(code)) == bool(own.fullmatch(chr(code))), code


def test_one_reason_for_the_spaces_and_for_the_keys() -> None:
    keys = explorer.json_schema(
        {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False}
    )
    for constraint, prefix, word in (
        (explorer.regex(r"\s+"), " ", "U+00A0 alone"),
        (keys, '{"x', "whole key"),
    ):
        found = explorer.witness(constraint, vocabulary(), prefix, engines=["xgrammar"])
        (each,) = found.disagreements
        assert word in each.sentence


@pytest.mark.parametrize("sign", ["&&", "~~"])
def test_the_operators_of_a_class_are_one_dialect(sign: str) -> None:
    constraint = explorer.regex(f"[ab{sign}bc]|[[:digit:]]x")
    found = explorer.witness(constraint, vocabulary(), engines=["outlines-core", "llguidance"])
    assert {each.kind for each in found.disagreements} == {"dialect"}
    assert len({each.sentence for each in found.disagreements}) == 1
    index = engine("outlines-core").compile(constraint.source.text)
    allowed = {letter for letter in "abc" if accepts("outlines-core", index, letter)}
    assert allowed == {"&&": {"b"}, "~~": {"a", "c"}}[sign]


def test_a_spelling_is_shown_with_two_texts_of_one_value() -> None:
    found = explorer.witness(
        explorer.json_schema({"type": "string"}), vocabulary(), '"\\', engines=["llguidance"]
    )
    (each,) = found.disagreements
    assert each.kind == "dialect" and each.evidence["one value"].count("writes") == 1
    # Line breaks have one spelling only: no reason about spellings can hold for them.
    bounded = explorer.json_schema({"type": "string", "minLength": 2, "maxLength": 3})
    found = explorer.witness(bounded, vocabulary(), '"', engines=["xgrammar"])
    other = found.disagreement("xgrammar", ord("\\"))
    assert other is not None and "spelled" not in other.sentence


def test_the_judge_reads_formats_or_says_that_it_does_not() -> None:
    date = judge_of(statement_of(explorer.json_schema({"type": "string", "format": "date"})))
    assert date is not None
    assert date.verdict(b'"2024-02-30"') is False and date.verdict(b'"2024-02-29"') is True
    email = judge_of(statement_of(explorer.json_schema({"type": "string", "format": "email"})))
    assert email is not None and "does not check the format email" in email.name
    assert email.verdict(b'"a b@c"') is None and email.verdict(b"1") is False


def test_a_limit_is_not_a_refusal() -> None:
    slow = explorer.regex("(a|b)*a(a|b){21}")
    found = explorer.witness(slow, vocabulary(), engines=["outlines-core"], seconds=0.3)
    text = str(found)
    assert "did not answer in time" in text and "within 0.3 s" in text and "refuses" not in text


def test_one_token_is_not_tokens() -> None:
    found = explorer.witness(explorer.regex(r"a.\n"), vocabulary(), "a\n", engines=["xgrammar"])
    assert "leaves the prefix after 1 token\n" in str(found) + "\n"


def test_no_rule_claims_a_cause_that_it_did_not_measure() -> None:
    names = [each.name for each in CLASSES]
    (first,) = [each.name for each in CLASSES if each.first is not None]
    assert first == "bug" and names.index("byte handling") < names.index("bug")
