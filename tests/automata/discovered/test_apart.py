"""A machine to ask questions of: it has the same states, and leaves no trace where it came from."""

from __future__ import annotations

import random

import pytest

import explorer
from explorer import any_tokens, literal, regex
from explorer.alphabet import TOKEN_END
from explorer.automata.discovered.discover import discover, discover_limits
from explorer.automata.discovered.discovered import Discovered, apart
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.languages.constraint import Constraint

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
        # What both had met before has the same rows, up to the numbers of what each met since.
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
