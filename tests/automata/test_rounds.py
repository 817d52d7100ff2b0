"""Equal states by rounds, beside partition refinement."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from explorer.automata.construction import minimize
from explorer.automata.construction.minimize import MOST_ROUNDS, in_rounds, quotient_of_rows
from explorer.automata.construction.refinement import refined
from explorer.automata.machine import Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.languages.regex import compile_pattern
from tests.evidence import examples


def by_rounds(dfa: Dfa, useful: Bool, most: int = MOST_ROUNDS) -> tuple[Int32, Bool] | None:
    number, representative, count = in_rounds(dfa.table, dfa.accepting, useful, most)
    if not count:
        return None
    return quotient_of_rows(dfa.table, dfa.accepting, number, representative, count, dfa.start)


@st.composite
def machines(draw: st.DrawFn) -> tuple[Dfa, Bool]:
    """Machines with many equal states, and which of them lie on an accepting path."""
    states, classes = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    targets = st.integers(-1, states - 1)
    table = draw(arrays.arrays(np.int32, (states, classes), elements=targets))
    accepting = draw(arrays.arrays(np.bool_, states, elements=st.booleans()))
    symbol_class = np.minimum(np.arange(256), classes - 1).astype(np.int32)
    useful = minimize._trim(table, accepting, 0)  # pyright: ignore[reportPrivateUsage]
    return Dfa(symbol_class, table, accepting, 0), useful


@given(machines())
@settings(max_examples=examples(200))
def test_rounds_and_refinement_agree(drawn: tuple[Dfa, Bool]) -> None:
    dfa, useful = drawn
    if not useful[0]:
        return
    wanted_table, wanted_accepting = refined(dfa, useful, lambda: None)
    found = by_rounds(dfa, useful)
    assert found is not None  # Twelve states need twelve rounds at most.
    assert np.array_equal(found[0], wanted_table)
    assert np.array_equal(found[1], wanted_accepting)


def test_a_round_too_few_is_no_answer() -> None:
    """Mutants: too few rounds must say so, and a long repeat is given up soon."""
    dfa = compile_pattern("[ab]*a[ab]{6}", Meter())[1]
    useful = np.ones(dfa.num_states, np.bool_)
    assert by_rounds(dfa, useful, 4) is None
    found = by_rounds(dfa, useful)
    assert found is not None and len(found[0]) == dfa.num_states
    chain = compile_pattern("(?:a{400}b)*", Meter())[1]
    assert by_rounds(chain, np.ones(chain.num_states, np.bool_)) is None


def test_both_ways_give_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    by_default = compile_pattern(r'"(?:[^"\\]|\\["\\])*":(?:foo|fo+|\d+)', Meter())[1]
    most = minimize.MOST_CELLS
    monkeypatch.setattr(minimize, "MOST_CELLS", 0)
    refined_only = compile_pattern(r'"(?:[^"\\]|\\["\\])*":(?:foo|fo+|\d+)', Meter())[1]
    assert np.array_equal(by_default.table, refined_only.table)
    assert by_default.table.size < most
