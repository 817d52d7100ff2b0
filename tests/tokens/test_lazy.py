"""The lazy machine walked beside the closed form: the same masks, ends, distances and steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings

import explorer
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, EmptyConstraint, IncompatibleVocabulary
from explorer.tokens.lazy import LazyMachine
from explorer.tokens.walks.finishing import Finishing
from explorer.tokens.walks.trie import trie_of
from explorer.tokens.words import DEAD, DONE, FREE
from tests.automata.discovered.beside import Renumbered
from tests.evidence import examples
from tests.patterns import patterns, vocabularies


def vocabulary(*tokens: bytes | None) -> explorer.Vocabulary:
    return explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])


def differences(closed: explorer.TokenDFA, lazy: LazyMachine, most: int = 40) -> list[str]:
    """The differences along every path of tokens, up to a number of states.

    Several states of the lazy machine may be one of the closed form, never the other way round.
    """
    wrong: list[str] = []
    pairs = [(closed.start, lazy.start)]
    met = {theirs: ours for ours, theirs in pairs}
    for ours, theirs in pairs:  # Grows on the way.
        where = f"state {ours}"
        mask = closed.allowed(ours)
        if not np.array_equal(mask, lazy.allowed(theirs)):
            wrong.append(f"mask of {where}")
        if not np.array_equal(closed.mask(ours), lazy.mask(theirs)):
            wrong.append(f"words of {where}")
        if closed.is_final(ours) != lazy.is_final(theirs):
            wrong.append(f"end in {where}")
        if closed.distance_to_end(ours) != lazy.distance_to_end(theirs):
            wrong.append(f"distance of {where}")
        if closed.byte_state(ours) != lazy.byte_state(theirs):
            wrong.append(f"byte state of {where}")
        for token in range(-1, len(closed.vocabulary) + 1):
            a, b = closed.step(ours, token), lazy.step(theirs, token)
            if a is None or b is None or a < 0 or b < 0:
                if a != b:
                    wrong.append(f"step from {where} over {token}")
            elif b in met:
                if met[b] != a:
                    wrong.append(f"step from {where} over {token}")
            else:
                met[b] = a
                if len(pairs) < most:
                    pairs.append((a, b))
    return wrong


@given(patterns(leaves=8), vocabularies())
@settings(max_examples=examples(120))
def test_lazy_and_closed_are_the_same(pattern: str, tokens: list[bytes | None]) -> None:
    vocab = vocabulary(*tokens)
    constraint = explorer.regex(pattern)
    try:
        closed = explorer.compile(constraint, vocab)
    except (EmptyConstraint, IncompatibleVocabulary) as error:
        with pytest.raises(type(error)) as raised:
            explorer.compile(constraint, vocab, lazy=True)
        assert str(raised.value) == str(error)
        return
    lazy = explorer.compile(constraint, vocab, lazy=True)
    assert differences(closed, lazy) == []
    assert lazy.report.lost == closed.report.lost
    plain = LazyMachine(
        constraint, vocab, Renumbered(constraint.dfa), lazy.report, explorer.Budget()
    )
    assert differences(closed, plain, most=5) == []


@pytest.mark.parametrize(
    "pattern", [r'"[^"\\]*"', r"[01]{1,9}|yes|no", r"\w+( \w+){0,3}", "(?:Red|Green|Blue), [0-9]+"]
)
def test_on_a_real_vocabulary(sentencepiece_32k: explorer.Vocabulary, pattern: str) -> None:
    closed = explorer.compile(explorer.regex(pattern), sentencepiece_32k)
    lazy = explorer.compile(explorer.regex(pattern), sentencepiece_32k, lazy=True)
    assert differences(closed, lazy, most=3) == []


class Wrong(LazyMachine):
    """A lazy machine that answers one question as if the token b came first, or not at all."""

    wrong = ""

    def allowed(self, state: int) -> np.ndarray:
        return super().allowed(state) | (self.wrong == "mask")

    def mask(self, state: int) -> np.ndarray:
        return super().mask(state) | np.uint32(self.wrong == "words")

    def is_final(self, state: int) -> bool:
        return super().is_final(state) != (self.wrong == "end")

    def distance_to_end(self, state: int) -> int | None:
        return None if self.wrong == "distance" else super().distance_to_end(state)

    def step(self, state: int, token: int) -> int | None:
        return super().step(state, token and 1 if self.wrong == "step" else token)


def test_a_wrong_machine_is_found() -> None:
    vocab = vocabulary(b"a", b"b", b"ab", b"ab")
    constraint = explorer.regex("a*d|b|ab")
    closed = explorer.compile(constraint, vocab)
    right = explorer.compile(constraint, vocab, lazy=True)
    assert differences(closed, right) == []
    other = explorer.compile(explorer.regex("a*d|b"), vocab, lazy=True)
    assert differences(closed, other) != []
    mutant = Wrong(constraint, vocab, constraint.dfa, right.report, explorer.Budget())
    assert differences(closed, mutant) == []
    for mutant.wrong in ("mask", "words", "end", "distance", "step"):
        assert any(line.startswith(mutant.wrong) for line in differences(closed, mutant))


def test_an_end_far_away_is_found_with_few_rows() -> None:
    """Undecided states are decided together: each row is walked once at most."""
    # No single byte of "ab" is a token, so nothing is certain before the search.
    lazy = explorer.compile(explorer.regex("(ab){200}"), vocabulary(b"ab", b"aba", b"b"), lazy=True)
    state, steps = lazy.start, 0
    while not lazy.is_final(state):
        token = int(np.flatnonzero(lazy.allowed(state))[0])
        following = lazy.step(state, token)
        assert following is not None
        state, steps = following, steps + 1
    assert steps == 200
    assert lazy.distance_to_end(lazy.start) == 201
    # More rows than `MOST_ROWS`: the distance is not known, the masks are exact all the same.
    longer = explorer.compile(explorer.regex("(ab){900}"), vocabulary(b"ab"), lazy=True)
    assert longer.distance_to_end(longer.start) is None
    assert longer.allowed(longer.start).tolist() == [True, False]


def test_a_distance_beyond_a_limit_is_not_known() -> None:
    """It is a remark on a state, so it raises nothing; and it is not searched for again."""
    dfa, vocab = explorer.regex("(ab){9}").dfa, vocabulary(b"ab")
    finishing = Finishing(dfa, trie_of(vocab, None))
    assert finishing.distance(dfa.start, Meter(explorer.Budget(states=5))) is None
    assert finishing.distance(dfa.start, Meter()) is None
    assert Finishing(dfa, trie_of(vocab, None)).distance(dfa.start, Meter()) == 10


def test_a_search_keeps_to_the_budget() -> None:
    constraint = explorer.regex("(ab){400}")
    with pytest.raises(BudgetExceeded):
        explorer.compile(constraint, vocabulary(b"ab"), explorer.Budget(bytes=2000), lazy=True)


def test_numbers_are_the_same_for_many_threads(sentencepiece_32k: explorer.Vocabulary) -> None:
    lazy = explorer.compile(explorer.regex(r"\w+( \w+){0,3}"), sentencepiece_32k, lazy=True)

    def walk(seed: int) -> list[tuple[int, int]]:
        draw = np.random.default_rng(seed)
        state, taken = lazy.start, []
        for _ in range(8):
            token = int(draw.choice(np.flatnonzero(lazy.allowed(state))))
            following = lazy.step(state, token)
            assert following is not None
            if following < 0:
                break
            state = following
            taken.append((lazy.byte_state(state), state))
        return taken

    with ThreadPoolExecutor(8) as pool:
        met = {pair for pairs in pool.map(walk, range(16)) for pair in pairs}
    assert len({number for _, number in met}) == len({state for state, _ in met}) == len(met)


def test_a_table_over_its_budget_becomes_lazy() -> None:
    vocab = vocabulary(*(b"%d" % k for k in range(300)))
    constraint = explorer.regex("[0-9]{3}x|[0-9]{1,300}").within(explorer.Budget())
    budget = explorer.Budget(arcs=1500)
    with pytest.raises(BudgetExceeded):
        explorer.compile(constraint, vocab, budget, lazy=False)
    lazy: object = explorer.compile(constraint, vocab, budget)
    assert isinstance(lazy, LazyMachine)
    assert lazy.report.kind == "lazy" and "over the budget of 1,500 arcs" in lazy.report.reason
    assert lazy.report.reason in str(lazy.report)
    closed = explorer.compile(constraint, vocab)
    assert type(closed) is explorer.TokenDFA and not closed.report.reason
    assert differences(closed, lazy, most=10) == []


def test_a_large_table_is_made_only_if_asked_for() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    small, large = explorer.regex("a{1,2000}"), explorer.regex("[a-z]{1,40000}")
    assert explorer.compile(small, vocabulary).report.kind == "table"
    lazy, table = (
        explorer.compile(large, vocabulary),
        explorer.compile(large, vocabulary, lazy=False),
    )
    assert lazy.report.kind == "lazy" and "made only with lazy=False" in lazy.report.reason
    assert table.num_states == 40_001


def test_no_budget_changes_the_mask_of_a_sentinel() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", None], eos_ids=[2])
    for lazy in (False, True):
        machine = explorer.compile(explorer.regex("a*b"), vocabulary, lazy=lazy)
        assert isinstance(machine, explorer.TokenDFA | LazyMachine)
        for state in (DEAD, DONE, FREE):
            for remaining in (-(10**9), -1, 0, 1):
                within = machine.mask_within(state, remaining)
                assert within.tolist() == machine.mask(state).tolist()
        assert not machine.mask_within(machine.start, -1).any()
