"""A reason is claimed only where the engine itself, asked another way, says that it holds.

The oracle asks the engines in this process, each for the constraint and for the changed one, and
compares the two masks; nothing of the rules stands between.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import explorer
from explorer import Constraint, Vocabulary
from explorer.errors import ExplorerError
from explorer.witnesses.answers import Disagreement
from explorer.witnesses.asking import statement_of
from explorer.witnesses.engines import ENGINES, Tokens, peer
from explorer.witnesses.judging import judge_of
from explorer.witnesses.messages import Statement
from explorer.witnesses.readings import readings_of
from explorer.witnesses.witness import place_after

for library in ("outlines_core", "xgrammar", "llguidance", "jsonschema"):
    pytest.importorskip(library)

LONGER = ["ab", "12", ".5", "-b", "é", "1e", '":', '{"', "abcdef", "2024", "-0", ":5", "\\u", '"}']


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary.from_bytes(
        [bytes([b]) for b in range(256)] + [text.encode() for text in LONGER],
        eos_ids=[256 + len(LONGER)],
    )


@cache
def engine(name: str) -> Any:
    return peer(name, Tokens(vocabulary().tokens, vocabulary().eos_ids[0]))


@cache
def compiled(name: str, asked: Statement) -> Any:
    if asked.kind == "regex":
        return engine(name).compile(asked.text)
    return engine(name).compile_schema(asked.text, asked.whitespace, asked.any_order)


def mask(name: str, asked: Statement, prefix: Sequence[int]) -> Any:
    """The engine's mask after a prefix, in this process; ``None`` where it leaves the prefix."""
    rows = list(engine(name).rows(compiled(name, asked), prefix))
    return rows[-1] if len(rows) == len(prefix) + 1 else None


def holds(each: Disagreement, asked: Statement, prefix: Sequence[int]) -> bool:
    """Whether the engine shows one mask for both constraints of a claim."""
    assert each.same_as is not None
    own, other = (mask(each.engine, one, prefix) for one in (asked, each.same_as))
    return own is not None and other is not None and np.array_equal(own, other)


DATE_TIME = explorer.json_schema({"type": "string", "format": "date-time"})
LEAP = '"2024-02-29T04:51:'


@pytest.mark.parametrize("name", ["xgrammar", "llguidance"])
def test_a_keyword_that_the_engine_reads_is_not_called_ignored(name: str) -> None:
    """They allow 0 to 6 here, and would allow any character without the format."""
    found = explorer.witness(DATE_TIME, vocabulary(), LEAP, engines=[name])
    allowed = np.flatnonzero(found.masks[name][:256]).tolist()
    assert bytes(allowed) == b"0123456"
    each = found.disagreement(name, ord("6"))
    assert (
        each is not None and each.kind in ("unexplained", "contradicted") and each.same_as is None
    )
    assert "/format" not in each.sentence


def test_without_the_question_to_the_engine_the_reason_would_be_false() -> None:
    """A claim that it reads a text without its format: the oracle of this file sees it."""
    found = explorer.witness(DATE_TIME, vocabulary(), LEAP, engines=["xgrammar"])
    (each,) = found.disagreements
    ignored = replace(each, same_as=Statement("json_schema", '{"type": "string"}'))
    assert not holds(ignored, found.statement, found.prefix)


def test_with_a_flag_that_no_class_was_asked_for_there_is_no_reason() -> None:
    """``(?i)`` was taken for a class of its own, whatever the engine said of it."""
    found = explorer.witness(explorer.regex("(?i:k)"), vocabulary(), engines=list(ENGINES))
    for each in found.disagreements:
        assert each.kind != "Unicode class" or each.same_as is not None, each.sentence


SCHEMAS: list[dict[str, Any]] = [
    *({"type": "string", "format": each} for each in (
        "date-time", "date", "time", "uuid", "ipv4", "ipv6", "duration", "hostname", "email", "uri",
    )),
    {"type": "string", "maxLength": 5}, {"type": "string", "minLength": 2, "maxLength": 4},
    {"type": "string", "pattern": "^[a-c]{2,4}\\d$", "maxLength": 4},
    {"type": "string", "pattern": "ab"}, {"type": "string", "format": "date", "maxLength": 10},
    {"enum": ["a", "ab", 1, 12, None]}, {"type": "string", "enum": ["x", "xy"], "maxLength": 1},
    {"type": "integer", "minimum": 3}, {"type": "integer", "minimum": -5, "maximum": 12},
    {"type": "integer", "multipleOf": 3}, {"type": "number", "minimum": 0.5, "maximum": 9.25},
    {"type": "number", "exclusiveMinimum": 0}, {"type": "number"}, {"const": "ab"},
    {"type": "object", "properties": {"a": {"type": "integer", "maximum": 9},
                                      "b": {"type": "string", "maxLength": 2}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "string", "format": "date"},
                                      "b": {"enum": ["q", "qq"]}},
     "required": ["b"], "additionalProperties": False},
    {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 2, "minItems": 1,
     "uniqueItems": True},
    {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    {"type": "object", "patternProperties": {"^x": {"type": "null"}},
     "additionalProperties": False},
    {"type": "object", "minProperties": 1, "maxProperties": 2,
     "additionalProperties": {"type": "boolean"}},
    {"type": "object", "propertyNames": {"maxLength": 1}, "additionalProperties": {"type": "null"}},
    {"type": "array", "contains": {"const": 1}, "items": {"enum": [1, 2]}, "maxItems": 2},
    {"type": "integer", "if": {"minimum": 5}, "then": {"maximum": 15}},
]  # fmt: skip
PATTERNS = [
    r"\d{2}-\w+", r"a.b?c", r"[^]]x", r"\s*\S\w", r"(foo|foobar)+?x?", r"\d{4}-\d\d",
    r"[a-c&&b-d]|[[:alpha:]]1", r"(?:a|b)+?", r"(?i:ab|k)\w?", r"[\s\w]{2}",
]  # fmt: skip


def constraints() -> list[Constraint]:
    schemas = [explorer.json_schema(each, strict=False) for each in SCHEMAS]
    loose = [
        explorer.json_schema(each, strict=False, whitespace="flexible")
        for each in SCHEMAS
        if each.get("type") in ("object", "array")
    ]
    return [*schemas, *loose, *map(explorer.regex, PATTERNS)]


def walked(constraint: Constraint, draw: random.Random, longest: int = 12) -> list[int]:
    """The tokens of a random text."""
    machine = explorer.compile(constraint, vocabulary(), lazy=True)
    state, tokens = machine.start, list[int]()
    while len(tokens) < longest:
        token = draw.choice(np.flatnonzero(machine.allowed(state)).tolist())
        following = machine.step(state, token)
        if following is None or following == explorer.DONE:
            break
        tokens.append(token)
        state = following
    return tokens


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_every_claim_of_a_walk_holds_for_the_engine(seed: int) -> None:
    """Hundreds of states over formats, lengths, patterns, enums and numbers."""
    draw, states, kinds, claims = random.Random(seed), 0, Counter[str](), 0
    for constraint in constraints():
        tokens = walked(constraint, draw)
        for k in range(len(tokens) + 1):
            found = explorer.witness(constraint, vocabulary(), tokens[:k], engines=list(ENGINES))
            states += 1
            for each in found.disagreements:
                kinds[each.kind] += 1
                if each.same_as is not None:
                    claims += 1
                    where = found.prefix[: each.position]
                    assert holds(each, found.statement, where), str(found)
                assert each.kind != "unsupported keyword" or each.same_as is not None
    print(f"{states} states, {claims} claims asked again, {dict(kinds)}")
    assert states > 200 and claims > 20


@pytest.mark.parametrize(
    ("prefix", "engine"),
    [
        ('"2016-12-31T18:58:', "xgrammar"),  # An offset makes the leap second right: -05:01.
        ('"', "outlines-core"),  # What it allows can be refused for something behind it.
    ],
)
def test_a_token_that_an_engine_allows_is_not_contradicted(prefix: str, engine: str) -> None:
    schema = explorer.json_schema({"type": "string", "format": "date-time"})
    found = explorer.witness(schema, vocabulary(), prefix, engines=[engine])
    assert {each.kind for each in found.disagreements if each.allows} == {"unexplained"}


@pytest.mark.parametrize(
    ("constraint", "prefix", "token"),
    [
        (explorer.regex("foo|foobar"), "foo", "b"),
        (explorer.regex("a|a-b"), "a", "-b"),
        (explorer.json_schema({"type": "number"}), "1", "e"),
    ],
    ids=["branch", "direct", "number"],
)
def test_what_a_judge_accepts_and_the_engine_masks_is_contradicted(
    constraint: Constraint, prefix: str, token: str
) -> None:
    """After a whole match outlines-core masks bytes with which its own pattern goes on."""
    found = explorer.witness(constraint, vocabulary(), prefix, engines=["outlines-core"])
    each = found.disagreement("outlines-core", vocabulary().ids_of(token.encode())[0])
    assert each is not None and (each.kind, each.allows) == ("contradicted", False)
    text, _, said = each.evidence["a whole text through it"].rpartition("; ")
    assert said.endswith("accepts it") and constraint.accepts(text[1:-1])


NESTED: dict[str, tuple[dict[str, Any], str]] = {
    "allOf": ({"allOf": [{"type": "integer", "minimum": 10}, {"maximum": 29}]}, "1"),
    "if": ({"type": "integer", "if": {"minimum": 5}, "then": {"maximum": 15}}, "1"),
    "propertyNames": ({"type": "object", "propertyNames": {"maxLength": 1}}, '{"a'),
}


@pytest.mark.parametrize("keyword", NESTED)
def test_a_keyword_that_holds_schemas_is_left_out_whole(keyword: str) -> None:
    schema, text = NESTED[keyword]
    constraint = explorer.json_schema(schema, strict=False)
    found = explorer.witness(constraint, vocabulary(), text, engines=["xgrammar"])
    place, _ = place_after(
        explorer.compile(constraint, vocabulary(), lazy=True), constraint, found.prefix
    )
    texts = [each.statement.text for each in readings_of(place) if each.statement]
    assert any(keyword not in each for each in texts)
    if "xgrammar" in found.masks:
        listed = [int(token) for each in found.disagreements for token in each.tokens]
        differing = found.masks["xgrammar"] != found.masks["explorer"]
        assert sorted(listed) == np.flatnonzero(differing).tolist()


def test_half_a_character_is_a_prefix() -> None:
    found = explorer.witness(explorer.regex("aé"), vocabulary(), b"a\xc3")
    assert found.prefix == (ord("a"), 0xC3) and found.agree
    few = Vocabulary.from_bytes([b"a", "é".encode()], eos_ids=[2])
    with pytest.raises(ExplorerError, match="bytes that tokens of one byte write"):
        explorer.witness(explorer.regex("aé"), few, b"a\xc3")


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


def test_a_format_that_the_judge_checks_in_part_is_not_judged() -> None:
    judge = judge_of(Statement("json_schema", '{"type": "string", "format": "time"}'))
    assert judge is not None and judge.verdict(b'"09:50:60Z"') is None
