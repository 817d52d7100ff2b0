"""The canonical filter: exactly the sequences that the tokenizers' own libraries write."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import explorer
from explorer import Budget, Vocabulary
from explorer.analysis.explaining.groups import explain_all
from explorer.errors import BudgetExceeded, ConstraintError, VocabularyError
from explorer.tokens.filtered.canonical import canonical_machine
from explorer.tokens.machine import TokenMachine, filtered_of
from explorer.vocabulary.canonical.cut_rules import GPT2_WORDS
from explorer.vocabulary.canonical.marked import Marked
from explorer.vocabulary.canonical.rules import CanonicalRules, rules_of
from tests.tokens.canonical_oracle import (
    Encode,
    accepts,
    by_mistral_common,
    by_tokenizers,
    paths,
    sampled,
    written,
)

TEKKEN = Path(str(resources.files("mistral_common"))) / "data" / "tekken_240911.json"

FINITE = {
    "choices": "Red|Orange|Yellow|Green|Blue|Indigo|Violet| Berlin|Bern|unbelievable",
    "numbers": r"[0-2]?[0-9]:[0-5][0-9]|1000000|3\.14159",
    "words": r" ?(I'm|we'll|don't|it's 'so'|\('re\)|!!!|\.\.\. )",
    "spaces": r"a( |\n|\n\n|\t)b|x\n {1}y| \n \n|z ",
}
INFINITE = {
    "quoted": r'"([a-zA-Z]+ )*[.!]?"',
    "json": r'\{"[a-z]{1,8}":(-?[1-9][0-9]*|"[a-zA-Z0-9_]*"|true|null)(,"[a-z]+":\[[0-9]+\])*\}',
}
WIDE = {"any": r"(?s).*", "umlauts": "[a-zA-ZÀ-ÖØ-öø-ÿ0-9 ]*", "spaces": r"[a ]*[\n\t ]*[é'rs!]*"}


class Case:
    """A tokenizer with its rules and its library."""

    def __init__(self, vocabulary: Vocabulary, encode: Encode) -> None:
        self.vocabulary = vocabulary
        self.encode = encode

    def machine(self, pattern: str) -> TokenMachine:
        constraint = explorer.regex(pattern).canonical(self.vocabulary)
        return explorer.compile(constraint, self.vocabulary)


def folder() -> Path:
    found = os.environ.get("EXPLORER_TOKENIZERS")
    if not found:
        pytest.skip("EXPLORER_TOKENIZERS names no folder of further tokenizers")
    return Path(found)


def gpt2() -> Case:
    vocabulary = Vocabulary.from_file(folder() / "gpt2")
    tokenizer = Tokenizer(
        models.BPE.from_file(
            str(folder() / "gpt2" / "encoder.json"), str(folder() / "gpt2" / "vocab.bpe")
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return Case(vocabulary, by_tokenizers(tokenizer))


def of_json(name: str) -> Callable[[], Case]:
    def make() -> Case:
        path = folder() / name / "tokenizer.json"
        tokenizer = Tokenizer.from_file(str(path))
        return Case(Vocabulary.from_file(path), by_tokenizers(tokenizer))

    return make


def tekken() -> Case:
    return Case(Vocabulary.from_file(TEKKEN), by_mistral_common(TEKKEN))


MAKERS = {
    "gpt2": gpt2,
    "mistral-v3": of_json("mistral-v3"),
    "gpt-neox": of_json("gpt-neox"),
    "tekken": tekken,
}
_made: dict[str, Case] = {}


@pytest.fixture(
    params=[
        pytest.param(name, marks=[] if name == "gpt2" else [pytest.mark.long]) for name in MAKERS
    ]
)
def case(request: pytest.FixtureRequest) -> Case:
    name: str = request.param
    if name not in _made:
        _made[name] = MAKERS[name]()
    return _made[name]


# --- the law ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FINITE)
def test_paths_of_finite_constraints_are_what_the_library_writes(case: Case, name: str) -> None:
    machine = case.machine(FINITE[name])
    texts = explorer.regex(FINITE[name]).examples(5000)
    expected = {case.encode(text) for text in texts}
    # What a dummy prefix or an unknown character changes is not a text of the constraint.
    expected = {path for path in expected if written(case.vocabulary, path).decode() in set(texts)}
    assert len(expected) == len(texts)
    assert set(paths(machine)) == expected


@pytest.mark.parametrize(
    "name", [*INFINITE, *(pytest.param(n, marks=pytest.mark.long) for n in WIDE)]
)
def test_sampled_paths_are_what_the_library_writes(case: Case, name: str) -> None:
    many = bool(os.environ.get("EXPLORER_LONG_EXAMPLES"))
    machine = case.machine((INFINITE | WIDE)[name])
    random = Random(name)
    for _ in range(200 if many else 8):
        path = sampled(machine, random, 24)
        if path is not None:
            assert case.encode(written(case.vocabulary, path).decode()) == path


TEXTS = {
    "any": st.text(st.sampled_from("  \n\tab'rests1é▁本ö!?-") | st.characters(), max_size=24),
    "json": st.from_regex(INFINITE["json"], fullmatch=True),
    "quoted": st.from_regex(INFINITE["quoted"], fullmatch=True),
}


@pytest.mark.parametrize("name", ["json", "quoted", pytest.param("any", marks=pytest.mark.long)])
def test_what_the_library_writes_is_allowed(case: Case, name: str) -> None:
    machine = case.machine((INFINITE | WIDE)[name])

    @settings(max_examples=int(os.environ.get("EXPLORER_LONG_EXAMPLES") or 0) // 20 or 8)
    @given(TEXTS[name])
    def check(text: str) -> None:
        path = case.encode(text)
        if written(case.vocabulary, path) == text.encode():
            assert accepts(machine, path), text

    check()


# --- mutants: each half of the rules is needed --------------------------------------------------


def merges_of(vocabulary: Vocabulary) -> CanonicalRules:
    rules = rules_of(vocabulary)
    assert isinstance(rules, CanonicalRules)
    return rules


def mutated(machine: TokenMachine, rules: CanonicalRules) -> TokenMachine:
    filtered = filtered_of(machine)
    assert filtered is not None and filtered.unfiltered is not None
    return canonical_machine(filtered.unfiltered, rules, Budget())


def test_without_the_relation_between_neighbours_the_law_fails() -> None:
    case = _made.setdefault("gpt2", MAKERS["gpt2"]())
    machine = case.machine("Berlin|Bern")
    rules = merges_of(case.vocabulary)
    nothing = replace(rules.merges, start=np.zeros_like(rules.merges.start))
    wrong = set(paths(mutated(machine, replace(rules, merges=nothing))))
    assert wrong > set(paths(machine))
    assert any(case.encode(written(case.vocabulary, path).decode()) != path for path in wrong)


def test_with_another_splitter_the_law_fails() -> None:
    case = _made.setdefault("gpt2", MAKERS["gpt2"]())
    machine = case.machine("a  b")
    pattern = GPT2_WORDS.replace(r"|\s+(?!\S)", "")
    marked = Marked.of_pattern(pattern, "a splitter").over_bytes()
    wrong = set(paths(mutated(machine, replace(merges_of(case.vocabulary), marked=marked))))
    assert {case.encode("a  b")} == set(paths(machine)) != wrong


# --- the parts ----------------------------------------------------------------------------------


PATTERNS = {
    "gpt2": GPT2_WORDS,
    "tekken": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "possessive": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s*[\r\n]|\s+(?!\S)|\s",
    "qwen": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


# --- the machine ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy() -> Vocabulary:
    pieces = {c: k for k, c in enumerate("abcBerlin.")} | {"Ġ": 10}
    merges = [("B", "e"), ("Be", "r"), ("l", "i"), ("li", "n"), ("Ber", "lin"), ("a", "b")]
    for left, right in merges:
        pieces[left + right] = len(pieces)
    tokenizer = Tokenizer(models.BPE(pieces | {"<end>": len(pieces)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return Vocabulary.from_tokenizer(tokenizer, eos_ids=[len(pieces)])


def test_the_filter_says_why(toy: Vocabulary) -> None:
    machine = explorer.compile(explorer.literal("Berlin").canonical(toy), toy)
    (ber,), (b,) = toy.ids_of(b"Ber"), toy.ids_of(b"B")
    why = explorer.explain(machine, machine.start, ber)
    assert why.stage == "filtered"
    assert "by the canonical filter: the tokenizer would write 'Berlin' as one token" in why.message
    assert "masked by the canonical filter" in why.paragraph
    assert explorer.explain(machine, 0, toy.ids_of(b"Berlin")[0]).allowed
    reasons = explain_all(machine, 0)
    assert reasons.num_allowed == 1
    assert [group.reason for group in reasons.groups if group.stage == "filtered"]
    filtered = filtered_of(machine)
    assert filtered is not None and filtered.refusal(0, b) is not None


def test_a_filtered_constraint_is_not_a_part_of_another(toy: Vocabulary) -> None:
    filtered = explorer.literal("ab").canonical(toy)
    for combine in (
        lambda: filtered | explorer.literal("c"),
        lambda: explorer.literal("c") + filtered,
        lambda: filtered.star(),
        lambda: ~filtered,
        lambda: explorer.many(filtered),
        lambda: explorer.template("{x}", x=filtered),
    ):
        with pytest.raises(ConstraintError, match="Combine first"):
            combine()


def test_another_vocabulary_is_refused(toy: Vocabulary) -> None:
    other = Vocabulary.from_bytes([b"b", b"a"], eos_ids=[2])
    with pytest.raises(VocabularyError, match="the id 0 writes"):
        explorer.compile(explorer.literal("a").canonical(toy), other)


def test_a_search_keeps_to_its_budget(toy: Vocabulary) -> None:
    constraint = explorer.regex("(a|b|c){1,60}Berlin").canonical(toy)
    with pytest.raises(BudgetExceeded):
        canonical_machine(
            explorer.compile(explorer.Constraint(constraint.source), toy),
            rules_of(toy),
            Budget(states=1),
        )
