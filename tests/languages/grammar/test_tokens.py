"""Grammars and real vocabularies: masks put together from known rows, and what can be finished."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import explorer
from explorer.automata.stacks.single import SingleStack
from explorer.languages.grammar.shipped import shipped_grammar
from explorer.tokens.lazy import LazyMachine
from explorer.tokens.walks.trie import trie_of
from explorer.tokens.walks.walk import walk_trie
from explorer.vocabulary import Vocabulary

BYTES = [bytes([byte]) for byte in range(256)]


def vocabulary() -> Vocabulary:
    """All bytes, and tokens that open and close several rules at once."""
    chance = random.Random(4)
    pieces = ['"', '",', '":', "[", "]", "{", "}", '{"', "],", "1", "23", "true", "a b", ", ", "\\"]
    joined = {
        "".join(chance.choices(pieces, k=chance.randrange(2, 6))).encode() for _ in range(400)
    }
    tokens = [*BYTES, *sorted(joined)]
    return Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])


def by_one_walk(machine: LazyMachine, state: int) -> list[int]:
    """The allowed tokens of a state by the plain walk of the trie over the table."""
    walked = machine._walked  # pyright: ignore[reportPrivateUsage]
    assert isinstance(walked.stacks, SingleStack)
    trie = trie_of(machine.vocabulary, machine.byte_machine)
    here = machine._places[state]  # pyright: ignore[reportPrivateUsage]
    return sorted(trie.first_id[walk_trie(walked, trie, here).words].tolist())


@pytest.mark.parametrize("name", ["json", "arithmetic", "gbnf"])
def test_masks_put_together_are_those_of_the_whole_walk(name: str) -> None:
    machine = explorer.compile(shipped_grammar(name), vocabulary(), lazy=True)
    eos = len(machine.vocabulary) - 1
    chance = random.Random(1)
    asked = 0
    for _ in range(25):
        state = machine.start
        for _ in range(25):
            allowed = np.flatnonzero(machine.allowed(state)).tolist()
            assert [token for token in allowed if token != eos] == by_one_walk(machine, state)
            asked += 1
            long = [token for token in allowed if 256 <= token < eos]
            pool = long if long and chance.random() < 0.7 else [t for t in allowed if t != eos]
            if not pool:
                break
            after = machine.step(state, chance.choice(pool))
            assert after is not None
            state = after
    assert asked > 200


def finishing_by_brute_force(
    constraint: explorer.Constraint, tokens: list[bytes], text: bytes, longest: int
) -> bool:
    """Whether some few tokens complete a text."""
    for count in range(longest + 1):
        for several in itertools.product(tokens, repeat=count):
            if constraint.accepts(text + b"".join(several)):
                return True
    return False


@pytest.mark.parametrize(
    "tokens",
    [
        [b"(", b"))", b"x"],  # Only an even number of brackets can be closed.
        [b"((", b")", b"x"],
        [b"(", b"()", b"x)", b"))"],
    ],
)
def test_only_what_this_vocabulary_can_finish_is_allowed(tokens: list[bytes]) -> None:
    constraint = explorer.grammar('root ::= "(" root ")" | "x"')
    vocabulary = Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])
    machine = explorer.compile(constraint, vocabulary, lazy=True)
    reached = [(machine.start, b"")]
    for state, text in itertools.islice(reached, 12):
        for token, data in enumerate(tokens):
            whole = text + data
            wanted = finishing_by_brute_force(constraint, tokens, whole, 5)
            if len(whole) <= 4:
                assert machine.allowed(state)[token] == wanted, whole
                after = machine.step(state, token)
                assert (after is not None) == wanted
                if after is not None:
                    reached.append((after, whole))


def test_a_text_goes_on_though_each_of_its_masks_makes_many_stacks() -> None:
    """Palindromes: every word of letters makes a stack of its own, 4,368 for each mask."""
    letters = "0123456789abcdef"
    words = [a + b + c for a in letters for b in letters for c in letters]
    vocabulary = explorer.Vocabulary.from_bytes(
        [*(word.encode() for word in [*words, *letters, "z", "0z"])],
        eos_ids=[len(words) + len(letters) + 2],
    )
    rules = " | ".join(f'"{letter}" root "{letter}"' for letter in letters)
    palindromes = explorer.grammar(f"root ::= [0-9a-f] | {rules}", ambiguous=True)
    limit = explorer.Budget(states=130_000)
    machine = explorer.compile(palindromes, vocabulary, limit)
    text, state = "", machine.start
    for number in range(45):  # 45 masks of 4,368 states are more than the budget.
        allowed = machine.allowed(state)
        assert allowed[:-3].all() and not allowed[-3:-1].any()
        assert bool(allowed[-1]) == (len(text) % 2 == 1 and text == text[::-1])
        text += letters[number % 16]
        after = machine.step(state, len(words) + number % 16)
        assert after is not None
        state = after
