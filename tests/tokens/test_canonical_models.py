"""The canonical filter of the tokenizers that people run: what the library itself writes.

GPT-4, GPT-4o, Gemma 3, DeepSeek V3, StarCoder, Falcon and Yi, by their declared steps; and RWKV's
list. The oracle is the library: a text's own sequence is the only one that is allowed, and every
sequence that is allowed is what its text is encoded as.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from itertools import product
from random import Random

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

import explorer
from explorer import Budget, Vocabulary
from explorer.errors import IncompatibleVocabulary
from explorer.tokens.filtered.canonical import canonical_machine
from explorer.vocabulary.canonical.cut_rules import cut_rule
from explorer.vocabulary.canonical.rules import CanonicalRules, rules_of
from tests.evidence import few
from tests.tokens.canonical_oracle import accepts, paths, sampled, written
from tests.tokens.models_of_today import MODELS, tokenizer_of
from tests.tokens.test_canonical import folder
from tests.tokens.test_canonical_added import id_of

MANY = int(os.environ.get("EXPLORER_LONG_EXAMPLES") or 0)
LETTERS = (
    "  \n\n\r\t  aAbBesStTdmlr''.,!?<>h1/-_0123456789"
    "\u00e9\u00fc\u00f2\u00df\u0301\u00b2\u00bd\u0663\u6771\u4eac\u3042\u30ab\uff5c\u20ac\u2581\u00a0\u3000\u0085\U0001f600\U00020000\u01c5"
)
WORDS = (
    " the",
    "don't",
    "1000",
    "\n\n",
    "<h1>",
    "  ",
    "canonical",
    "\u6771\u4eac\u3068",
    "K\u00f6ln",
    "I'LL",
    "<unused1",
    "0>",
)


@cache
def case(name: str) -> tuple[Vocabulary, Tokenizer]:
    tokenizer = tokenizer_of(name)
    return Vocabulary.from_tokenizer(tokenizer, eos_ids=[id_of(tokenizer, "<end>")]), tokenizer


def encode(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    return tuple(tokenizer.encode(text, add_special_tokens=False).ids)


def texts(random: Random, many: int) -> list[str]:
    """Random texts, some of them of words that tokens are made of."""
    return ["".join(random.choice(WORDS) if random.random() < 0.3 else random.choice(LETTERS)
                    for _ in range(random.randint(1, 12))) for _ in range(many)]  # fmt: skip


def own(vocabulary: Vocabulary, tokenizer: Tokenizer, text: str) -> tuple[int, ...] | None:
    """The library's tokens for a text, if they spell that text."""
    path = encode(tokenizer, text)
    known = all(vocabulary.tokens[token] is not None for token in path)
    return path if known and written(vocabulary, path) == text.encode() else None


@pytest.mark.parametrize("name", few(MODELS, 2))
def test_a_texts_own_tokens_are_the_only_ones(name: str) -> None:
    vocabulary, tokenizer = case(name)
    anything = explorer.compile(explorer.regex("(?s:.*)").canonical(), vocabulary)
    followed = 0
    for number, text in enumerate(texts(Random(name), MANY or 32)):
        path = own(vocabulary, tokenizer, text)
        if path is not None:
            followed += 1
            assert accepts(anything, path), text
        if number % 4 == 0:
            constraint = explorer.literal(text).canonical()
            try:
                found = list(paths(explorer.compile(constraint, vocabulary)))
            except IncompatibleVocabulary:
                found = []
            assert found == ([] if path is None else [path]), text
    assert followed > 8


@pytest.mark.parametrize("name", few(MODELS, 2))
def test_every_sampled_path_is_what_the_library_writes(name: str) -> None:
    vocabulary, tokenizer = case(name)
    random, compared = Random(name), 0
    for pattern in ("(?s:.*)", f"[{LETTERS.replace('-', '')}-]*", "(the|[0-9]| |\n|'s|[A-Z])*"):
        machine = explorer.compile(explorer.regex(pattern).canonical(), vocabulary)
        for _ in range(MANY or 5):
            path = sampled(machine, random, 24)
            if path is not None:
                compared += 1
                text = written(vocabulary, path).decode()
                assert encode(tokenizer, text) == path, text
    assert compared > 3


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name].over_bytes])
def test_with_the_merges_of_gpt2_the_law_holds_as_well(name: str) -> None:
    tokenizer = tokenizer_of(name, real=folder() / "gpt2")
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_ids=[id_of(tokenizer, "<end>")])
    machine = explorer.compile(explorer.regex("(?s:.*)").canonical(), vocabulary)
    random = Random(name)
    for text in texts(random, MANY or 60):
        path = own(vocabulary, tokenizer, text)
        assert path is None or accepts(machine, path), text
        found = sampled(machine, random, 24)
        if found is not None:
            assert encode(tokenizer, written(vocabulary, found).decode()) == found


# --- the parts ------------------------------------------------------------------------------------

STEPS = [
    pre_tokenizers.Split(Regex(pattern), behavior, invert)  # pyright: ignore[reportArgumentType]
    for pattern in ("ab?|1", " |b", r"a+(?!\S)|[0-9]{2}")
    for behavior in ("isolated", "contiguous", "merged_with_previous", "merged_with_next")
    for invert in (False, True)
]
CHAINS: list[list[pre_tokenizers.PreTokenizer]] = [
    *([step] for step in STEPS),
    [STEPS[0], STEPS[11]],
    [STEPS[5], STEPS[9], STEPS[2]],
    [pre_tokenizers.Digits(individual_digits=True), STEPS[7]],
    [pre_tokenizers.Punctuation("merged_with_next"), pre_tokenizers.Digits()],
    [pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(False, use_regex=True)],
]


@pytest.mark.parametrize("number", few(range(len(CHAINS)), 7))
def test_a_chain_of_steps_cuts_in_one_way_the_librarys(number: int) -> None:
    chain = pre_tokenizers.Sequence(CHAINS[number])
    steps = Tokenizer(models.BPE())
    steps.pre_tokenizer = chain
    declared = json.loads(steps.to_str())["pre_tokenizer"]["pretokenizers"]
    rule = cut_rule(declared, marks=False)
    random = Random(number)
    for _ in range(MANY or 8):
        text = "".join(random.choices("aab  11b!.x\n", k=random.randint(1, 8)))
        spans = [span for _, span in chain.pre_tokenize_str(text)]
        ways = []
        for cuts in range(2 ** (len(text) - 1)):
            ends = [k + 1 for k in range(len(text) - 1) if cuts >> k & 1]
            places = list(zip([0, *ends], [*ends, len(text)], strict=True))
            if rule.accepts([text[a:b] for a, b in places]):
                ways.append(places)
        assert ways == [spans], text


SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 12))]


def shuffled(seed: int) -> tuple[Vocabulary, Tokenizer]:
    """Merges of three letters in any order, so that later ones make room for earlier ones."""
    random = Random(seed)
    pieces = {letter: k for k, letter in enumerate("abc")}
    merges: list[tuple[str, str]] = []
    while len(merges) < 9:
        left, right = random.choice(list(pieces)), random.choice(list(pieces))
        if len(left + right) <= 5 and (left, right) not in merges:
            merges.append((left, right))
            pieces.setdefault(left + right, len(pieces))
    random.shuffle(merges)
    pieces["<end>"] = len(pieces)
    tokenizer = Tokenizer(models.BPE(pieces, merges))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(["<end>"])  # pyright: ignore[reportUnknownMemberType]
    return Vocabulary.from_tokenizer(tokenizer, eos_ids=[pieces["<end>"]]), tokenizer


def merges_of(vocabulary: Vocabulary) -> CanonicalRules:
    rules = rules_of(vocabulary)
    assert isinstance(rules, CanonicalRules)
    return rules


@pytest.mark.parametrize("seed", SEEDS)
def test_merges_out_of_order_are_followed(seed: int) -> None:
    vocabulary, tokenizer = shuffled(seed)
    machine = explorer.compile(explorer.regex("[abc]{1,7}").canonical(), vocabulary)
    every = ["".join(letters) for n in range(1, 8) for letters in product("abc", repeat=n)]
    assert set(paths(machine)) == {encode(tokenizer, text) for text in every}


def test_some_merges_were_out_of_order_and_count() -> None:
    """A mutant: read as if they were in order, some of them are wrong."""
    for seed in range(12):
        vocabulary, tokenizer = shuffled(seed)
        rules = merges_of(vocabulary)
        if not rules.merges.disordered.any():
            continue
        ordered = replace(rules.merges, disordered=rules.merges.disordered & False)
        constraint = explorer.compile(explorer.regex("[abc]{1,6}"), vocabulary)
        machine = canonical_machine(constraint, replace(rules, merges=ordered), Budget())
        every = ["".join(letters) for n in range(1, 7) for letters in product("abc", repeat=n)]
        try:
            found = set(paths(machine))
        except AssertionError:  # Even a dead end.
            found = set[tuple[int, ...]]()
        if found != {encode(tokenizer, text) for text in every}:
            return
    pytest.fail("no merge that is out of order counts")


MUTANTS = {"GPT-4": 0, "DeepSeek V3": 0, "StarCoder": 0, "Falcon": 2, "marks and digits": 1}
"""The place of a step that is left out."""


@pytest.mark.parametrize("name", few(MUTANTS, 1))
def test_without_one_of_the_steps_the_law_fails(name: str) -> None:
    vocabulary, tokenizer = case(name)
    declared = json.loads(tokenizer.to_str())
    del declared["pre_tokenizer"]["pretokenizers"][MUTANTS[name]]
    other = Tokenizer.from_str(json.dumps(declared))
    mutant = Vocabulary.from_tokenizer(other, eos_ids=vocabulary.eos_ids)
    wrong = replace(merges_of(vocabulary), marked=merges_of(mutant).marked)
    constraint = explorer.regex("[a 0-9.\u00fc\u00f2\u00b2]{1,3}|a\n\nb|don't 12345")
    machine = canonical_machine(explorer.compile(constraint, vocabulary), wrong, Budget())
    own_paths = {own(vocabulary, tokenizer, text) for text in constraint.examples(9000)}
    assert set(paths(machine, 40_000)) != own_paths - {None}
    right = explorer.compile(constraint.canonical(), vocabulary)
    assert set(paths(right, 40_000)) == own_paths - {None}
