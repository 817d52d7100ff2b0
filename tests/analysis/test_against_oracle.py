"""Every verdict equals the oracle's, and every piece of evidence stands by itself."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.analysis.verdict.verdict import STAGES
from explorer.budget import Budget
from explorer.languages.constraint import regex
from explorer.languages.regex.source import Regex
from explorer.languages.written.configuration import Configurations
from tests.analysis.cases import build, wrongs
from tests.patterns import patterns, vocabularies

LONG = int(os.environ.get("EXPLORER_LONG_EXAMPLES", "1000"))


def relaxed(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        derandomize=True,
    )


SEEDS = st.integers(0, 1_000_000)


def compare(examples: int) -> Counter[str]:
    """Draw so many patterns, vocabularies and texts, and compare all tokens; what was met."""
    tally: Counter[str] = Counter()

    @given(patterns(leaves=10), vocabularies(), SEEDS)
    @relaxed(examples)
    def equal(pattern: str, tokens: list[bytes | None], seed: int) -> None:
        built = build(pattern, tokens, seed)
        if built is not None:
            assert wrongs(pattern, *built, tally) == []

    equal()
    print(f"\n{dict(tally)}")
    # A filter is not drawn here; `tests/tokens/test_canonical.py` has an oracle of its own.
    for stage in set(STAGES) - {"filtered"}:
        assert tally[stage] > 0
    return tally


def test_verdicts_equal_the_oracle() -> None:
    assert compare(125)["cases"] >= 2_500


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_verdicts_equal_the_oracle_long() -> None:
    examples = max(LONG, 3_000)
    assert compare(examples)["cases"] >= 20 * examples


@given(patterns(assertions=False))
@relaxed(100)
def test_live_positions_read_exactly_the_expected_bytes(pattern: str) -> None:
    dfa = regex(pattern).dfa
    written = Configurations(Regex(pattern).tree, Budget())
    queue = [(dfa.start, b"")]
    seen = {dfa.start}
    for state, text in queue:
        if state < 0:
            continue
        expected = dfa.expected(state)
        here = written.after(text)
        assert here is not None
        assert here.expected == expected
        assert here.may_end == bool(dfa.accepting[state])
        for byte in expected:
            target = int(dfa.table[state, dfa.symbol_class[byte]])
            if target not in seen and len(queue) < 30:
                seen.add(target)
                queue.append((target, text + bytes([byte])))
