"""Every id of a mask at once: equal to one explanation at a time, and adding up."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.analysis.characters.kinds import KINDS, character_kind
from explorer.analysis.explaining.explanation import explain
from explorer.analysis.explaining.groups import MOST_GROUPS, MaskReasons, explain_all
from explorer.analysis.verdict.verdict import STAGES
from explorer.tokens.words import DEAD, FREE
from tests.analysis.cases import build
from tests.evidence import examples
from tests.patterns import patterns, vocabularies


def adds_up(reasons: MaskReasons, width: int, total: float | None = None) -> None:
    assert sum(group.count for group in reasons.groups) + reasons.num_allowed == width
    assert len(reasons.groups) <= MOST_GROUPS + 1
    counted = np.bincount(reasons.group[reasons.group >= 0], minlength=len(reasons.groups))
    assert counted.tolist() == [group.count for group in reasons.groups]
    if total is not None:
        assert reasons.z is not None
        masses = [group.mass for group in reasons.groups]
        assert sum(mass for mass in masses if mass is not None) + reasons.z == pytest.approx(total)
        named = masses[:MOST_GROUPS]
        assert named == sorted(named, key=lambda mass: -(mass or 0.0))


@given(patterns(leaves=10), vocabularies(), st.integers(0, 10**6))
@settings(max_examples=examples(30))
def test_groups_equal_single_explanations(
    pattern: str, tokens: list[bytes | None], seed: int
) -> None:
    built = build(pattern, tokens, seed)
    if built is None:
        return
    dfa, oracle = built
    width = len(dfa.vocabulary)
    rng = np.random.default_rng(seed)
    states: list[int] = [*range(min(dfa.num_states, 5)), explorer.DONE, DEAD, FREE]
    for state in states:
        weights = rng.dirichlet(np.ones(width + 2))  # Padded logits are wider.
        reasons = explain_all(dfa, state, weights)
        adds_up(reasons, width + 2, 1.0)
        assert np.array_equal(reasons.group[:width] == -1, dfa.allowed(state))
        for token in range(width + 2):
            one = explain(dfa, state, token)
            assert STAGES[reasons.stage[token]] == one.stage, (pattern, state, token)
            offset = -1 if one.byte_offset is None else one.byte_offset
            assert reasons.offset[token] == offset, (pattern, state, token)
            if state >= 0:
                assert one.stage == oracle.stage(one.verdict.prefix, token)
            group = reasons.group[token]
            if group >= 0 and reasons.groups[group].stage is not None:
                assert reasons.groups[group].stage == one.stage
                if one.stage == "constraint" and state >= 0 and one.verdict.expected_chars.ranges:
                    said = reasons.groups[group].expected.split(": ", 1)[-1]
                    assert said in one.message or one.verdict.mid_character, (pattern, token)


def lettered(draw: random.Random) -> explorer.Constraint:
    """Control tokens among texts, joined at random."""
    parts = [
        explorer.token("<t>"), explorer.token("</t>"), explorer.any_tokens(excluding=["<t>"]),
        *map(explorer.regex, ("[0-9]+", "a?", "ab|7", "ä")),
    ]  # fmt: skip
    whole = draw.choice(parts)
    for _ in range(draw.randrange(4)):
        other = draw.choice(parts)
        whole = draw.choice([whole + other, other + whole, whole | other, whole.star() + other])
    return whole


@given(st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_groups_equal_single_explanations_where_control_tokens_are_words(
    draw: random.Random, lazy: bool
) -> None:
    texts = draw.sample([b"a", b"b", b"7", b"ab", b"7a", b"\xff", b"\xc3", b"\xa4", b" "], 6)
    names = {6: "<t>", 7: "</t>", 8: "<other>"}
    vocabulary = explorer.Vocabulary((*texts, None, None, None, None), (9,), special=names)
    constraint = lettered(draw)
    try:
        machine = explorer.compile(constraint, vocabulary, lazy=lazy)
    except explorer.errors.IncompatibleVocabulary:
        return
    state = machine.start
    for _ in range(4):
        reasons = explain_all(machine, state)
        adds_up(reasons, len(vocabulary))
        for token in range(len(vocabulary)):
            one = explain(machine, state, token)
            assert STAGES[reasons.stage[token]] == one.stage, (str(constraint), state, token)
            offset = -1 if one.byte_offset is None else one.byte_offset
            assert reasons.offset[token] == offset, (str(constraint), state, token)
            group = reasons.group[token]
            if one.stage == "constraint" and one.verdict.control:
                said = reasons.groups[group].expected
                assert all(name in said for name in one.verdict.control), (str(constraint), said)
        allowed = [token for token in np.flatnonzero(machine.allowed(state)) if token != 9]
        if not allowed:
            break
        following = machine.step(state, int(draw.choice(allowed)))
        assert following is not None
        state = following


def test_the_kinds_of_text() -> None:
    def named(text: str) -> str:
        return KINDS[character_kind(text)]

    assert named("ä") == named("中") == "a letter"
    assert named("٣") == "a digit"
    assert named("\u00a0") == "a space" and named("\n") == "a line break or tab"
    assert named("“") == "a quote" and named("]") == "a bracket" and named("-") == "punctuation"
    assert named("🙂") == "a symbol" and named("\u0301") == "a combining mark"
    assert named("\x00") == "a control character"


def test_a_real_vocabulary_adds_up(tekken_131k: explorer.Vocabulary) -> None:
    dfa = explorer.compile(
        explorer.regex(r'\{"name": "[^"\\\n]{1,20}", "age": [0-9]{1,3}\}'), tekken_131k
    )
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(len(tekken_131k), 0.01))
    for state in rng.integers(0, dfa.num_states, 10).tolist():
        reasons = explain_all(dfa, state, weights)
        adds_up(reasons, len(tekken_131k), 1.0)
        assert np.array_equal(reasons.group == -1, dfa.allowed(state))
        for token in rng.integers(0, len(tekken_131k), 50).tolist():
            one = explain(dfa, state, token)
            assert STAGES[reasons.stage[token]] == one.stage
            assert reasons.offset[token] == (-1 if one.byte_offset is None else one.byte_offset)
