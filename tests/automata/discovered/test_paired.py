"""Pairs of machines that are discovered, beside the closed products."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.automata.construction import operations
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.discovered.paired import Endings, Operation, Paired, paired
from explorer.automata.machine import NO_ARC, ByteMachine, Dfa
from explorer.automata.words import accepts
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, EmptyConstraint
from tests.automata.discovered.beside import differences
from tests.evidence import examples
from tests.patterns import patterns

CLOSED = {"both": operations.intersection, "left only": operations.difference}


def sides(left: str, right: str) -> tuple[ByteMachine, ByteMachine]:
    return explorer.regex(left).discover(Meter()), explorer.regex(right).discover(Meter())


@given(patterns(leaves=6), patterns(leaves=6), st.sampled_from([*CLOSED]))
@settings(max_examples=examples(30))
def test_pairs_are_products(left: str, right: str, operation: Operation) -> None:
    wanted = CLOSED[operation](explorer.regex(left).dfa, explorer.regex(right).dfa, Meter())
    found = paired(*sides(left, right), operation, Budget())
    assert differences(wanted, found, most=300) == []


class Pairs:
    """Pairs of the states of two closed machines that can finish, as far as a test says.

    Args:
        left, right: The machines; the words of both are read.
        finishes: Whether a pair can finish, by its two states.
    """

    def __init__(self, left: Dfa, right: Dfa, finishes: Callable[[int, int], bool]) -> None:
        self.left, self.right, self.finishes = left, right, finishes
        self.start = self.number(left.start, right.start)
        self.num_states = left.num_states * right.num_states

    def number(self, left: int, right: int) -> int:
        if NO_ARC in (left, right) or not self.finishes(left, right):
            return NO_ARC
        return left * self.right.num_states + right

    def step(self, state: int, byte: int) -> int:
        left, right = divmod(state, self.right.num_states)
        return self.number(self.left.step(left, byte), self.right.step(right, byte))

    def is_accepting(self, state: int) -> bool:
        left, right = divmod(state, self.right.num_states)
        return self.left.is_accepting(left) and self.right.is_accepting(right)

    def expected(self, state: int) -> bytes:
        return bytes(byte for byte in range(256) if self.step(state, byte) != NO_ARC)


def test_wrong_pairs_are_found() -> None:
    """Mutants: no search for an end, and a search that ends at once."""
    left, right = explorer.regex("a{0,20}b|c").dfa, explorer.regex("a*|ab|c").dfa
    wanted = operations.intersection(left, right, Meter())
    met: dict[tuple[int, int], bool] = {}

    def searched(one: int, other: int) -> bool:
        if (one, other) not in met:
            met[one, other] = left.is_accepting(one) and right.is_accepting(other)
            met[one, other] |= any(
                searched(left.step(one, byte), right.step(other, byte))
                for byte in left.expected(one)
                if byte in right.expected(other)
            )
        return met[one, other]

    def ends_here(one: int, other: int) -> bool:
        return left.is_accepting(one) and right.is_accepting(other)

    assert differences(wanted, Pairs(left, right, searched)) == []
    assert differences(wanted, Pairs(left, right, lambda *_: True)) != []
    assert differences(wanted, Pairs(left, right, ends_here)) != []


def test_algebra_over_counters_is_discovered() -> None:
    long = explorer.regex("[a-z]{0,90000}") & explorer.regex("(?:ab|[c-z]){3,70000}")
    less = long - explorer.regex("(?:[a-z]{4}){0,60000}")
    machine = less.discover(Meter())
    assert isinstance(machine, Discovered) and isinstance(machine.kind, Paired)
    texts = {"abab": False, "abc": False, "abccc": True, "ababc": True, "abcc": False, "c": False}
    for text, ok in texts.items():
        assert accepts(machine, text.encode()) == ok, text
    neither = ~explorer.regex("(?s:.){3,6000}")
    machine = neither.discover(Meter())
    assert isinstance(machine, Discovered) and isinstance(machine.kind, Paired)
    # After three characters its words are 5,998 more away.
    assert [accepts(machine, b"a" * n) for n in (2, 3, 6000, 6001)] == [True, False, False, True]


def test_a_machine_that_travelled_goes_on_from_any_state() -> None:
    """The met states are sent; rows are computed again, from the last state as from the first."""
    machine = paired(*sides("[ab]{0,3000}", "(?:ab)*"), "both", Budget())
    state = machine.start
    for byte in b"ab" * 100:
        state = machine.step(state, byte)
    sent = pickle.loads(pickle.dumps(machine))
    assert state > 100
    assert sent.step(state, ord("a")) == machine.step(state, ord("a"))
    assert sent.expected(state) == b"a" and sent.is_accepting(state)


def test_the_search_for_an_end_is_long_and_keeps_to_the_budget() -> None:
    long = paired(*sides("(?:ab){4000}c", "[abc]{0,9000}"), "both", Budget())
    assert long.start == 0
    nothing = paired(*sides("(?:ab){900}c", "[ab]{0,9000}"), "both", Budget())
    assert nothing.start == NO_ARC
    with pytest.raises(BudgetExceeded) as raised:
        _ = paired(*sides("(?:ab){4000}c", "[ab]{0,9000}"), "both", Budget(states=500)).start
    assert raised.value.stage == "The search for what two constraints share"


NESTED = 'root ::= "a" root "b" | ""'
MIRRORED = 'root ::= "a" root "a" | "b" root "b" | "a" | ""'
BRACKETS = 'root ::= term ("b" term)*\nterm ::= "c" | "a" root "a"'


TEXTS = ["".join(t) for k in range(8) for t in itertools.product("abc", repeat=k)]


@cache
def short_words(grammar: str) -> list[str]:
    rules = explorer.grammar(grammar, ambiguous=True)
    return [text for text in TEXTS if rules.accepts(text)]


@pytest.mark.parametrize("grammar", [NESTED, MIRRORED, BRACKETS])
@pytest.mark.parametrize("pattern", ["a*", "[ab]*", "a{2}b*", "(?:ab)*", "c(?:bc)*", "a+c?", "b*"])
@pytest.mark.parametrize("apart", [False, True])
def test_the_endings_of_a_grammar_say_what_all_its_short_words_say(
    grammar: str, pattern: str, apart: bool
) -> None:
    rules, other = explorer.grammar(grammar, ambiguous=True), explorer.regex(pattern)
    words = [word for word in short_words(grammar) if other.accepts(word) != apart]
    machine, beside = rules.discover(Meter()), other.dfa
    assert machine.stacks is not None
    endings = Endings(machine.stacks, beside, [*b"abc\x00"], apart=apart)
    for text in TEXTS[:13]:  # Up to two letters; each begins a word of seven, if any.
        state, there = machine.start, beside.start
        for byte in text.encode():
            state = machine.step(state, byte) if state != NO_ARC else NO_ARC
            there = beside.step(there, byte) if there != NO_ARC else NO_ARC
        if state != NO_ARC and (apart or there != NO_ARC):
            wanted = any(word.startswith(text) for word in words)
            assert endings.can_finish(state, there, Meter()) == wanted, text


def test_what_a_grammar_shares_with_a_pattern_is_decided_though_its_stacks_are_endless() -> None:
    sums = explorer.grammar('root ::= term ("+" term)*\nterm ::= [0-9]+ | "(" root ")"')
    assert (sums - explorer.regex("[0-9+()]*")).is_empty()
    assert (sums & explorer.regex(r"\(+[0-9]")).is_empty()
    assert (explorer.regex(r"\(+[0-9]") & sums).is_empty()
    left = sums & explorer.regex(r"\(*[0-9+]*\){3}")
    assert left.accepts("(((1)))") and not left.accepts("((1))")
    vocabulary = explorer.Vocabulary.from_bytes([b"(", b"1", b")", b"(((("], eos_ids=[4])
    machine = explorer.compile(left, vocabulary, lazy=True)
    assert machine.allowed(machine.start).tolist() == [True, False, False, False, False]
    with pytest.raises(EmptyConstraint):
        explorer.compile(sums - explorer.regex("[0-9+()]*"), vocabulary, lazy=True)


NESTINGS: dict[
    str,
    Callable[[explorer.Constraint, explorer.Constraint, explorer.Constraint], explorer.Constraint],
] = {
    "(g & a) & b": lambda g, a, b: (g & a) & b,
    "a & (g & b)": lambda g, a, b: a & (g & b),
    "(g - a) - b": lambda g, a, b: (g - a) - b,
    "(g & a) - b": lambda g, a, b: (g & a) - b,
    "(a & g) - b": lambda g, a, b: (a & g) - b,
    "(g - b) & a": lambda g, a, b: (g - b) & a,
    "a & (g - b)": lambda g, a, b: a & (g - b),
    "((g - a) & ~b) - a": lambda g, a, b: ((g - a) & ~b) - a,
}
"""Combinations of a grammar with two patterns, each a combination of a combination."""


@given(
    st.sampled_from([NESTED, MIRRORED, BRACKETS]),
    patterns(leaves=4), patterns(leaves=4), st.sampled_from([*NESTINGS]),
)  # fmt: skip
@settings(max_examples=examples(40))
def test_nested_combinations_of_a_grammar_have_the_words_that_their_parts_tell(
    grammar: str, one: str, other: str, nesting: str
) -> None:
    rules, a, b = (
        explorer.grammar(grammar, ambiguous=True),
        explorer.regex(one),
        explorer.regex(other),
    )
    combined = NESTINGS[nesting](rules, a, b)
    # `accepts` of a combination asks its parts, one by one; the machine is what is tested.
    wanted = [text for text in TEXTS if combined.accepts(text)]
    machine = combined.discover(Meter())
    assert [text for text in TEXTS if accepts(machine, text.encode())] == wanted
    if wanted:
        assert not combined.is_empty()
        shortest_first = sorted(wanted, key=lambda text: (len(text), text))
        assert combined.examples(3)[: len(wanted)] == shortest_first[:3]


SUMS = 'root ::= term ("+" term)*\nterm ::= [0-9]+ | "(" root ")"'
"""A grammar whose stacks grow without end."""


OPENED, ENDED = r"\(+[0-9]", r"\(*[0-9]+\)*"


@pytest.mark.parametrize(
    ("nesting", "one", "other"),
    [
        ("(g & a) & b", "[0-9+()]*", OPENED),
        ("a & (g & b)", OPENED, "[0-9+()]*"),
        ("(g - a) - b", "[0-9+]*", r"[0-9+]*\([0-9+()]*"),
        ("(g & a) - b", "[0-9()]*", ENDED),
        ("(a & g) - b", "[0-9()]*", ENDED),
        ("(g - b) & a", "[0-9()]*", ENDED),
        ("a & (g - b)", "[0-9()]*", ENDED),
        ("((g - a) & ~b) - a", "[0-9+]*", r"[0-9+]*\([0-9+()]*"),
    ],
)
def test_a_nested_combination_is_decided_though_the_stacks_of_its_grammar_are_endless(
    nesting: str, one: str, other: str
) -> None:
    rules, a, b = explorer.grammar(SUMS), explorer.regex(one), explorer.regex(other)
    combined = NESTINGS[nesting](rules, a, b)
    assert combined.discover(Meter(Budget(seconds=10))).start == NO_ARC
    assert combined.is_empty() and combined.examples(1) == []


def test_rules_that_do_not_recurse_need_no_stack_in_a_combination() -> None:
    rules = explorer.grammar(SUMS)
    opened = explorer.grammar('root ::= x "("\nx ::= [(]* [0-9]')
    anything = explorer.grammar('root ::= x*\nx ::= [(0-9+] | ")"')
    assert (rules & opened).is_empty() and (opened & rules).is_empty()
    assert ((rules & "1(") & opened).is_empty() and (rules - anything).is_empty()
    assert (rules & anything).examples(2) == ["0", "1"]


def test_control_tokens_stay_in_a_combination_from_which_much_is_subtracted() -> None:
    call = explorer.token("<call>")
    rules = explorer.grammar('root ::= "(" root ")" | "1"')
    left = ((rules + call) - "1") - (explorer.literal("((1))") + call)
    machine = left.discover(Meter())
    assert left.examples(2) == ["1<call>", "(1)<call>"]
    assert machine.start != NO_ARC
