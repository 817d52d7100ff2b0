"""One state in four engines: masks, refusals, crashes and the classes of differences.

The oracle of a mask is the engine itself, asked in this process without ours between; the oracle of
a text is Python's ``re`` or ``jsonschema``.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

import explorer
from explorer import Constraint, Vocabulary
from explorer.errors import ConstraintError, ExplorerError
from explorer.witnesses.answers import Witness
from explorer.witnesses.engines import ENGINES, Tokens, peer
from explorer.witnesses.reasons import CLASSES

for library in ("outlines_core", "xgrammar", "llguidance"):
    pytest.importorskip(library)


@cache
def vocabulary() -> Vocabulary:
    """All single bytes, some longer tokens, and an end of text."""
    longer = ["ab", "aa", "11", "wor", " world", "é", "²", "\u200d", "٣", '"a', '":', "\n\n", "- "]
    return Vocabulary.from_bytes(
        [bytes([b]) for b in range(256)] + [text.encode() for text in longer],
        eos_ids=[256 + len(longer)],
    )


def direct(engine: str, pattern: str, ids: tuple[int, ...]) -> Any:
    """The mask of an engine in this process."""
    tokens = Tokens(vocabulary().tokens, vocabulary().eos_ids[0])
    made = peer(engine, tokens)
    *_, row = made.rows(made.compile(pattern), ids)
    return row


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("pattern", "prefix"), [(r"\w+-.x", "ab-"), ("(ab|a)+1?", "a"), ("a", "")])
def test_a_mask_is_the_engines_own(engine: str, pattern: str, prefix: str) -> None:
    found = explorer.witness(explorer.regex(pattern), vocabulary(), prefix)
    assert np.array_equal(found.masks[engine], direct(engine, pattern, found.prefix))
    assert found.text.decode() == prefix
    assert not found.masks[engine].flags.writeable


def test_every_difference_is_in_one_group_and_no_other_token_is() -> None:
    found = explorer.witness(explorer.regex(r"\w+-.x"), vocabulary(), "ab-")
    ours = found.masks["explorer"]
    for engine in ENGINES:
        differing = np.flatnonzero(ours != found.masks[engine]).tolist()
        groups = [each for each in found.disagreements if each.engine == engine]
        listed = [int(token) for each in groups for token in each.tokens]
        assert sorted(listed) == differing
        for token in differing:
            each = found.disagreement(engine, token)
            assert each is not None and each.kind in CLASSES
            assert each.allows is bool(found.masks[engine][token])


def classes_of(found: Witness, engine: str) -> set[str]:
    return {each.kind for each in found.disagreements if each.engine == engine}


def schema(**keywords: Any) -> Constraint:
    return explorer.json_schema(keywords)


KINDS: list[tuple[Constraint, str, str, str]] = [
    (explorer.regex(r"\d+"), "", "xgrammar", "Unicode class"),
    (explorer.regex(r"\w+"), "a", "llguidance", "Unicode class"),
    (explorer.regex(r"a.b"), "a", "xgrammar", "dialect"),
    (explorer.regex(r"[[:digit:]]"), "", "llguidance", "contradicted, unexplained"),
    (explorer.regex(r"(?:a|b)+?"), "a", "outlines-core", "contradicted"),
    (explorer.regex("hello world"), "hello", "llguidance", "forced tokens"),
    (schema(type="integer", minimum=30), "", "outlines-core", "unsupported keyword"),
    (explorer.regex("[a~~b]|[[:alpha:]]"), "", "llguidance", "contradicted, unexplained"),
    (explorer.regex(r"\s+"), " ", "xgrammar", "Unicode class"),
    (explorer.grammar(r"start: /\s+/", "lark"), " ", "xgrammar", "Unicode class"),
    # Its index loses the longer texts behind a whole match, whatever its \d holds.
    (explorer.regex(r"\d+"), "1", "outlines-core", "contradicted"),
    # jsonschema takes 1.4E16 for a multiple of 7; a mask without the point forbids it.
    (schema(type="integer", multipleOf=7), "1", "outlines-core",
     "unsupported keyword, contradicted"),
    (schema(type="string", format="date"), '"2024-02-', "xgrammar", "unexplained"),
    (explorer.json_schema({"type": "null"}, whitespace="flexible"), "", "xgrammar",
     "whitespace rule"),
    (explorer.grammar('root ::= "a" .'), "a", "llguidance", "dialect"),
    (explorer.grammar(r"start: /\d/", "lark"), "", "xgrammar", "Unicode class"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("constraint", "prefix", "engine", "kinds"),
    KINDS,
    ids=[f"{engine}, {kinds}, {k}" for k, (_, _, engine, kinds) in enumerate(KINDS)],
)
def test_a_difference_is_classed(
    constraint: Constraint, prefix: str, engine: str, kinds: str
) -> None:
    found = explorer.witness(constraint, vocabulary(), prefix, engines=[engine])
    assert classes_of(found, engine) == set(kinds.split(", "))
    for kind in kinds.split(", "):
        assert f"[{kind}] {engine}" in str(found)


def test_what_cannot_be_finished_is_trim() -> None:
    pair = Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
    found = explorer.witness(explorer.regex("a*d|b"), pair, engines=["outlines-core"])
    (each,) = found.disagreements
    assert (each.kind, each.allows, each.tokens.tolist()) == ("trim", True, [0])
    assert "no tokens of this vocabulary can finish it" in " ".join(str(found).split())


def test_a_prefix_that_one_leaves_is_explained_where_it_does() -> None:
    found = explorer.witness(explorer.regex(r".\n"), vocabulary(), "\n", engines=["xgrammar"])
    ours, theirs = found.testimonies
    assert ours.mask is None and theirs.mask is not None
    (each,) = found.disagreements
    assert (each.kind, each.allows, each.position) == ("dialect", True, 0)
    assert "leaves the prefix after 0 tokens" in str(found)


def test_a_refusal_is_an_answer() -> None:
    found = explorer.witness(explorer.regex("(?=a)a"), vocabulary())
    assert found.agree
    for engine in ENGINES:
        said = found.testimony(engine)
        assert (said.mask, said.stage) == (None, "constraint")
        assert said.refused and said.refused.split()[0] in str(found)
    grammar = explorer.witness(explorer.grammar('root ::= "a"'), vocabulary())
    assert "reads patterns and JSON Schemas" in grammar.testimony("outlines-core").refused


def test_what_no_engine_reads_is_refused_with_a_remedy() -> None:
    either = explorer.regex("a") & explorer.regex("[ab]")
    with pytest.raises(ConstraintError, match=r"kind 'intersection'.*Give a regex"):
        explorer.witness(either, vocabulary())
    with pytest.raises(ExplorerError, match="'vllm' was not asked"):
        explorer.witness(explorer.regex("a"), vocabulary(), engines=[]).testimony("vllm")


def test_a_choice_is_asked_for_as_a_pattern() -> None:
    found = explorer.witness(explorer.choice(["a.b", "a|c"]), vocabulary(), "a")
    assert re.fullmatch(found.statement.text, "a.b") and not re.fullmatch(found.statement.text, "a")
    assert found.agree


def test_no_engine_is_loaded_here() -> None:
    import subprocess

    code = (
        "import explorer, sys; v = explorer.Vocabulary.from_bytes([b'a'], eos_ids=[1]);"
        "w = explorer.witness(explorer.regex('a'), v);"
        "assert len(w.masks) == 4, w; print([n for n in ('outlines_core', 'xgrammar', 'llguidance',"
        " 'torch') if n in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
