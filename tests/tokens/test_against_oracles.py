"""Machines over tokens beside independent oracles: brute force, and pynini by the textbook."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import explorer
from benchmarks.constraints import CASES, Case
from explorer.automata.interchange.openfst import fst_from_arrays
from explorer.errors import BudgetExceeded, EmptyConstraint, IncompatibleVocabulary
from explorer.tokens import token_dfa
from explorer.tokens.words import DEAD, DONE, EOS_CLASS
from tests.evidence import LONG, examples, few
from tests.optional import pynini
from tests.patterns import ALPHABET, patterns, vocabularies
from tests.tokens.oracle import (
    DerivativeOracle,
    Empty,
    Expression,
    FiniteOracle,
    derivative,
    expression,
    language,
    nullable,
)

# Masks against oracles that know no automata; and each oracle shown to be able to fail.


LONGEST = 4


def relaxed(number: int) -> settings:
    return settings(
        max_examples=max(LONG, number),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        derandomize=not LONG,
    )


def decisions(dfa: explorer.TokenDFA, oracle: FiniteOracle, limit: int) -> list[tuple[bytes, int]]:
    """Walk every token path, up to a number of decisions; the ones that differ."""
    wrong: list[tuple[bytes, int]] = []
    queue: list[tuple[int, bytes]] = [(dfa.start, b"")]
    seen = {(dfa.start, b"")}
    count = 0
    for state, prefix in queue:
        mask = dfa.allowed(state)
        for token in range(len(dfa.vocabulary)):
            if bool(mask[token]) != oracle.allowed(prefix, token):
                wrong.append((prefix, token))
            count += 1
        if int(dfa.distance[state]) != oracle.distance(prefix):
            wrong.append((prefix, -1))
        for token in np.flatnonzero(mask):
            following = dfa.step(state, int(token))
            data = dfa.vocabulary.tokens[token]
            if data is not None and following is not None and count < limit:
                place = (following, prefix + data)
                if place not in seen:
                    seen.add(place)
                    queue.append(place)
    return wrong


def check_finite(pattern: str, tokens: list[bytes | None]) -> None:
    tokens = [*tokens, None]
    eos = len(tokens) - 1
    words = language(pattern, ALPHABET, LONGEST)
    oracle = FiniteOracle(words, tokens, [eos])
    vocabulary = explorer.Vocabulary.from_bytes(tokens, eos_ids=[eos])
    bounded = explorer.regex(pattern) & explorer.regex(f"[{ALPHABET}]{{0,{LONGEST}}}")
    try:
        dfa = explorer.compile(bounded, vocabulary)
    except EmptyConstraint:
        assert not words
        return
    except IncompatibleVocabulary as error:
        assert words and oracle.distance(b"") is None
        assert error.witness in words
        return
    assert decisions(dfa, oracle, 2000) == []


@given(patterns(), vocabularies())
@relaxed(400)
def test_masks_equal_brute_force(pattern: str, tokens: list[bytes | None]) -> None:
    check_finite(pattern, tokens)


WHOLE = vocabularies().map(
    lambda tokens: [t if t is None or _is_text(t) else b"ab" for t in tokens]
)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def check_infinite(
    pattern: str, tokens: list[bytes | None], limit: int, compiled: str | None = None
) -> None:
    """Both directions on the unbounded language, along every path up to a number of states."""
    tokens = [*tokens, None]
    eos = len(tokens) - 1
    oracle = DerivativeOracle(pattern, tokens, [eos], limit=60)
    vocabulary = explorer.Vocabulary.from_bytes(tokens, eos_ids=[eos])
    try:
        dfa = explorer.compile(explorer.regex(compiled or pattern), vocabulary)
    except (EmptyConstraint, IncompatibleVocabulary):
        assert not oracle.finishes(oracle.start)
        return
    queue: list[tuple[int, Expression, str]] = [(dfa.start, oracle.start, "")]
    for state, here, text in queue:
        mask = dfa.allowed(state)
        for token in range(len(tokens)):
            wanted = oracle.allowed(here, token)
            if wanted is None:
                continue
            assert bool(mask[token]) == wanted, (text, token)
            following = dfa.step(state, token)
            data = oracle.tokens[token]
            if following is not None and data and len(queue) < limit:
                queue.append((following, oracle.after(here, data), text + data))
        completion = complete(dfa, state)
        assert re.fullmatch(pattern, text + completion.decode()), (text, completion)


def complete(dfa: explorer.TokenDFA, state: int) -> bytes:
    """The bytes of a shortest way to the end."""
    data = b""
    while not dfa.is_final(state):
        for token in np.flatnonzero(dfa.allowed(state)):
            following = dfa.step(state, int(token))
            if following is not None and dfa.distance[following] < dfa.distance[state]:
                data += dfa.vocabulary.tokens[token] or b""
                state = following
                break
        else:
            raise AssertionError("the distance does not fall")
    return data


@given(patterns(assertions=False), WHOLE)
@relaxed(300)
def test_masks_equal_derivatives(pattern: str, tokens: list[bytes | None]) -> None:
    check_infinite(pattern, tokens, 25)


REAL = [
    r"(?:Red|Green|Blue), [0-9]{1,3}",
    r'"[^"\\]*"',
    r"[A-Z][a-z]+(?: [a-z]+){0,3}[.!]",
    r"\w+@\w+\.(?:com|org)",
    r"\s*(?:yes|no)\s*|.{0,3}",
]


def check_real(pattern: str, vocabulary: explorer.Vocabulary, states: int, seed: int) -> None:
    """Every token of a vocabulary in states along a random path.

    The vocabulary has a token for every byte, so text can be finished exactly where the
    derivative is not empty. Tokens with half characters are left to the other tests.
    """
    texts = [None if data is None else _text(data) for data in vocabulary.tokens]
    dfa = explorer.compile(explorer.regex(pattern), vocabulary)
    draw = random.Random(seed)
    state, here = dfa.start, expression(pattern)
    for _ in range(states):
        mask = dfa.allowed(state)
        after = {"": here}

        for token, text in enumerate(texts):
            if text is None:
                continue
            assert bool(mask[token]) == (follow(text, after) != Empty()), (pattern, token)
        assert bool(mask[vocabulary.eos_ids[0]]) == nullable(here)
        ways = [int(t) for t in np.flatnonzero(mask) if texts[t]]
        if not ways:
            break
        token = draw.choice(ways)
        following = dfa.step(state, token)
        assert following is not None
        state, here = following, follow(texts[token] or "", after)


def follow(text: str, after: dict[str, Expression]) -> Expression:
    """The derivative by a text, with those by its prefixes at hand."""
    if text not in after:
        after[text] = derivative(follow(text[:-1], after), text[-1])
    return after[text]


def _text(data: bytes) -> str | None:
    return data.decode() if _is_text(data) else None


@pytest.mark.parametrize("seed", few(range(3 * len(REAL)), 2))
def test_real_vocabularies_equal_derivatives(
    sentencepiece_32k: explorer.Vocabulary, seed: int
) -> None:
    check_real(REAL[seed % len(REAL)], sentencepiece_32k, 6 if LONG else 2, seed)


def test_an_error_in_a_machine_is_found() -> None:
    """Mutants: flip one entry of a table, or forget the trim, and the oracle objects."""
    tokens = [b"a", b"b", b"ab", b"\xc3", b"\xa4", None]
    vocabulary = explorer.Vocabulary.from_bytes(tokens, eos_ids=[5])
    pattern = "a*b|ä"
    words = language(pattern, ALPHABET, LONGEST)
    oracle = FiniteOracle(words, tokens, [5])
    bounded = explorer.regex(pattern) & explorer.regex(f"[{ALPHABET}]{{0,{LONGEST}}}")
    dfa = explorer.compile(bounded, vocabulary)
    assert decisions(dfa, oracle, 2000) == []
    for state in range(dfa.num_states):
        for class_ in range(1, dfa.num_classes):
            table = dfa.table.copy()
            table[state, class_] = 0 if table[state, class_] == -1 else -1
            mutant = explorer.TokenDFA(
                dfa.constraint, vocabulary, table, dfa.token_class, dfa.char_state, dfa.accepting,
                dfa.distance, dfa.stuck, dfa.report,
            )  # fmt: skip
            assert decisions(mutant, oracle, 2000) != []


def test_the_derivative_oracle_can_fail() -> None:
    tokens: list[bytes | None] = [b"a", b"b", b"ab"]
    check_infinite("a*b", tokens, 25)
    with pytest.raises(AssertionError):
        check_infinite("a*b", tokens, 25, compiled="a*b?")


# The token DFA without its EOS class is pynini's own composition: the definition itself.


def by_definition(
    constraint: explorer.Constraint, vocabulary: explorer.Vocabulary, form: str
) -> Any:
    """Determinize(input side of T_V ∘ A), with pynini alone."""
    transducer = explorer.detokenizing_fst(vocabulary, form)  # type: ignore[arg-type]
    transducer.set_input_symbols(None)
    transducer.set_output_symbols(None)
    composed = pynini.compose(transducer.arcsort("olabel"), constraint.fsa)
    composed.project("input")
    return pynini.determinize(composed.rmepsilon()).connect()


def as_acceptor(dfa: explorer.TokenDFA, table: np.ndarray | None = None) -> Any:
    """The machine as an acceptor over token labels, EOS left out."""
    table = dfa.table if table is None else table
    state, class_ = np.nonzero((table != DEAD) & (table != DONE))
    rows = [
        (s, token + 1, token + 1, table[s, c])
        for s, c in zip(state, class_, strict=True)
        for token in dfa.tokens_of_class[c]
    ]
    arcs = np.array(rows, np.int32).reshape(-1, 4)
    return fst_from_arrays(dfa.num_states, 0, arcs, table[:, EOS_CLASS] == DONE)


@given(patterns(leaves=6), vocabularies())
@settings(max_examples=examples(50))
def test_small_vocabularies(pattern: str, tokens: list[bytes | None]) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    constraint = explorer.regex(pattern)
    try:
        dfa = explorer.compile(constraint, vocabulary)
    except EmptyConstraint:
        return
    except IncompatibleVocabulary:
        assert by_definition(constraint, vocabulary, "compact").num_states() == 0
        return
    ours = as_acceptor(dfa)
    assert pynini.equivalent(ours, by_definition(constraint, vocabulary, "compact"))
    assert pynini.equivalent(ours, by_definition(constraint, vocabulary, "original"))


@pytest.mark.parametrize(
    "pattern",
    [
        "Red|Orange|Yellow|Green|Blue|Indigo|Violet",
        r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]Z",
        r'"[^"\\\x00-\x1f]*"',
        r"(?!no)\w{1,12}(?<!x)",
        r"(?i)straße|\bümlaut\b.?",
    ],
)
def test_a_real_vocabulary(sentencepiece_32k: explorer.Vocabulary, pattern: str) -> None:
    constraint = explorer.regex(pattern)
    dfa = explorer.compile(constraint, sentencepiece_32k)
    ours = as_acceptor(dfa)
    assert pynini.equivalent(ours, by_definition(constraint, sentencepiece_32k, "compact"))


def test_a_wrong_machine_is_not_equivalent() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"ab", b"b"], eos_ids=[3])
    constraint = explorer.regex("(ab)+")
    dfa = explorer.compile(constraint, vocabulary)
    definition = by_definition(constraint, vocabulary, "compact")
    assert pynini.equivalent(as_acceptor(dfa), definition)
    for state, class_ in np.argwhere(dfa.table >= 0):
        mutant = dfa.table.copy()
        mutant[state, class_] = DEAD
        assert not pynini.equivalent(as_acceptor(dfa, mutant), definition)


# --- method="pynini" ------------------------------------------------------------------------


def same_machine(ours: explorer.TokenDFA, theirs: explorer.TokenDFA) -> bool:
    """Every array the same, but for the numbers of the classes."""
    return (
        token_dfa.same_machine(ours, theirs)
        and ours.report.reached_states == theirs.report.reached_states
    )


@pytest.mark.long
@given(patterns(leaves=6), vocabularies())
@settings(max_examples=examples(50))
def test_the_textbook_makes_the_same_machine(pattern: str, tokens: list[bytes | None]) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    constraint = explorer.regex(pattern)
    try:
        ours = explorer.compile(constraint, vocabulary)
    except (EmptyConstraint, IncompatibleVocabulary) as error:
        with pytest.raises(type(error)) as raised:
            explorer.compile(constraint, vocabulary, method="pynini")
        assert str(raised.value) == str(error)
        return
    theirs = explorer.compile(constraint, vocabulary, method="pynini")
    assert same_machine(ours, theirs)
    assert (ours.report.method, theirs.report.method) == ("functions", "pynini")
    assert ours.lost == theirs.lost


@pytest.mark.parametrize("pattern", [r'"[^"\\]*"', r"[01]{1,9}|yes|no", r"\w+(?: \w+){0,2}"])
def test_the_textbook_on_a_real_vocabulary(
    sentencepiece_32k: explorer.Vocabulary, pattern: str
) -> None:
    constraint = explorer.regex(pattern)
    budget = explorer.Budget(seconds=600)  # A busy machine may take long, and a table is wanted.
    ours = explorer.compile(constraint, sentencepiece_32k, budget)
    theirs = explorer.compile(constraint, sentencepiece_32k, budget, method="pynini")
    assert same_machine(ours, theirs)
    longer = explorer.regex(pattern + "!")
    other = explorer.compile(longer, sentencepiece_32k, budget, method="pynini")
    assert not same_machine(ours, other)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_five_constraints_of_the_appendix(tekken_131k: explorer.Vocabulary, case: Case) -> None:
    budget = explorer.Budget(seconds=600)
    ours = explorer.compile(explorer.regex(case.pattern), tekken_131k, budget)
    theirs = explorer.compile(explorer.regex(case.pattern), tekken_131k, budget, method="pynini")
    assert same_machine(ours, theirs)


def test_the_textbook_keeps_to_the_budget(sentencepiece_32k: explorer.Vocabulary) -> None:
    constraint = explorer.regex(r"\w+").within(explorer.Budget())
    with pytest.raises(BudgetExceeded, match="pynini"):
        explorer.compile(
            constraint, sentencepiece_32k, explorer.Budget(states=1000), lazy=False, method="pynini"
        )
