"""Machines that discover their states, beside the closed form, beside `re`, and by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.automata.discovered.discover import QUANTUM, Sets
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.tokens.walks.trie import trie_of
from tests.automata.discovered.beside import differences
from tests.evidence import examples
from tests.patterns import patterns

COUNTED = [
    "(a{1,12}b){1,12}", "(?:ab?){9,20}", "[^x]{10,}", "(a|b)*a(a|b){10}", "(a?){3,30}b",
    "(?s:.){0,40}", r"(\w+ ){9,12}x", "((ab){9,11}|a){10,12}c", "x*(x{0,30}y){2,}",
    "(a{10,20}){10,20}", "(a{9,10}){9,10}|b", r"\ba{10,20}\b x", "(a*){9,20}", "(|a|ab){9,14}b",
    "(a{0,9}){0,12}b(a{9}){0,12}", "(a{2,3}){10,11}", "((a|aa){9}){9}", "[ab]*a[ab]{0,5}b{9,}c",
    "([]){3,12}|(x[]){9}y|z", "(a{0,10}b{0,10}){9,}c", "(aa|aaa){9,15}",
]  # fmt: skip
"""Patterns whose repeats are counted, with bodies that overlap, are empty or have no words."""


def found(pattern: str) -> ByteMachine:
    return explorer.regex(pattern).discover(Meter())


def accepts(machine: ByteMachine, data: bytes) -> bool:
    state = machine.start
    for byte in data:
        state = machine.step(state, byte) if state != NO_ARC else NO_ARC
    return machine.is_accepting(state)


@pytest.mark.parametrize("pattern", [p for p in COUNTED if "[]" not in p])
def test_counted_repeats_are_those_written_out(pattern: str) -> None:
    assert differences(explorer.regex(pattern).dfa, found(pattern)) == []


Counts = tuple[int, int | None]

COUNTS: st.SearchStrategy[Counts] = st.tuples(
    st.integers(0, 11), st.none() | st.integers(0, 3)
).map(lambda given: (given[0], None if given[1] is None else max(given[0], 9) + given[1]))
"""Repeats, most of them of so many copies that they are counted."""


def repeated(body: str, counts: Counts) -> str:
    low, high = counts
    return f"(?:{body}){{{low},{'' if high is None else high}}}"


@given(patterns(leaves=5), COUNTS)
@settings(max_examples=examples(160))
def test_discovered_and_closed_are_the_same(pattern: str, counts: Counts) -> None:
    for each in (pattern, f"{repeated(pattern, counts)}b?"):
        assert differences(explorer.regex(each).dfa, found(each), most=400) == []


Ends = Callable[[str, int], set[int]]


def ends_of(body: str) -> Ends:
    """Where the words of a small pattern end that begin at a place of a text."""
    whole = re.compile(body)
    return lambda text, at: {
        end for end in range(at, min(at + 2, len(text)) + 1) if whole.fullmatch(text, at, end)
    }


def ends_of_repeat(body: Ends, counts: Counts) -> Ends:
    """Copy by copy, as repeats are defined."""
    low, high = counts

    def ends(text: str, at: int) -> set[int]:
        here, reached = {at}, {at} if low == 0 else set[int]()
        for copy in range(1, (low + len(text) if high is None else high) + 1):
            here = {end for place in here for end in body(text, place)}
            reached |= here if copy >= low else set()
        return reached

    return ends


LETTERS = st.sampled_from(["a", "b", "[ab]", "ab", "a?", "(?:a|bb)", "é"])


@given(
    LETTERS, COUNTS, LETTERS, COUNTS,
    st.lists(st.sampled_from(["a", "b", "é"]), max_size=4).map("".join), st.integers(1, 20),
)  # fmt: skip
@settings(max_examples=examples(160))
def test_nested_counters_read_what_copies_read(
    inner: str, few: Counts, outer: str, many: Counts, piece: str, times: int
) -> None:
    text = piece * times
    machine = found(repeated(repeated(inner, few) + outer, many))
    copies, last = ends_of_repeat(ends_of(inner), few), ends_of(outer)
    one = cache(lambda text, at: {e for m in copies(text, at) for e in last(text, m)})
    wanted = ends_of_repeat(one, many)(text, 0)
    for end in range(len(text) + 1):
        assert accepts(machine, text[:end].encode()) == (end in wanted), text[:end]


def test_wrong_machines_are_found() -> None:
    """Mutants: one copy too many, one too few to leave, no last one, and another letter."""
    dfa = explorer.regex("(ab){9,12}").dfa
    assert differences(dfa, found("(ab){9,12}")) == []
    for other in ("(ab){9,13}", "(ab){8,12}", "(ab){9,}", "(ac){9,12}"):
        assert differences(dfa, found(other)) != []


def test_a_long_bound_costs_what_is_met() -> None:
    machine = found('"(?:[^"\\\\]|\\\\["n]){0,4096}"')
    assert isinstance(machine, Discovered) and isinstance(machine.kind, Sets)
    assert machine.num_states == 1
    text = b'"' + b"x" * 4095
    assert accepts(machine, text + '😀"'.encode()) and not accepts(machine, text + b'xx"')
    assert machine.num_states < 10 * 4096  # A row numbers the states after it: parts of characters.
    # Where only a most is given, the longest of many beginnings is no state of its own.
    many = found("[ab]*a[ab]{0,3000}")
    state = many.start
    for byte in b"ab" * 50:
        state = many.step(state, byte)
    assert many.num_states < 8


def test_counts_that_no_table_could_hold() -> None:
    machine = found("(?:a{1000000}){1000000}b|(x{0,99}y?){0,99}z")
    assert machine.expected(machine.start) == b"axyz"
    with pytest.raises(BudgetExceeded) as raised:
        found("(((xy{1,4000000000}){1,4000000000}z){1,4000000000}w){3,4000000000}")
    assert raised.value.resource == "states" and raised.value.reached > raised.value.limit


def test_no_words() -> None:
    assert found("(?!)").start == NO_ARC and found("a(?!a)a").start == NO_ARC
    both = explorer.regex("a{0,3000}x") - explorer.regex(".*")
    assert both.discover(Meter()).start == NO_ARC


def test_the_budget_is_for_what_is_met() -> None:
    machine = explorer.regex("[ab]*a[ab]{25}").discover(Meter(Budget(states=200)))
    state = machine.start
    with pytest.raises(BudgetExceeded) as raised:
        for byte in np.random.default_rng(0).choice([*b"ab"], 4000).tolist():
            state = machine.step(state, byte)
    assert raised.value.stage == "The discovery of states" and raised.value.limit == 200
    # What was met still answers.
    assert machine.expected(machine.start) == b"ab"


def test_threads_meet_the_same_states() -> None:
    machine = found("(?:[a-f]{2}|é){3,4000}g")

    def walk(seed: int) -> list[tuple[bytes, int]]:
        draw = np.random.default_rng(seed)
        state, data, met = machine.start, b"", []
        for _ in range(60):
            byte = int(draw.choice(list(machine.expected(state))))
            state, data = machine.step(state, byte), data + bytes([byte])
            met.append((data, state))
            if not machine.expected(state):
                break
        return met

    with ThreadPoolExecutor(8) as pool:
        met = dict(pair for pairs in pool.map(walk, range(32)) for pair in pairs)
    for data, state in met.items():
        here = machine.start
        for byte in data:
            here = machine.step(here, byte)
        assert here == state


def test_room_of_every_kind_grows() -> None:
    """More states, larger sets and more of them than there is room for at first."""
    pattern = "(?:(a|aa){2,30}b?){2,20}"
    machine = found(pattern)
    assert differences(explorer.regex(pattern).dfa, machine) == []
    assert machine.num_states > 1_000


def test_a_walk_of_a_large_vocabulary_goes_on_where_it_paused(
    tekken_131k: explorer.Vocabulary,
) -> None:
    """Its trie has more nodes than are visited without a look at the clock."""
    assert len(trie_of(tekken_131k, None).byte) > QUANTUM
    constraint = explorer.regex("(?s:.){10,}")
    lazy = explorer.compile(constraint, tekken_131k, lazy=True)
    closed = explorer.compile(constraint, tekken_131k)
    assert np.array_equal(lazy.mask(lazy.start), closed.mask(closed.start))
