"""Rules laid into their callers leave the language as it was and lead to one stack."""

from __future__ import annotations

import itertools

import pytest

from explorer.automata.machine import NO_ARC
from explorer.automata.rules.moves import Actions, actions_of
from explorer.automata.rules.network import network_of
from explorer.automata.rules.pieces import lay_rules
from explorer.automata.stacks.single import SingleStack
from explorer.budget import Meter
from explorer.languages.constraint import Constraint
from explorer.languages.grammar.functions import grammar
from tests.languages.grammar.earley import Earley, Productions, as_gbnf

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


def test_the_oracle_can_fail() -> None:
    other = {**BLANKS, "more": [(), ("w", "+", "term", "more")]}
    assert differences(BLANKS, grammar(as_gbnf(other)), "x+() ", 4) > 0
