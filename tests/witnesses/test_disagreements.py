"""The walk that looks for states where engines differ."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import explorer
from explorer import Constraint, Vocabulary

for library in ("outlines_core", "xgrammar", "llguidance"):
    pytest.importorskip(library)


@cache
def vocabulary() -> Vocabulary:
    longer = ["ab", "aa", "12", '{"', '":', "é", "\n\n", "abc", "[[", ", "]
    return Vocabulary.from_bytes(
        [bytes([b]) for b in range(256)] + [text.encode() for text in longer],
        eos_ids=[256 + len(longer)],
    )


SCHEMA = explorer.json_schema(
    {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 30}, "b": {"type": "boolean"}},
        "required": ["a"],
        "additionalProperties": False,
    }
)
WALKS: list[tuple[Constraint, str, str]] = [
    (explorer.regex(r"(?:id: )?[a-c]{2,3}x.y?"), "xgrammar", "dialect"),
    (SCHEMA, "outlines-core", "unsupported keyword"),
    (explorer.grammar('root ::= "x" item | item\nitem ::= "[" . "]" | "(" item ")"'),
     "llguidance", "dialect"),
]  # fmt: skip


@pytest.mark.parametrize(("constraint", "engine", "kind"), WALKS)
def test_a_walk_finds_a_difference(constraint: Constraint, engine: str, kind: str) -> None:
    """Its oracle is one state: the witness after the same text has the same difference."""
    found = explorer.disagreements(constraint, vocabulary(), 4, engines=[engine])
    assert found.states > found.texts > 0 and found.differing > 0
    each = next(each for each in found.differences if each.kind == kind)
    again = explorer.witness(constraint, vocabulary(), each.prefix, engines=[engine])
    tokens = each.disagreement.tokens
    assert np.all(again.masks[engine][tokens] == each.disagreement.allows)
    assert np.all(again.masks["explorer"][tokens] != each.disagreement.allows)
    assert str(each) in str(found) and each.disagreement.sentence.split()[0] in str(each)


def test_a_reason_is_reported_once() -> None:
    found = explorer.disagreements(explorer.regex(r"[a-c]+.x"), vocabulary(), 2)
    keys = [(d.engine, d.kind, d.disagreement.allows, d.disagreement.sentence)
            for d in found.differences]  # fmt: skip
    assert keys and len(keys) == len(set(keys))


def test_a_model_leads_the_walk() -> None:
    lm = explorer.load_model("tiny")
    found = explorer.disagreements(
        explorer.regex("[a-z]+.x"), lm, 3, model=lm, engines=["xgrammar"]
    )
    chances = [each.probability or 0 for each in found.differences]
    assert chances and all(0 < each <= 1 for each in chances)
    assert chances == sorted(chances, reverse=True)


def test_an_engine_that_refuses_ends_the_walk() -> None:
    found = explorer.disagreements(
        explorer.grammar('root ::= "a"'), vocabulary(), 60, engines=["outlines-core"]
    )
    assert (found.differences, found.texts) == ((), 1)
    assert "outlines-core did not answer" in str(found)
