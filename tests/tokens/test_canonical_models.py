"""The canonical filter of the tokenizers that people run, beside added tokens and in grammars.

The oracle is the library itself: a text's own sequence is the only one that is allowed, and every
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
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

import explorer
from explorer import Budget, Vocabulary
from explorer.errors import BudgetExceeded, IncompatibleVocabulary, UnsupportedTokenizer
from explorer.tokens.filtered.canonical import canonical_machine
from explorer.vocabulary.canonical.cut_rules import cut_rule
from explorer.vocabulary.canonical.rules import CanonicalRules, rules_of
from tests.evidence import few
from tests.tokens.canonical_oracle import accepts, by_tokenizers, paths, sampled, written
from tests.tokens.models_of_today import MODELS, tokenizer_of
from tests.tokens.test_canonical import MAKERS, Case

# The canonical filter beside added tokens and normal forms: what the library itself writes.


ACCENTS = "e\u00e9\u0301\u0323\u1eb9"


def tokenizer(added: list[AddedToken], normalizer: normalizers.Normalizer | None) -> Tokenizer:
    """Merges over bytes, cut as GPT-2 cuts, with some added tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = {char: k for k, char in enumerate(alphabet)}
    merges = [("a", "b"), ("ab", "a"), ("Ġ", "a"), ("Ġ", "Ġ"), ("b", "b"), ("e", "Ì")]
    for left, right in merges:
        pieces[left + right] = len(pieces)
    made = Tokenizer(models.BPE(pieces, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    if normalizer is not None:
        made.normalizer = normalizer
    made.add_tokens(added)  # pyright: ignore[reportUnknownMemberType]
    return made


def vocabulary_of(made: Tokenizer) -> Vocabulary:
    made.add_special_tokens(["<end>"])  # pyright: ignore[reportUnknownMemberType]
    return Vocabulary.from_tokenizer(made, eos_ids=[id_of(made, "<end>")])


def id_of(made: Tokenizer, content: str) -> int:
    token = made.token_to_id(content)
    assert token is not None
    return token


def early(content: str) -> AddedToken:
    return AddedToken(content, normalized=False)


def late(content: str) -> AddedToken:
    return AddedToken(content, normalized=True)


SETS = {
    "spaces": [late("  "), late("   "), late("    ")],
    "words": [late("ab"), late("abba"), late("b a")],
    "two passes": [early("ba"), late("ab"), late("aab"), early("a  ")],
    "one inside the other": [early("bab"), late("a"), late(" "), early("abb")],
}


@pytest.mark.parametrize("name", few(SETS, 2))
def test_all_short_texts_are_cut_as_the_library_cuts_them(name: str) -> None:
    made = tokenizer(SETS[name], None)
    vocabulary, encode = vocabulary_of(made), by_tokenizers(made)
    machine = explorer.compile(explorer.regex("[ab ]{0,6}").canonical(), vocabulary)
    texts = ["".join(text) for n in range(7) for text in product("ab ", repeat=n)]
    expected = {encode(text) for text in texts}
    assert set(paths(machine)) == expected
    assert any(len(vocabulary.tokens[t] or b"") > 1 and t >= 262 for p in expected for t in p)


@pytest.mark.parametrize("form", few(["NFC", "NFD", "NFKC", "NFKD"], 1))
def test_only_texts_that_the_normalizer_leaves_are_written(form: str) -> None:
    made = tokenizer([early("e"), late("  ")], getattr(normalizers, form)())
    vocabulary, encode = vocabulary_of(made), by_tokenizers(made)
    machine = explorer.compile(explorer.regex(f"[{ACCENTS} ]{{0,4}}").canonical(), vocabulary)
    texts = ["".join(text) for n in range(5) for text in product(ACCENTS + " ", repeat=n)]
    own = {
        text: path for text in texts if written(vocabulary, path := encode(text)) == text.encode()
    }
    assert 10 < len(own) < len(texts)
    assert set(paths(machine)) == set(own.values())


def test_a_mark_after_an_added_token_begins_a_text_of_its_own() -> None:
    # Each part beside an early token is normalized by itself: e and the acute stay apart.
    made = tokenizer([early("e")], normalizers.NFC())
    vocabulary, encode = vocabulary_of(made), by_tokenizers(made)
    for text in ("e\u0301", "ae\u0301"):
        path = encode(text)
        assert written(vocabulary, path) == text.encode()
        machine = explorer.compile(explorer.literal(text).canonical(), vocabulary)
        assert accepts(machine, path)


def test_flags_that_decide_on_a_token_are_refused_by_name() -> None:
    made = tokenizer([AddedToken("ab", rstrip=True)], None)
    vocabulary = vocabulary_of(made)
    with pytest.raises(UnsupportedTokenizer, match="added_token 'ab'"):
        explorer.compile(explorer.regex("[ab ]*").canonical(), vocabulary)
    explorer.compile(explorer.regex("[b ]*").canonical(), vocabulary)


def test_a_text_that_the_normalizer_rewrites_has_no_tokens() -> None:
    vocabulary = vocabulary_of(tokenizer([], normalizers.NFC()))
    with pytest.raises(IncompatibleVocabulary, match="NFC") as raised:
        explorer.compile(explorer.literal("e\u0301").canonical(), vocabulary)
    assert "preprocessed" in str(raised.value)
    machine = explorer.compile(explorer.regex("e\u0301?|b").canonical(), vocabulary)
    (e,) = vocabulary.ids_of(b"e")
    state = machine.step(machine.start, e)
    assert state is not None
    mark = vocabulary.ids_of("\u0301".encode()[:1])[0]
    why = explorer.explain(machine, state, mark)
    assert "NFC" in why.message


# The canonical filter of the tokenizers that people run: what the library itself writes.
#
# GPT-4, GPT-4o, Gemma 3, DeepSeek V3, StarCoder, Falcon and Yi, by their declared steps; and
# RWKV's list. The oracle is the library: a text's own sequence is the only one that is allowed,
# and every sequence that is allowed is what its text is encoded as.


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


# Grammars that recurse behind the canonical filter: lazily, with no depth given.


GRAMMARS = {
    "nested": 'root ::= "(" root ")" | "x" | root2\nroot2 ::= "[" root "]"',
    "middle": 'root ::= "a" root "b" | "the" | ""',
    "sums": (
        'root ::= term (" + " term)*\nterm ::= [0-9]+ | "(" root ")" | name\n'
        'name ::= "print" | "return"'
    ),
    "json": (
        'root ::= object | array | string | [0-9]+ | "true" | "null"\n'
        'object ::= "{" (string ": " root (", " string ": " root)*)? "}"\n'
        'array ::= "[" (root (", " root)*)? "]"\nstring ::= "\\"" [a-z ]* "\\""'
    ),
}


@pytest.fixture(scope="module", params=["gpt2", pytest.param("mistral-v3", marks=pytest.mark.long)])
def tokenizer_of_canonical_grammars(request: pytest.FixtureRequest) -> Case:
    return MAKERS[request.param]()


@pytest.mark.parametrize("name", few(GRAMMARS, 2))
def test_paths_of_a_grammar_are_what_the_library_writes(
    tokenizer_of_canonical_grammars: Case, name: str
) -> None:
    vocabulary, encode = (
        tokenizer_of_canonical_grammars.vocabulary,
        tokenizer_of_canonical_grammars.encode,
    )
    constraint = explorer.grammar(GRAMMARS[name], syntax="gbnf")
    machine = explorer.compile(constraint.canonical(), vocabulary)
    random, seen = Random(name), 0
    for _ in range(25):
        path = sampled(machine, random, 40)
        if path is not None:
            seen += 1
            assert encode(written(vocabulary, path).decode()) == path
    assert seen > 3


def test_each_text_of_a_grammar_has_its_path(tokenizer_of_canonical_grammars: Case) -> None:
    vocabulary, encode = (
        tokenizer_of_canonical_grammars.vocabulary,
        tokenizer_of_canonical_grammars.encode,
    )
    for name, grammar in GRAMMARS.items():
        constraint = explorer.grammar(grammar, syntax="gbnf")
        machine = explorer.compile(constraint.canonical(), vocabulary)
        plain = explorer.compile(constraint, vocabulary)
        random = Random(name)
        for _ in range(25):
            path = sampled(plain, random, 40)
            if path is not None:
                own = encode(written(vocabulary, path).decode())
                assert accepts(machine, own)
                assert path == own or not accepts(machine, path)


def test_the_search_does_not_go_down_a_grammar_for_ever() -> None:
    """Short tokens lead away from the end here: of this vocabulary ``(`` is one of the shortest."""
    vocabulary = explorer.load_model("tiny-sp").vocabulary
    constraint = explorer.grammar('root ::= "(" root ")" | "x"', syntax="gbnf")
    budget = explorer.Budget(states=2_000)
    machine = explorer.compile(constraint.canonical(), vocabulary, budget=budget)
    allowed = machine.allowed(machine.start).nonzero()[0].tolist()
    assert {vocabulary.tokens[token] for token in allowed} >= {b"(", b"x"}


@pytest.mark.long
def test_a_grammar_without_a_canonical_end_is_refused_with_a_remedy() -> None:
    """No text of it is in NFC, and the search would go down for ever."""
    vocabulary = MAKERS["gpt-neox"]().vocabulary
    constraint = explorer.grammar('root ::= "a" root "b" | "e\u0301"', syntax="gbnf")
    with pytest.raises(BudgetExceeded, match=r"c\.bounded\(depth=20\)\.canonical"):
        explorer.compile(constraint.canonical(), vocabulary)
