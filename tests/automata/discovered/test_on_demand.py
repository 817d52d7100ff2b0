"""Machines that are discovered as they are asked."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer import any_tokens, literal, regex
from explorer.alphabet import LETTER, TOKEN_END
from explorer.automata.discovered.discover import QUANTUM, Sets, discover, discover_limits
from explorer.automata.discovered.discovered import Discovered, apart
from explorer.automata.discovered.token_counts import CountingTokens
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.build import build_over_tokens
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.languages.constraint import Constraint
from explorer.tokens.walks.trie import trie_of
from tests.automata.discovered.beside import differences
from tests.evidence import examples
from tests.patterns import patterns

# Machines that discover their states, beside the closed form, beside `re`, and by hand.


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


def test_no_words() -> None:
    assert found("(?!)").start == NO_ARC and found("a(?!a)a").start == NO_ARC
    both = explorer.regex("a{0,3000}x") - explorer.regex(".*")
    assert both.discover(Meter()).start == NO_ARC


def test_counts_that_no_table_could_hold() -> None:
    machine = found("(?:a{1000000}){1000000}b|(x{0,99}y?){0,99}z")
    assert machine.expected(machine.start) == b"axyz"
    with pytest.raises(BudgetExceeded) as raised:
        found("(((xy{1,4000000000}){1,4000000000}z){1,4000000000}w){3,4000000000}")
    assert raised.value.resource == "states" and raised.value.reached > raised.value.limit


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


RARE = explorer.Vocabulary.from_bytes(
    [*(bytes([byte]) for byte in range(256)), b"xyzw", b"zzzz", b"xy", b"xyz", b"</s>"],
    eos_ids=[260],
)
"""Words without an ``a``, so that this letter is dropped before the reach of a state is limited."""


@pytest.mark.parametrize("other", ["[a-c]", "a", "[^b]", ".", "[aé]"])
@pytest.mark.parametrize("most", [2, 3, 4])
def test_a_state_that_a_dropped_letter_led_to_is_met_again(other: str, most: int) -> None:
    """After ``a``, and after the last letter of the repeat, the machine is in the same state."""
    constraint = explorer.regex(f"[^a]{{1,{most}}}|{other}")
    found = explorer.compile(constraint, RARE, lazy=True)
    table = explorer.compile(constraint, RARE, lazy=False)
    assert found.allowed(found.start).tolist() == table.allowed(table.start).tolist()


# A machine to ask questions of: it has the same states, and leaves no trace where it came from.


MARKED = {"type": "array", "uniqueItems": True, "items": {"type": "string"}}
OPEN = {"type": "object", "properties": {"a": {"type": "array"}, "b": {"type": "number"}}}
CASES: dict[str, Constraint] = {
    "Sets": regex("(a|b)*a(a|b){9}"),
    "Sets with late parts": explorer.json_schema(OPEN, property_order="any"),
    "SingleStack": explorer.grammar('root ::= "a" root "b" | "c"'),
    "ManyStacks": explorer.grammar('root ::= "a" root "a" | "b" root "b" | [ab]', ambiguous=True),
    "Paired": explorer.grammar('root ::= "a" root "b" | "c"') & regex("(aa)*c(bb)*"),
    "ItemsOnce": explorer.json_schema(MARKED),
    "CountingTokens": explorer.template("{x}-", x=explorer.gen(regex="(ab|ba)*", max_tokens=4)),
    "control tokens": any_tokens(excluding=["<t>"]) + literal("a"),
}


def machine_of(name: str) -> Discovered:
    tree, meter = CASES[name].source.tree, Meter()
    counts = name == "CountingTokens"
    machine = discover_limits(tree, meter) if counts else discover(tree, Budget())
    assert isinstance(machine, Discovered)
    return machine


def wander(machine: ByteMachine, draw: random.Random, state: int, steps: int) -> list[int]:
    """The states along a random text; a token may end after each byte."""
    path = [state]
    for _ in range(steps):
        symbols = [*machine.expected(path[-1])]
        if machine.over_tokens and machine.step(path[-1], TOKEN_END) != NO_ARC:
            symbols.append(TOKEN_END)
        if not symbols:
            break
        path.append(machine.step(path[-1], draw.choice(symbols)))
    return path


def rows(machine: ByteMachine, states: int) -> list[list[int]]:
    return [[machine.step(k, byte) for byte in range(256)] for k in range(states)]


@pytest.mark.parametrize("name", CASES)
def test_a_question_leaves_no_trace(name: str) -> None:
    for seed in range(5):
        machine, alone, beside = machine_of(name), machine_of(name), machine_of(name)
        for each in (machine, alone, beside):
            wander(each, random.Random(seed), each.start, 6)
        met, read = machine.num_states, [*machine.table.tolist()]
        asked = apart(machine, Meter())
        assert asked.start == machine.start and asked.num_states == met
        draw = random.Random(seed + 100)
        for state in range(min(met, 8)):
            wander(asked, draw, state, 12)
            assert asked.is_accepting(state) == beside.is_accepting(state)
        assert asked.num_states >= met == alone.num_states
        assert machine.num_states == met and machine.table.tolist() == read
        # It goes on as a machine that was never asked.
        for each in (machine, alone):
            wander(each, random.Random(seed + 1), each.start, 10)
        assert machine.num_states == alone.num_states
        assert rows(machine, min(met, 8)) == rows(alone, min(met, 8))
        # Both agree on the states that they met before; later ones have numbers of their own.
        known = [[to for to in row if to < met] for row in rows(asked, min(met, 8))]
        assert known == [[to for to in row if to < met] for row in rows(machine, min(met, 8))]


def test_its_budget_is_its_own() -> None:
    machine = machine_of("Sets")
    met = machine.num_states
    asked = apart(machine, Meter(Budget(states=5)))
    with pytest.raises(BudgetExceeded):
        rows(asked, 8)
    assert machine.num_states == met
    assert rows(machine, 8)


def test_a_closed_machine_is_itself() -> None:
    closed = regex("ab*").dfa
    assert apart(closed, Meter()) is closed


# Limits on tokens that are counted while a text is read, beside the machine written out.


WORDS = [b"ab", b"abab", b'"', b"ax", b"a-", b"aa-1", "ä".encode(), b"ba", b"-x"]
FEW = explorer.Vocabulary.from_bytes([b"a", b"b", b"x", b"1", b"-", *WORDS], eos_ids=[14])
"""Not every byte is a token: whether a text can be finished is searched for."""
ALL = explorer.Vocabulary.from_bytes([*(bytes([k]) for k in range(256)), *WORDS], eos_ids=[265])

gen, many, template = explorer.gen, explorer.many, explorer.template
SHAPES = {
    "turn": template(
        "{x}-{y}", x=gen(regex="[ab]{1,6}", max_tokens=2), y=gen(regex="(a|1)*", max_tokens=1)
    ),
    "touching": template(
        "a{x}{y}b", x=gen(regex="[aä]*", max_tokens=2), y=gen(regex="[äb]+", max_tokens=2)
    ),
    "stop": template('"{x}"', x=gen(stop='"', max_tokens=3)),
    "some": template("{x}x", x=many(gen(regex="a*b", max_tokens=2), 1, 3, separator="-")),
    "any": template("{x}x", x=many(gen(regex="ab?", max_tokens=1), 0, None)),
    "choice": (template("{x}", x=gen(regex="a+b", max_tokens=1)) | explorer.choice(["x-", "abab"]))
    + explorer.literal("-"),
    "optional": template("{x}-", x=gen(regex="(ab)*", max_tokens=4)).optional(),
    "long": template("{x}-", x=gen(regex="(ab|ba){4}", max_tokens=3)),
}


@pytest.mark.parametrize("vocabulary", [FEW, ALL], ids=["few bytes", "all bytes"])
@pytest.mark.parametrize("shape", SHAPES)
def test_masks_are_those_of_the_table(shape: str, vocabulary: explorer.Vocabulary) -> None:
    table = explorer.compile(SHAPES[shape], vocabulary, lazy=False)
    lazy = explorer.compile(SHAPES[shape], vocabulary, lazy=True)
    assert lazy.report.byte_machine == "discovered" and lazy.report.warnings == ()
    pairs = {(table.start, lazy.start)}
    waiting = [*pairs]
    while waiting:
        here, there = waiting.pop()
        allowed = table.allowed(here)
        assert np.array_equal(allowed, lazy.allowed(there))
        for token in np.flatnonzero(allowed).tolist():
            after, met = table.step(here, token), lazy.step(there, token)
            assert after is not None and met is not None and (after < 0) == (met < 0)
            if after >= 0 and (after, met) not in pairs and len(pairs) < 400:
                pairs.add((after, met))
                waiting.append((after, met))


_PART = st.builds(
    lambda pattern, most: gen(regex=pattern, max_tokens=most),
    st.sampled_from(["a*", "[ab]{1,3}", "ab|b", "a+b?", "(ba)*", "ä?b"]), st.integers(1, 3),
)  # fmt: skip
_TREE = st.recursive(
    st.one_of(_PART, st.sampled_from(["a", "b", "ab", "-"]).map(explorer.literal)),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner), st.builds(lambda a, b: a | b, inner, inner),
        inner.map(lambda a: a.star()), inner.map(lambda a: a.optional()),
    ),
    max_leaves=5,
)  # fmt: skip


@given(_TREE)
@settings(max_examples=examples(25))
def test_it_reads_what_is_written_out(constraint: explorer.Constraint) -> None:
    if not constraint.over_tokens:
        return
    closed = build_over_tokens(constraint.source.tree, Meter())
    found = discover_limits(constraint.source.tree, Meter())
    assert isinstance(found, Discovered) and isinstance(found.kind, CountingTokens)
    pairs = {(closed.start, found.start)}
    waiting = [*pairs]
    while waiting:
        here, there = waiting.pop()
        assert closed.is_accepting(here) == found.is_accepting(there)
        for symbol in [*b'ab-x"', *"ä".encode(), TOKEN_END, LETTER]:
            pair = closed.step(here, symbol), found.step(there, symbol)
            assert (pair[0] == NO_ARC) == (pair[1] == NO_ARC)
            if pair[0] != NO_ARC and pair not in pairs and len(pairs) < 2_000:
                pairs.add(pair)
                waiting.append(pair)


def test_a_large_part_with_many_tokens_begins_at_once() -> None:
    """Written out, it has over a million states before it is minimal."""
    text = {"type": "string"}
    schema = {
        "type": "object", "properties": {"name": text, "tags": {"type": "array", "items": text}},
        "required": ["name", "tags"],
    }  # fmt: skip
    constraint = template("x {a}.", a=gen(json_schema=schema, max_tokens=60))
    machine = explorer.compile(constraint, ALL, Budget(states=20_000), lazy=True)
    state: int | None = machine.start
    for byte in b'x {"name":"':
        assert state is not None
        state = machine.step(state, byte)
    for _ in range(60 - len('{"name":"')):  # What the limit leaves, if nothing else must follow.
        assert state is not None
        if not machine.allowed(state)[ord("b")]:
            break
        state = machine.step(state, ord("b"))
    assert state is not None
    rest = b'","tags":[]}'
    assert machine.allowed(state)[rest[0]] and not machine.allowed(state)[ord("b")]
    for byte in rest + b".":
        state = machine.step(state, byte)
        assert state is not None
    assert machine.is_final(state)


@pytest.mark.parametrize(
    "constraint",
    [
        explorer.regex("a(?P<TEXT_TOKEN>)b"),
        gen(regex="[ab]*", max_tokens=2) & explorer.regex("a*"),
    ],
    ids=["terminal", "intersection"],
)
def test_what_is_written_out_all_the_same_says_so(constraint: explorer.Constraint) -> None:
    report = explorer.compile(constraint, FEW, lazy=True).report
    assert report.byte_machine == "closed"
    assert "written out as a whole, though lazy=True" in report.warnings[0]
    assert explorer.compile(constraint, FEW, lazy=False).report.warnings == ()
