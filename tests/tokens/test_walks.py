"""Walks, words of masks, visited states, and sessions that are rolled back."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.automata.machine import NO_ARC, Dfa, run
from explorer.budget import Meter
from explorer.memo import Kept
from explorer.tokens.closed_form.assemble import (
    Assembled,
    MonoidTooLarge,
    assemble,
    compose_functions,
)
from explorer.tokens.filtered.table import MOST_STATES, visited_whole
from explorer.tokens.machine import TokenTable
from explorer.tokens.token_dfa import TokenDFA, class_words, packed_bytes
from explorer.tokens.walks.failing import READ, fail_words
from explorer.tokens.walks.rows import compose_rows
from explorer.tokens.walks.trie import trie_of
from explorer.tokens.walks.walk import walk_trie
from explorer.tokens.words import ids, num_words, pack, unpack
from tests.evidence import examples
from tests.patterns import patterns, vocabularies

# The walk of the trie says what stepping says, and the faster walks say what it says.


def both(dfa: Dfa, vocabulary: explorer.Vocabulary) -> tuple[Assembled, Assembled]:
    trie = trie_of(vocabulary, None)
    functions = compose_functions(trie, dfa, Meter(), 10**9)
    eos = vocabulary.eos_ids
    return (
        assemble(functions, trie, eos, dfa.accepting, dfa.start, Meter()),
        compose_rows(vocabulary, dfa, Meter()),
    )


def same(a: Assembled, b: Assembled) -> bool:
    return (
        np.array_equal(a.char_state, b.char_state)
        and np.array_equal(a.accepting, b.accepting)
        and np.array_equal(a.distance, b.distance)
        and np.array_equal(a.stuck, b.stuck)
        and a.num_reached == b.num_reached
        and a.table.shape == b.table.shape
        and np.array_equal(a.table[:, a.token_class], b.table[:, b.token_class])
    )


@given(patterns(leaves=8), vocabularies())
@settings(max_examples=examples(80))
def test_on_small_vocabularies(pattern: str, tokens: list[bytes | None]) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    dfa = explorer.regex(pattern).dfa
    if dfa.num_states:
        assert same(*both(dfa, vocabulary))


@pytest.mark.parametrize("pattern", [r'"[^"\\]*"', r"\w+( \w+){0,3}", r"[01]{1,9}|yes|no"])
def test_on_a_real_vocabulary(sentencepiece_32k: explorer.Vocabulary, pattern: str) -> None:
    assert same(*both(explorer.regex(pattern).dfa, sentencepiece_32k))


def test_rows_take_over_when_functions_grow() -> None:
    """Each token is a function of its own on 512 states, for which a small budget has no room."""
    draw = random.Random(0)
    tokens = sorted({bytes(draw.choices(b"ab", k=14)) for _ in range(3000)})
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, b"a", b"b"], eos_ids=[len(tokens) + 2])
    constraint = explorer.regex("[ab]*a[ab]{8}")
    with pytest.raises(MonoidTooLarge):
        compose_functions(trie_of(vocabulary, None), constraint.dfa, Meter(), 2_500_000)
    large = explorer.compile(constraint, vocabulary)
    small = explorer.compile(constraint, vocabulary, explorer.Budget(bytes=10_000_000))
    assert (small.report.method, large.report.method) == ("rows", "functions")
    for state in range(0, large.num_states, 17):
        assert np.array_equal(small.allowed(state), large.allowed(state))


def test_a_difference_would_be_seen() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
    a, _ = both(explorer.regex("(ab)*").dfa, vocabulary)
    b, _ = both(explorer.regex("(ab)+").dfa, vocabulary)
    assert not same(a, b)


def check_walk(
    dfa: Dfa, vocabulary: explorer.Vocabulary, state: int, walked: Dfa | None = None
) -> None:
    """Every word of a walk, stepped byte by byte; perhaps the walk of another machine."""
    trie = trie_of(vocabulary, None)
    seen = walk_trie(walked or dfa, trie, state)
    targets = dict(zip(seen.words.tolist(), seen.targets.tolist(), strict=True))
    offset, last, _ = fail_words(trie, dfa, state)
    for word, token in enumerate(trie.first_id.tolist()):
        data = vocabulary.tokens[token] or b""
        path = run(dfa, state, data).tolist()
        read = sum(after != NO_ARC for after in path) - 1
        assert (word in targets) == (read == len(data))
        assert targets.get(word, NO_ARC) == path[-1]
        assert offset[word] == (READ if read == len(data) else read)
        assert last[word] == path[read]
    assert seen.distinct().tolist() == sorted(set(targets.values()))


@given(patterns(leaves=8), vocabularies())
@settings(max_examples=examples(100), deadline=None, derandomize=True)
def test_the_walk_is_what_stepping_says(pattern: str, tokens: list[bytes | None]) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    dfa = explorer.regex(pattern).dfa
    for state in range(min(dfa.num_states, 4)):
        check_walk(dfa, vocabulary, state)


def test_a_wrong_walk_would_be_seen() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
    dfa = explorer.regex("a|ab").dfa
    check_walk(dfa, vocabulary, dfa.start)
    with pytest.raises(AssertionError):
        check_walk(dfa, vocabulary, dfa.start, explorer.regex("a|b").dfa)


# Packed masks: the layout, and the classes that they are put together from.


def bit_by_bit(mask: np.ndarray) -> list[int]:
    """The layout, written out: bit ``i % 32`` of word ``i // 32``."""
    words = [0] * num_words(len(mask))
    for token in range(len(mask)):
        words[token // 32] |= int(mask[token]) << token % 32
    return words


@given(st.lists(st.booleans(), min_size=1, max_size=100))
@settings(max_examples=examples(80))
def test_the_layout(bits: list[bool]) -> None:
    mask = np.array(bits, np.bool_)
    assert pack(mask).tolist() == bit_by_bit(mask) and pack(mask).dtype == np.uint32
    assert np.array_equal(unpack(pack(mask), len(mask)), mask)
    assert ids(pack(mask)).tolist() == np.flatnonzero(mask).tolist()


@pytest.mark.parametrize("kind", [np.uint16, np.int32])
@pytest.mark.parametrize("size", [1, 31, 33, 1000, 5003])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_classes_are_joined_to_masks(kind: type, size: int, share: float) -> None:
    draw = np.random.default_rng(size)
    # Half of the live ids are of class 2, which is then a large one.
    classes = np.where(draw.random(size) < 0.5, 2, draw.integers(1, 40, size))
    token_class = np.where(draw.random(size) < share, classes, 0).astype(kind)
    live = int(np.count_nonzero(token_class))
    sets = class_words(token_class, 40, live)
    assert sets.nbytes <= packed_bytes(size, live) + 40 * 16
    for row in (np.full(40, -1), np.arange(40) - 1, draw.integers(-1, 1, 40)):
        row[0] = -1
        for cells in (row.astype(np.int16), row.astype(np.int32)):
            assert sets.mask(cells).tolist() == bit_by_bit((row != -1)[token_class])


def test_a_wrong_class_is_seen() -> None:
    token_class = np.array([0, 1, 2, 2, 3], np.uint16)
    sets = class_words(token_class, 4, 4)
    row = np.array([-1, -1, 5, -1], np.int16)
    assert unpack(sets.mask(row), 5).tolist() == (row != -1)[token_class].tolist()
    sets.ids[0], sets.ids[1] = sets.ids[1], sets.ids[0]
    assert unpack(sets.mask(row), 5).tolist() != (row != -1)[token_class].tolist()


def test_masks_of_a_real_machine(sentencepiece_32k: explorer.Vocabulary) -> None:
    """Every state against the row gathered through the classes, which is the definition."""
    dfa = explorer.compile(explorer.regex(r'"[^"\\\n]*"|\w+( \w+){0,3}'), sentencepiece_32k)
    assert dfa.sets is not None and len(dfa.sets.words)  # A large class is among them.
    for state in range(dfa.num_states):
        wanted = dfa.class_row(state)[dfa.token_class]
        assert np.array_equal(dfa.allowed(state), wanted)
        assert dfa.mask(state).tolist() == pack(wanted).tolist()


def test_what_is_kept_has_a_bound() -> None:
    kept = Kept[int, int](most_bytes=10)
    for key in range(5):
        kept.put(key, key, 4)
        kept.get(0)
    assert [kept.get(key) for key in range(5)] == [0, None, None, None, 4]
    kept.put(9, 9, 100)
    assert kept.get(9) == 9 and kept.get(0) is None


def test_the_composition_announces_its_memory(sentencepiece_32k: explorer.Vocabulary) -> None:
    """Before the first array is made: the functions do not begin, the rows refuse."""
    constraint = explorer.regex(r"\w{1,40}").within(explorer.Budget())
    with pytest.raises(explorer.errors.BudgetExceeded, match="state by state") as raised:
        explorer.compile(constraint, sentencepiece_32k, explorer.Budget(bytes=400_000), lazy=False)
    assert raised.value.resource == "bytes"


# A machine of few texts visited whole: its table is the one that the closed form has.


VOCABULARY = explorer.load_model("tiny").vocabulary

FEW = [
    explorer.choice([" Rome", " Paris", " Paris and Rome"]),
    explorer.regex("(ab|abc|bc){1,3}"),
    explorer.regex("[0-9]{1,2}:[0-5][0-9]"),
]


def beside(found: TokenTable, table: TokenDFA) -> int:
    """Walk both machines together and compare them in every pair of states; how many there are."""
    waiting, met = [(found.start, table.start)], {(found.start, table.start)}
    for one, other in waiting:
        assert found.distance[one] == table.distance[other] == found.distance_to_end(one)
        assert np.array_equal(found.allowed(one), table.allowed(other))
        reached = found.table[one][found.token_class] >= 0
        for token in np.flatnonzero(reached).tolist():
            target, theirs = found.step(one, token), table.step(other, token)
            assert target == found.table[one, found.token_class[token]]
            assert target is not None and theirs is not None
            pair = target, theirs
            if pair not in met:
                met.add(pair)
                waiting.append(pair)
    return len(met)


@pytest.mark.parametrize("constraint", FEW, ids=str)
def test_the_table_is_that_of_the_closed_form(constraint: explorer.Constraint) -> None:
    table = explorer.compile(constraint, VOCABULARY)
    lazy = explorer.compile(constraint, VOCABULARY, lazy=True)
    found = visited_whole(lazy)
    assert found is not None and isinstance(found, TokenTable) and isinstance(table, TokenDFA)
    assert beside(found, table) == found.num_states >= table.num_states
    assert np.array_equal(found.char_state >= 0, np.ones(found.num_states, np.bool_))


@pytest.mark.parametrize(
    "constraint",
    [
        explorer.regex("[a-z]+").canonical(),
        explorer.regex("[a-z]{8}").canonical(),
        explorer.grammar('root ::= "(" root ")" | "x"'),
        explorer.choice([f"{number:05d}" for number in range(0, 99999, 7)]).canonical(),
    ],
    ids=["endless", "wide", "grammar", "many"],
)
def test_what_is_large_or_endless_is_left(constraint: explorer.Constraint) -> None:
    machine = explorer.compile(constraint, VOCABULARY)
    assert visited_whole(machine) is None
    assert machine.num_states <= MOST_STATES + 1


# Rolled back = never went there, for every kind of machine.
#
# A speculative decoder goes ahead and comes back. The state that it comes back to must answer as
# in a machine that nobody ever drove further: masks, steps, ends, distances.
