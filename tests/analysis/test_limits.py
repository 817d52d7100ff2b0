"""The sentences about the token budget and the sampler, letter for letter: one, and several."""

from __future__ import annotations

import pytest

from explorer.analysis.explaining.searched import OverBudget, budget_sentence


@pytest.mark.parametrize(
    ("needs", "remain", "said"),
    [
        (3, 0, "it needs 3 tokens to the end, and 0 remain."),
        (3, 1, "it needs 3 tokens to the end, and 1 remains."),
        (1_200, 1_000, "it needs 1,200 tokens to the end, and 1,000 remain."),
    ],
)
def test_what_remains_of_a_budget(needs: int, remain: int, said: str) -> None:
    found = budget_sentence(OverBudget(needs, remain))
    expected = f"It does not fit into the token budget: {said} A larger max_tokens allows it."
    assert found == expected
