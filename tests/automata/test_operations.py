"""Constructions against pynini's operations of the same names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from explorer.automata.construction import operations
from explorer.automata.construction.subset import determinize
from explorer.automata.interchange.openfst import dfa_to_fst, fst_from_arrays
from explorer.automata.machine import NO_ARC, Dfa, Nfa
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from tests.evidence import examples
from tests.optional import pynini

BYTES = [0, 97, 98, 99, 200, 255]


@st.composite
def nfas(draw: st.DrawFn) -> Nfa:
    size = draw(st.integers(1, 7))
    state = st.integers(0, size - 1)
    ends = st.tuples(st.sampled_from(BYTES), st.sampled_from(BYTES)).map(sorted)
    arcs = draw(st.lists(st.tuples(state, ends, state), max_size=14))
    epsilons = draw(st.lists(st.tuples(state, state), max_size=5))
    accepting = draw(st.lists(state, unique=True, max_size=3))
    return Nfa(
        size,
        draw(state),
        np.array([(s, low, high, t) for s, (low, high), t in arcs], np.int32).reshape(-1, 4),
        np.array(epsilons, np.int32).reshape(-1, 2),
        np.array(accepting, np.int32),
    )


def by_pynini(nfa: Nfa) -> Any:
    """The NFA with one arc per byte, determinized and minimised by pynini."""
    rows = [(s, b + 1, b + 1, t) for s, low, high, t in nfa.arcs for b in range(low, high + 1)]
    rows += [(s, 0, 0, t) for s, t in nfa.epsilons]
    accepting = np.zeros(nfa.num_states, np.bool_)
    accepting[nfa.accepting] = True
    fst = fst_from_arrays(
        nfa.num_states, nfa.start, np.array(rows, np.int32).reshape(-1, 4), accepting
    )
    return pynini.determinize(fst.rmepsilon()).minimize().connect()


def equal(dfa: Dfa, fst: Any) -> bool:
    ours = dfa_to_fst(dfa)
    ours.connect()
    return pynini.equivalent(ours, fst)


@given(nfas())
@settings(max_examples=examples(120))
def test_minimal_dfa_is_pyninis(nfa: Nfa) -> None:
    theirs = by_pynini(nfa)
    ours = operations.minimal_dfa(nfa, Meter())
    assert ours.num_states == theirs.num_states()
    assert equal(ours, theirs)
    assert equal(operations.minimize(determinize(nfa, Meter()), Meter()), theirs)
    # The canonical form is a fixed point, and going through arcs changes nothing.
    again = operations.minimal_dfa(operations.dfa_to_nfa(ours), Meter())
    assert np.array_equal(again.table, ours.table)
    assert np.array_equal(again.symbol_class, ours.symbol_class)
    assert np.array_equal(again.accepting, ours.accepting)


@given(nfas(), nfas())
@settings(max_examples=examples(80))
def test_combinations_are_pyninis(left: Nfa, right: Nfa) -> None:
    a, b = operations.minimal_dfa(left, Meter()), operations.minimal_dfa(right, Meter())
    x, y = by_pynini(left), by_pynini(right)

    def tidy(fst: Any) -> Any:
        return pynini.determinize(fst.rmepsilon()).connect()

    assert equal(operations.intersection(a, b, Meter()), tidy(pynini.intersect(x, y)))
    assert equal(operations.difference(a, b, Meter()), tidy(pynini.difference(x, y)))
    assert equal(operations.union([a, b], Meter()), tidy(pynini.union(x, y)))
    assert equal(operations.concatenation([a, b], Meter()), tidy(pynini.concat(x, y)))
    assert operations.equivalent(a, b, Meter()) == pynini.equivalent(tidy(x), tidy(y))
    both = operations.symmetric_difference(a, b, Meter())
    assert (both.num_states == 0) == operations.equivalent(a, b, Meter())


@given(nfas())
@settings(max_examples=examples(40))
def test_every_mutant_is_told_apart(nfa: Nfa) -> None:
    """The comparison can fail: no arc of a minimal machine can be dropped unnoticed."""
    dfa = operations.minimal_dfa(nfa, Meter())
    original = dfa_to_fst(dfa)
    original.connect()
    for state, class_ in np.argwhere(dfa.table != NO_ARC):
        table = dfa.table.copy()
        table[state, class_] = NO_ARC
        assert not equal(Dfa(dfa.symbol_class, table, dfa.accepting, dfa.start), original)


def chain(length: int) -> Nfa:
    """Any string of a and b whose length-th last byte is a: 2^length subsets."""
    arcs = [(0, 97, 98, 0), (0, 97, 97, 1)]
    arcs += [(k, 97, 98, k + 1) for k in range(1, length)]
    return Nfa(
        length + 1,
        0,
        np.array(arcs, np.int32),
        np.empty((0, 2), np.int32),
        np.array([length], np.int32),
    )


def test_growth_of_every_buffer() -> None:
    dfa = operations.minimal_dfa(chain(13), Meter())
    assert dfa.num_states == 2**13
    assert dfa.accepts(b"a" + b"b" * 12) and not dfa.accepts(b"b" * 13)


@pytest.mark.parametrize(
    ("resource", "limit"), [("states", 1000), ("arcs", 1000), ("bytes", 200_000), ("seconds", 0.2)]
)
def test_limits(resource: str, limit: float) -> None:
    from explorer import Budget

    meter = Meter(Budget(**{resource: limit}))  # type: ignore[arg-type]
    with pytest.raises(BudgetExceeded) as caught:
        operations.minimal_dfa(chain(40), meter)
    assert caught.value.resource == resource
    assert caught.value.limit == limit
    assert caught.value.reached > limit
    assert f"Budget({resource}=" in caught.value.remedy
    # Well within what the growth by doubling can overshoot.
    assert resource != "seconds" or caught.value.reached < 5 * limit


def test_without_states() -> None:
    nothing = operations.empty_dfa(256)
    letter = operations.minimal_dfa(
        Nfa(
            2,
            0,
            np.array([(0, 97, 97, 1)], np.int32),
            np.empty((0, 2), np.int32),
            np.array([1], np.int32),
        ),
        Meter(),
    )
    assert operations.intersection(nothing, letter, Meter()).num_states == 0
    assert operations.difference(nothing, letter, Meter()).num_states == 0
    assert operations.equivalent(operations.difference(letter, nothing, Meter()), letter, Meter())
    assert operations.equivalent(operations.union([nothing, letter], Meter()), letter, Meter())
    assert operations.concatenation([nothing, letter], Meter()).num_states == 0
    assert not nothing.accepts(b"")


@given(nfas(), st.integers(0, 5))
@settings(max_examples=examples(60))
def test_folding_equals_refining(nfa: Nfa, longest: int) -> None:
    """A finite language minimised from its ends, and by refinement after a detour."""
    words = Nfa(
        longest + 1,
        0,
        np.array([(k, 0, 255, k + 1) for k in range(longest)], np.int32).reshape(-1, 4),
        np.empty((0, 2), np.int32),
        np.arange(longest + 1, dtype=np.int32),
    )
    language = operations.minimal_dfa(nfa, Meter())
    short = operations.minimal_dfa(words, Meter())
    finite = operations.intersection(language, short, Meter())
    # A disjoint cyclic part keeps folding from being tried; taking it away again does not.
    once = chain(8)
    back = np.array([(end, once.start) for end in once.accepting.tolist()], np.int32)
    again_and_again = structs.replace(once, epsilons=np.concatenate([once.epsilons, back]))
    loop = operations.minimal_dfa(again_and_again, Meter())
    cyclic = operations.union([finite, loop], Meter())
    again = operations.difference(cyclic, operations.difference(loop, finite, Meter()), Meter())
    assert np.array_equal(again.table, finite.table)
    assert np.array_equal(again.accepting, finite.accepting)
    pure = operations.minimize(
        Dfa(again.symbol_class, again.table, again.accepting, again.start), Meter()
    )
    assert np.array_equal(pure.table, finite.table)
