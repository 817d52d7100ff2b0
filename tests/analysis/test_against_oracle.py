"""Every verdict equals the oracle's, and every piece of evidence stands by itself."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.analysis.machine import expected_bytes
from explorer.analysis.positions import PositionAutomaton
from explorer.automata.constraint import regex
from explorer.automata.source import Regex
from explorer.budget import Meter
from tests.analysis.cases import build, wrongs
from tests.patterns import patterns, vocabularies

LONG = int(os.environ.get("EXPLORER_LONG_EXAMPLES", "4000"))
tally: Counter[str] = Counter()


def relaxed(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        derandomize=True,
    )


def check(pattern: str, tokens: list[bytes | None], seed: int) -> None:
    built = build(pattern, tokens, seed)
    if built is not None:
        assert wrongs(pattern, *built, tally) == []


SEEDS = st.integers(0, 1_000_000)


@given(patterns(leaves=10), vocabularies(), SEEDS)
@relaxed(250)
def test_verdicts_equal_the_oracle(pattern: str, tokens: list[bytes | None], seed: int) -> None:
    check(pattern, tokens, seed)


@pytest.mark.long
@pytest.mark.timeout(3000)
@given(patterns(leaves=10), vocabularies(), SEEDS)
@relaxed(LONG)
def test_verdicts_equal_the_oracle_long(
    pattern: str, tokens: list[bytes | None], seed: int
) -> None:
    check(pattern, tokens, seed)


def test_enough_cases_were_compared() -> None:
    if not tally["cases"]:
        pytest.skip("the tests that count ran in another process")
    print(f"\n{dict(tally)}")
    assert tally["cases"] >= 5_000
    assert min(tally[stage] for stage in ("constraint", "dead_end", "allowed", "end_of_text")) > 0


@given(patterns(assertions=False))
@relaxed(100)
def test_live_positions_read_exactly_the_expected_bytes(pattern: str) -> None:
    dfa = regex(pattern).dfa
    automaton = PositionAutomaton(Regex(pattern), Meter())
    queue = [(dfa.start, b"")]
    seen = {dfa.start}
    for state, text in queue:
        if state < 0:
            continue
        expected = expected_bytes(dfa, state)
        live = automaton.live(text)
        assert automaton.read_bytes(live) == expected
        assert automaton.may_end(live) == bool(dfa.accepting[state])
        for byte in expected:
            target = int(dfa.table[state, dfa.symbol_class[byte]])
            if target not in seen and len(queue) < 30:
                seen.add(target)
                queue.append((target, text + bytes([byte])))
