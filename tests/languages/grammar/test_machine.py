"""Machines of grammars: over bytes and tokens, long ones, united ones, faults and explanations."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer import Budget
from explorer.analysis.traps.of_machine import machine_traps
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.rules.moves import Actions, actions_of
from explorer.automata.rules.network import network_of
from explorer.automata.rules.pieces import lay_rules
from explorer.automata.stacks.single import SingleStack
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, GrammarError, NotRegular
from explorer.languages.constraint import Constraint
from explorer.languages.grammar.diagnosis import LIMITS, SKETCHES
from explorer.languages.grammar.functions import grammar
from tests.evidence import calls_of
from tests.languages.grammar.earley import Earley, Productions, as_gbnf

# The machine of a grammar against an Earley recognizer that shares no code with it.


NAMES = ("root", "ex", "why")

options = st.lists(st.sampled_from(("a", "b", "(", *NAMES)), max_size=4).map(tuple)
productions = st.fixed_dictionaries(
    {name: st.lists(options, min_size=1, max_size=3, unique=True) for name in NAMES}
)


def readable(rules: Productions) -> Constraint | None:
    """The constraint; nothing if the rules have a fault that is refused."""
    try:
        return grammar(as_gbnf(rules), ambiguous=True)
    except GrammarError:
        return None


def state_after(machine: ByteMachine, text: str) -> int:
    state = machine.start
    for byte in text.encode():
        state = machine.step(state, byte)
    return state


def check(rules: Productions, constraint: Constraint, longest: int) -> None:
    oracle = Earley(rules)
    machine = constraint.machine
    for length in range(longest + 1):
        for letters in itertools.product("ab(", repeat=length):
            text = "".join(letters)
            state = state_after(machine, text)
            assert (state != NO_ARC) == oracle.viable(text), text
            assert machine.is_accepting(state) == oracle.accepts(text), text


@given(productions)
def test_random_grammars(rules: Productions) -> None:
    constraint = readable(rules)
    if constraint is not None:
        check(rules, constraint, 5)


HARD: dict[str, Productions] = {
    "nested": {"root": [("a", "root", "b"), ()]},
    "left recursion": {"root": [("root", "a"), ("b",)]},
    "hidden left recursion": {"root": [("ex", "root", "a"), ("b",)], "ex": [(), ("a",)]},
    "left and right": {"root": [("root", "a", "root"), ("b",)]},
    "every cut": {"root": [("root", "root"), ("a",), ("a", "b")]},
    "a circle of two": {"root": [("ex", "a")], "ex": [("root", "b"), ("a",)]},
    "a circle of three": {
        "root": [("ex", "a"), ("b",)],
        "ex": [("why", "b")],
        "why": [("root", "(")],
    },
    "palindromes": {"root": [("a", "root", "a"), ("b", "root", "b"), ()]},
    "dangling else": {"root": [("a", "root"), ("a", "root", "b", "root"), ("(",)]},
    "the last call": {"root": [("a", "root"), ("(", "ex")], "ex": [("root", "b"), ("b",)]},
    "empty in between": {"root": [("ex", "ex", "root", "b"), ("a",)], "ex": [("(",), ()]},
    "two ends": {
        "root": [("ex", "why")],
        "ex": [("a", "ex", "b"), ()],
        "why": [("b", "why", "a"), ()],
    },
}


@pytest.mark.parametrize("name", HARD)
def test_hard_grammars(name: str) -> None:
    constraint = readable(HARD[name])
    assert constraint is not None
    check(HARD[name], constraint, 7)


def test_the_oracle_can_fail() -> None:
    """A machine that forgets what called it accepts what the recognizer does not."""
    rules = HARD["nested"]
    with pytest.raises(AssertionError):
        check(rules, explorer.regex("a*b*"), 4)
    mutant = {"root": [("a", "root", "b"), ("a", "b")]}
    constraint = readable(rules)
    assert constraint is not None
    with pytest.raises(AssertionError):
        check(mutant, constraint, 4)


@pytest.mark.parametrize("name", HARD)
def test_masks_over_tokens_are_exact(name: str) -> None:
    """A token is allowed if what it writes is the beginning of a word; every byte is a token."""
    constraint = readable(HARD[name])
    assert constraint is not None
    oracle = Earley(HARD[name])
    random_texts = random.Random(3)
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += {"".join(random_texts.choices("ab(", k=k)).encode() for k in (2, 2, 3, 3, 3, 4, 5, 6)}
    vocabulary = explorer.Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])
    machine = explorer.compile(constraint, vocabulary, lazy=True)
    reached = [(machine.start, "")]
    for state, text in itertools.islice(reached, 25):  # The list grows while it is read.
        allowed = machine.allowed(state)
        for token, data in enumerate(tokens):
            whole = text + data.decode("latin-1")
            if data not in b"ab(" and len(data) == 1:
                assert not allowed[token]
                continue
            assert allowed[token] == oracle.viable(whole)
            if allowed[token] and len(whole) < 9:
                after = machine.step(state, token)
                assert after is not None
                reached.append((after, whole))
        assert allowed[len(tokens)] == machine.is_final(state) == oracle.accepts(text)


def test_a_grammar_that_does_not_recurse_is_a_table() -> None:
    constraint = grammar('root ::= word ("," word)*\nword ::= [a-c]+ | "x" word')
    assert constraint.equivalent(explorer.regex("(x*[a-c]+)(,(x*[a-c]+))*"))
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"x", b","], eos_ids=[3])
    assert isinstance(explorer.compile(constraint, vocabulary), explorer.TokenDFA)


def test_a_grammar_that_recurses_is_lazy_and_says_why() -> None:
    constraint = grammar('root ::= "a" root "b" | ""')
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"bb", b"aaab"], eos_ids=[4])
    machine = explorer.compile(constraint, vocabulary)
    assert machine.report.reason == ("The grammar recurses (root), so no finite machine reads it.")
    with pytest.raises(NotRegular, match=r"recurses \(root\)"):
        explorer.compile(constraint, vocabulary, lazy=False)
    state = machine.step(machine.start, 3)
    assert state is not None
    assert machine.allowed(state).tolist() == [False, True, True, False, False]
    assert machine.distance_to_end(state) == 2  # "bb", and the end.


def test_exponential_ambiguity_stays_small() -> None:
    every_cut = grammar('root ::= root root | root root root | "a" | ""', ambiguous=True)
    assert every_cut.accepts("a" * 60)
    assert every_cut.machine.num_states <= 62  # One for each place, not for each derivation.


# Reading a grammar takes time in proportion to its length, and looks at the clock of its budget.
#
# Calls of functions are counted, which do not depend on how busy the machine is.


SHAPES: dict[str, Callable[[int], tuple[str, str]]] = {
    "a long text": lambda n: ('root ::= "' + "a" * n + '"', "gbnf"),
    "a long text in Lark": lambda n: ('start: "' + "a" * n + '"', "lark"),
    "many pieces": lambda n: ("root ::= " + '"a" ' * n, "gbnf"),
    "many calls": lambda n: (
        "root ::= " + " ".join(f"r{k}" for k in range(n))
        + "".join(f'\nr{k} ::= "a"' for k in range(n)), "gbnf",
    ),
    "many choices": lambda n: (
        "root ::= " + " | ".join(f"r{k}" for k in range(n))
        + "".join(f'\nr{k} ::= "{k:04d}"' for k in range(n)), "gbnf",
    ),
    "a class": lambda n: ("root ::= [" + "".join(chr(0x4E00 + 2 * k) for k in range(n)) + "]",
                          "gbnf"),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_length_is_twice_the_work(shape: str) -> None:
    """Each text, piece and rule was compared with all others."""
    text, syntax = SHAPES[shape](10)
    grammar(text, syntax)
    few, many = (
        calls_of(lambda n=n: grammar(*SHAPES[shape](n), ambiguous=True)) for n in (300, 600)
    )
    assert many < 2.5 * few


def test_the_states_of_the_budget_hold_for_the_check() -> None:
    """A fixed limit held, and the error said to raise the budget."""
    many = 'root ::= "a"{300000}'
    with pytest.raises(BudgetExceeded) as raised:
        grammar(many, ambiguous=False)
    assert (raised.value.resource, raised.value.limit) == ("states", LIMITS.states)
    assert grammar(many, ambiguous=False, budget=Budget(states=5_000_000)).accepts("a" * 300_000)
    with pytest.raises(BudgetExceeded) as raised:
        grammar(many, ambiguous=False, budget=Budget(states=2_000))
    assert raised.value.limit == 2_000


@pytest.mark.parametrize("shape", SHAPES)
def test_the_budget_of_reading_is_kept(shape: str) -> None:
    """A time that is over ends it at once."""
    text, syntax = SHAPES[shape](300)
    with pytest.raises(BudgetExceeded):
        grammar(text, syntax, budget=Budget(seconds=1e-9))


# An explanation names rule, place and stack.


SUMS = explorer.grammar(
    """root ::= e
e ::= t ("+" e)?
t ::= f ("*" t)?
f ::= "(" e ")" | [0-9]+
"""
)


def test_rule_place_and_stack_are_named() -> None:
    why = explorer.explain_text(SUMS, "(12x")
    assert [part.positions[0].label for part in why.parts] == ["rule `e`", "rule `t`", "rule `f`"]
    source = SUMS.source.text
    places = [[p.text for p in part.positions] for part in why.parts]
    assert places == [["+"], ["*"], [")", "[0-9]"]]
    for part in why.parts:
        for place in part.positions:
            assert place.start is not None and source[place.start :].startswith(place.text)
    assert "On the stack: root → e → t → f → e → t → f." in why.prose
    assert 'f ::= "(" e ")" | [0-9]+\n             ^' in str(why)


def test_inside_a_combination() -> None:
    whole = explorer.literal("x=") + SUMS + explorer.regex("[;.]")
    why = explorer.explain_text(whole, "x=(1x")
    assert {part.source for part in why.parts} == {SUMS.source}
    why = explorer.explain_text(whole, "x=1x")
    assert [str(part.source) for part in why.parts][-1] == "regex('[;.]')"


# Faults of grammars, with their places.


def test_the_language_of_gbnf() -> None:
    """Each construct of the notation beside the pattern that means the same."""
    pairs = {
        '"a\\x41\\u00e4\\U0001F600\\t\\r\\n\\\\\\"\\[\\]"': 'aAä😀\\t\\r\\n\\\\"\\[\\]',
        "[a-c_\\]\\\\-]": "[a-c_\\]\\\\-]",
        "[^a-c\\n]": "[^a-c\\n]",
        ".": "(?s:.)",
        '"a"* "b"+ "c"?': "a*b+c?",
        '"a"{2} "b"{1,} "c"{,2} "d"{1,3}': "aab+c{,2}d{1,3}",
        '("a" | "b" | ) "c"': "[ab]?c",
        '(\n"a" # one\n|\n"b")': "[ab]",
        '"a" |\n "b"': "[ab]",
        '""': "",
        '"ab"{2}': "(ab){2}",
        "/[0-9]{2}(?=x)x/": "[0-9]{2}x",
        '"a" # "b"': "a",
        '"ä"+': "ä+",
    }
    for body, pattern in pairs.items():
        assert grammar(f"root ::= {body}").equivalent(explorer.regex(pattern)), body
        assert grammar(f"# first\n\nroot ::=\n  {body}\r\n").equivalent(explorer.regex(pattern))


def test_a_word_that_is_doubled_in_many_rules_stays_within_its_budget() -> None:
    """A tower of rules, each twice the one below: the text would have 2^60 letters."""
    rules = "\n".join(f"r{k} ::= r{k + 1} r{k + 1}" for k in range(60))
    text = f'root ::= r0\n{rules}\nr60 ::= "a" | "(" root ")"'
    machine = grammar(text).machine
    state = machine.start
    for byte in b"aa(aa":
        state = machine.step(state, byte)
    assert machine.expected(state) == b"(a"


SPACES = {
    'root ::= ws "a" ws\nws ::= [ ]*': ("gbnf", "[ ]{0,2} for [ \\t\\n]*"),
    'start: "a"\n%import common.WS\n%ignore WS': ("lark", "what %ignore names may be repeated"),
}


@pytest.mark.parametrize("text", SPACES)
def test_white_space_without_end_is_bounded_as_the_grammar_would(text: str) -> None:
    syntax, remedy = SPACES[text]
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b" ", b"  ", None], eos_ids=[3])
    for constraint in (grammar(text, syntax), explorer.literal("a") + grammar(text, syntax)):
        found = machine_traps(explorer.compile(constraint, vocabulary))
        said = [trap.remedy for trap in found if trap.kind == "whitespace_loop"]
        assert said and all(remedy in each and "\\s" not in each for each in said)


# Rules laid into their callers leave the language as it was and lead to one stack.


BLANKS: Productions = {
    "root": [("w", "sum", "w")],
    "sum": [("term", "more")],
    "more": [(), ("w", "+", "w", "term", "more")],
    "term": [("x",), ("(", "w", "sum", "w", ")")],
    "w": [(), (" ", "w")],
}

TAGS: Productions = {
    "root": [("<", "a", "in", "a")],
    "in": [("content", "<", "/")],
    "content": [(), ("x", "content"), ("<", "tag", "content")],
    "tag": [("a", "in", "a"), ("b", "in", "b")],
}

CASES = {"blanks": (BLANKS, "x+() ", 6), "tags": (TAGS, "<ab/x", 7)}


def differences(rules: Productions, constraint: Constraint, letters: str, longest: int) -> int:
    """How many texts are beginnings, or words, for one of the recognizer and the machine only."""
    oracle = Earley(rules)
    machine = constraint.machine
    count = 0
    for length in range(longest + 1):
        for each in itertools.product(letters, repeat=length):
            text = "".join(each)
            state = machine.start
            for byte in text.encode():
                state = machine.step(state, byte)
            count += (state != NO_ARC) != oracle.viable(text)
            count += machine.is_accepting(state) != oracle.accepts(text)
    return count


@pytest.mark.parametrize("name", CASES)
def test_one_stack_and_the_same_language(name: str) -> None:
    rules, letters, longest = CASES[name]
    constraint = grammar(as_gbnf(rules))
    meter = Meter()
    network = network_of(lay_rules(constraint.source.tree, meter), meter)
    assert network is not None and not isinstance(actions_of(network, meter), Actions)
    assert isinstance(constraint.discover(Meter()).stacks, SingleStack)
    assert differences(rules, constraint, letters, longest) == 0


def test_the_oracle_can_fail_in_uniting() -> None:
    other = {**BLANKS, "more": [(), ("w", "+", "term", "more")]}
    assert differences(BLANKS, grammar(as_gbnf(other)), "x+() ", 4) > 0


# The rewrites that errors propose: each sketch is a grammar, and does what it says.


# What a sketch leaves out: the root, and rules that recurse, so that nothing is merged away.
AROUND = {
    "gbnf": 'root ::= {0}\n{1}\nt ::= "(" root ")" | "1"\n',
    "lark": 'start: {0}\n{1}\nt: "(" start ")" | "1"\n',
}
KEYWORDS = {
    "gbnf": 'root ::= st\nst ::= "if " b ";" | name " " c ";"\n'
    'b ::= "(" b ")" | "x"\nc ::= "(" c ")" | "y"\n',
    "lark": 'start: st\nst: "if " b ";" | NAME " " c ";"\nb: "(" b ")" | "x"\nc: "(" c ")" | "y"\n',
}
FIRST = {"left recursion": "e", "end or go on": "s", "begin alike": "s"}


def written(kind: str, dialect: str, sketch: str) -> explorer.Constraint:
    """The grammar that a sketch is a part of."""
    text = f"{KEYWORDS[dialect]}{sketch}\n" if kind == "keyword" else ""
    return explorer.grammar(
        text or AROUND[dialect].format(FIRST[kind], sketch), dialect, ambiguous=False
    )


CASES_OF_REWRITES = [(kind, dialect) for kind, sketches in SKETCHES.items() for dialect in sketches]


@pytest.mark.parametrize(("kind", "dialect"), CASES_OF_REWRITES)
def test_what_is_proposed_has_one_stack(kind: str, dialect: str) -> None:
    good, bad = SKETCHES[kind][dialect]
    written(kind, dialect, good)
    with pytest.raises(GrammarError) as caught:
        written(kind, dialect, bad)
    error = caught.value
    assert error.evidence["rewrite"] == kind
    lines = [line.strip() for line in error.remedy.split("\n")]
    assert lines[1:-1] == [good, "for", *bad.split("\n")] and "ambiguous=False" in lines[-1]
