"""A grammar leads to one stack, or the error shows a shortest text for which that is not so."""

from __future__ import annotations

import itertools
import random
from typing import cast

import pytest
from hypothesis import given

import explorer
from explorer.automata.discovered.discover import discover
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.machine import NO_ARC
from explorer.automata.rules.network import network_of
from explorer.automata.rules.pieces import lay_rules
from explorer.automata.stacks.single import SingleStack
from explorer.automata.stacks.stacks import ManyStacks
from explorer.budget import Budget, Meter
from explorer.errors import GrammarError
from explorer.languages.grammar.functions import grammar
from tests.languages.grammar.earley import Productions, as_gbnf
from tests.languages.grammar.test_machine import check, productions, readable

JSON = r"""root   ::= ws value
value  ::= (object | array | string | number | "true" | "false" | "null") ws
object ::= "{" ws (member ("," ws member)*)? "}"
member ::= string ws ":" ws value
array  ::= "[" ws (value ("," ws value)*)? "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws ::= [ \t\n\r]*
"""

AMBIGUOUS = {
    'e ::= e "+" t | t\nt ::= "(" e ")" | "1"': ("left recursion", b"", "e → e → t"),
    'e ::= "i" e ("l" e)? | "x"': ("end or go on", b"iix", "e → e"),
    'e ::= "i" e | "i" e "l" e | "x"': ("end or go on", b"iix", "e → e"),
    'e ::= a | b\na ::= "(" a ")" | "c"\nb ::= "(" b "]" | "c"': ("begin alike", b"", "e → b"),
    'e ::= "a" e "a" | ""': ("end or go on", b"a", "e → e"),
    'e ::= x "1" | "b"\nx ::= e "a" | "c"': ("left recursion", b"", "x → e"),
    # Only the caller's caller reads what may follow.
    'e ::= x "c"\nx ::= "(" x ")" | "[" b d\nb ::= "b" b "e" | "c"+\nd ::= ("d" d "f")?': (
        "end or go on",
        b"[c",
        "e → x → b",
    ),
}


def all_stacks(constraint: explorer.Constraint) -> ManyStacks:
    """The kind of machine that follows every stack."""
    network = network_of(lay_rules(constraint.source.tree, Meter()), Meter())
    assert network is not None
    return ManyStacks(network)


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_two_stacks_are_an_error_that_teaches(text: str) -> None:
    kind, prefix, derivation = AMBIGUOUS[text]
    with pytest.raises(GrammarError) as caught:
        grammar(f"root ::= e\n{text}", ambiguous=False)
    error = caught.value
    assert (error.evidence["kind"], error.evidence["prefix"]) == (kind, prefix)
    assert derivation in str(error) and "Two derivations:" in str(error)
    assert "ambiguous=False" in error.remedy and "::=" in error.remedy
    derivations = [line for line in str(error).split("\n") if ", which reads " in line]
    assert len(set(derivations)) == 2


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_by_default_two_readings_are_a_remark(text: str) -> None:
    """Every way is followed, and the remark has the text of the error."""
    written = f"root ::= e\n{text}"
    constraint = grammar(written)
    with pytest.raises(GrammarError) as caught:
        grammar(written, ambiguous=False)
    (remark,) = constraint.source.warnings()
    assert remark.startswith(caught.value.message) and "ambiguous=False" in remark
    assert grammar(written, ambiguous=True).source.warnings() == ()
    vocabulary = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(33, 127)], eos_ids=[94])
    machine = explorer.compile(constraint, vocabulary, lazy=True)
    prefix, byte = caught.value.evidence["prefix"], caught.value.evidence["byte"]
    state = machine.start
    for read in [*cast("bytes", prefix), cast("int", byte)]:
        state = machine.step(state, read - 33)
        assert state is not None
    assert machine.allowed(state).any() and machine.report.warnings == (remark,)


def stacks_after(constraint: explorer.Constraint, text: bytes) -> int:
    """The number of stacks that a text leads to; 2 stands for two or more."""
    stacks = all_stacks(constraint)
    machine = Discovered(stacks, Budget())
    state = machine.start
    for byte in text:
        state = machine.step(state, byte)
    if state == NO_ARC:
        return 0
    pairs = stacks.heads(state)
    nodes = {node for _, node in pairs}
    waiting = list(nodes)
    while waiting:
        returns = stacks.returns(waiting.pop())
        if len(returns) > 1:
            return 2
        waiting += [below for _, below in returns if below not in nodes]
        nodes.update(below for _, below in returns)
    return min(len(pairs), 2)


@given(productions)
def test_random_grammars_with_one_stack(rules: Productions) -> None:
    try:
        constraint = grammar(as_gbnf(rules), ambiguous=False)
    except GrammarError as error:
        if "prefix" not in error.evidence:
            return
        loose = readable(rules)
        assert loose is not None
        prefix = cast("bytes", error.evidence["prefix"])
        byte = bytes([cast("int", error.evidence["byte"])])
        assert stacks_after(loose, prefix + byte) > 1
        for length in range(min(len(prefix), 4) + 1):  # No shorter text has two.
            for letters in itertools.product(b"ab(", repeat=length):
                assert stacks_after(loose, bytes(letters)) <= 1
    else:
        machine = constraint.discover(Meter())
        assert isinstance(machine.stacks, SingleStack) or machine.start == NO_ARC
        check(rules, constraint, 5)


@pytest.mark.parametrize(
    "text",
    [
        'root ::= "(" root ")" | "[" root "]" root | "a"',
        'root ::= "(" root? ")" tail\ntail ::= "," root | ""',
        'root ::= x "," x ";"\nx ::= "(" x ")" | "b"*',
        JSON,
    ],
)
def test_one_stack_agrees_with_the_set_of_stacks(text: str) -> None:
    constraint = grammar(text)
    single = discover(constraint.source.tree, Budget())
    stacks = Discovered(all_stacks(constraint), Budget())
    assert isinstance(single.stacks, SingleStack)
    chance = random.Random(5)
    for _ in range(150):
        here, there = single.start, stacks.start
        for _ in range(40):
            expected = single.expected(here)
            assert expected == stacks.expected(there)
            assert single.is_accepting(here) == stacks.is_accepting(there)
            byte = chance.choice(expected) if expected and chance.random() < 0.97 else 0x7D
            here, there = single.step(here, byte), stacks.step(there, byte)
            assert (here == NO_ARC) == (there == NO_ARC)
            if here == NO_ARC:
                break


@pytest.mark.long
def test_nesting_a_hundred_thousand_deep() -> None:
    constraint = grammar(JSON)
    deep = "[" * 100_000
    assert constraint.accepts(deep + "]" * 100_000)
    assert not constraint.accepts(deep + "]" * 99_999)


@pytest.mark.long
def test_ten_thousand_rules() -> None:
    names = [f"r{k}" for k in range(10_000)]
    lines = [f'{name} ::= "{k % 10}" {names[k + 1]} "x" | "b"' for k, name in enumerate(names[:-1])]
    text = "root ::= r0\n" + "\n".join(lines) + f'\n{names[-1]} ::= "(" root ")" | "c"'
    constraint = grammar(text)
    assert constraint.accepts("012b" + "x" * 3)
    assert not constraint.accepts("012b" + "x" * 4)
