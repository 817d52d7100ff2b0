"""Grammars that recurse behind the canonical filter: lazily, with no depth given."""

from __future__ import annotations

from random import Random

import pytest

import explorer
from explorer.errors import BudgetExceeded
from tests.tokens.canonical_oracle import accepts, sampled, written
from tests.tokens.test_canonical import MAKERS, Case

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
def tokenizer(request: pytest.FixtureRequest) -> Case:
    return MAKERS[request.param]()


@pytest.mark.parametrize("name", GRAMMARS)
def test_paths_of_a_grammar_are_what_the_library_writes(tokenizer: Case, name: str) -> None:
    vocabulary, encode = tokenizer.vocabulary, tokenizer.encode
    constraint = explorer.grammar(GRAMMARS[name], syntax="gbnf")
    machine = explorer.compile(constraint.canonical(), vocabulary)
    random, seen = Random(name), 0
    for _ in range(25):
        path = sampled(machine, random, 40)
        if path is not None:
            seen += 1
            assert encode(written(vocabulary, path).decode()) == path
    assert seen > 3


def test_each_text_of_a_grammar_has_its_path(tokenizer: Case) -> None:
    vocabulary, encode = tokenizer.vocabulary, tokenizer.encode
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
