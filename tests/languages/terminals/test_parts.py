"""Substrings and subsequences against brute force, and arguments of hostile size."""

from __future__ import annotations

import random
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from explorer import Budget, terminals

TEXTS = st.text(alphabet="abä🙂 |()\\", max_size=7)


@given(TEXTS.filter(bool), TEXTS)
def test_substrings_are_those_of_the_text(text: str, other: str) -> None:
    pieces = {text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
    substrings = terminals.substring_of(text)
    assert set(substrings.examples(1000)) == pieces
    assert substrings.accepts(other) == (other in pieces)


def subsequences(items: list[str], delimiter: str) -> set[str]:
    """Every subsequence, by brute force."""
    sizes = range(1, len(items) + 1)
    return {delimiter.join(some) for size in sizes for some in combinations(items, size)}


ITEMS = st.lists(st.text(alphabet="ab,ä|", min_size=1, max_size=3), min_size=1, max_size=5)


@given(ITEMS, st.sampled_from([",", ", ", "a", "ab"]))
def test_subsequences_are_those_of_the_items(items: list[str], delimiter: str) -> None:
    machine = terminals.delimited_subsequence_of(items, delimiter)
    assert set(machine.examples(2000)) == subsequences(items, delimiter)


def test_the_brute_force_can_fail() -> None:
    """A mutant: subsets in any order."""
    mutant = terminals.delimited_list("a|b", ",")
    assert mutant.accepts("b,a") and "b,a" not in subsequences(["a", "b"], ",")


def test_a_text_of_100_000_characters() -> None:
    rng = random.Random(7)
    text = "".join(rng.choice("abcdefghijklmnop qrstuvwxyz.,;") for _ in range(100_000))
    machine = terminals.substring_of(text).within(Budget(seconds=30))
    assert machine.dfa.num_states <= 2 * len(text)
    at = rng.randrange(99_000)
    assert machine.accepts(text[at : at + 900])
    assert not machine.accepts(text[at : at + 900] + "\n")


def test_ten_thousand_items() -> None:
    items = [f"item {k:05}" for k in range(10_000)]
    machine = terminals.delimited_subsequence_of(items, "; ").within(Budget(seconds=60))
    assert machine.accepts("item 00003; item 09999")
    assert not machine.accepts("item 09999; item 00003")
