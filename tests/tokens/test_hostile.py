"""Tokenizers and constraints that would end a process, and questions that are interrupted."""

from __future__ import annotations

import random
import resource
from collections.abc import Callable

import pytest

import explorer
from explorer.errors import BudgetExceeded
from tests.tokens.interrupting import KINDS, Asker, AtLines, Undisturbed, run, walked

# Constraints made to be too large: each compiles, or stops at a limit that it names.


_letters = random.Random(7)
HOSTILE = {
    "exponential subsets": "(a|b)*a(a|b){25}",
    "a long dot": ".{0,20000}",
    "nested counts": "(x{1,500}){1,500}",
    "deeper counts": "((x{0,99}y?){0,99}z?){0,99}",
    "many words": "|".join("".join(_letters.choices("abcdefghijkl", k=9)) for _ in range(10_000)),
    "one lookahead twenty times": "(?=.*x)" * 20 + ".*",
    "twenty lookaheads": "".join(f"(?=.*{c})" for c in "abcdefghijklmnopqrst") + ".*",
    "absurd counts": "(?:a{1000000}){1000000}",
}
FINISH = {"a long dot", "nested counts", "many words", "one lookahead twenty times"}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_compiles_or_stops(sentencepiece_32k: explorer.Vocabulary, name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    states = 400_000 if name in FINISH else 50_000
    budget = explorer.Budget(states=states, bytes=1_000_000_000, seconds=20)
    try:
        dfa = explorer.compile(explorer.regex(HOSTILE[name]), sentencepiece_32k, budget, lazy=False)
    except BudgetExceeded as error:
        assert name not in FINISH
        assert error.reached > error.limit
        assert error.remedy and error.stage in str(error)
    else:
        assert name in FINISH
        assert dfa.report.character_states <= budget.states
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < 2 * budget.bytes


@pytest.mark.parametrize("name", sorted(HOSTILE.keys() - {"twenty lookaheads"}))
def test_it_is_discovered(sentencepiece_32k: explorer.Vocabulary, name: str) -> None:
    """A machine without a closed form still has masks, one after the other."""
    budget = explorer.Budget(states=400_000, bytes=1_000_000_000, seconds=20)
    machine = explorer.compile(explorer.regex(HOSTILE[name]), sentencepiece_32k, budget, lazy=True)
    state: int | None = machine.start
    for _ in range(3):
        assert state is not None and machine.allowed(state).any()
        token = int(machine.allowed(state).nonzero()[0][-1])
        state = machine.step(state, token)


def test_what_was_compiled_is_right(sentencepiece_32k: explorer.Vocabulary) -> None:
    dfa = explorer.compile(explorer.regex(HOSTILE["nested counts"]), sentencepiece_32k)
    assert dfa.constraint.accepts("x" * 250_000) and not dfa.constraint.accepts("x" * 250_001)
    words = explorer.compile(explorer.regex(HOSTILE["many words"]), sentencepiece_32k)
    for word in HOSTILE["many words"].split("|")[::997]:
        assert words.constraint.accepts(word) and not words.constraint.accepts(word[:-1])


def test_a_pattern_compiles_again_after_a_stop(sentencepiece_32k: explorer.Vocabulary) -> None:
    constraint = explorer.regex("[ab]*a[ab]{9}")
    with pytest.raises(BudgetExceeded):
        explorer.compile(constraint, sentencepiece_32k, explorer.Budget(states=100), lazy=False)
    assert explorer.compile(constraint, sentencepiece_32k).num_states == 1024


# A machine and a session that are interrupted at any point go on as if they had not been.


WORKS: dict[str, Callable[[int, Asker], list[object]]] = {
    **{kind: lambda seed, by, kind=kind: walked(kind, seed, by) for kind in KINDS},
    "session": run,
}


@pytest.mark.parametrize("rounds", [1, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("work", WORKS)
def test_interrupted_between_any_two_lines(work: str, rounds: int) -> None:
    told = {seed: WORKS[work](seed, Undisturbed()) for seed in range(min(rounds, 3))}
    for number in range(rounds):
        draw = random.Random(f"{work} {number}")
        by = AtLines(draw, draw.choice([30, 200, 1500]) if rounds > 1 else 100)
        seed = number % len(told)
        assert WORKS[work](seed, by) == told[seed], number
        assert by.count >= 1
