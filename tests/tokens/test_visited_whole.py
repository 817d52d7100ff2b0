"""A machine of few texts visited whole: its table is the one that the closed form has."""

from __future__ import annotations

import numpy as np
import pytest

import explorer
from explorer.tokens.filtered.table import MOST_STATES, visited_whole
from explorer.tokens.machine import TokenMachine, TokenTable
from explorer.tokens.token_dfa import TokenDFA

VOCABULARY = explorer.load_model("tiny").vocabulary

FEW = [
    explorer.choice([" Rome", " Paris", " Paris and Rome"]),
    explorer.regex("(ab|abc|bc){1,3}"),
    explorer.regex("[0-9]{1,2}:[0-5][0-9]"),
]


def beside(found: TokenTable, table: TokenDFA) -> int:
    """Walk both machines together and compare them in every pair of states; how many there are."""
    waiting, met = [(found.start, table.start)], {(found.start, table.start)}
    for one, other in waiting:
        assert found.distance[one] == table.distance[other] == found.distance_to_end(one)
        assert np.array_equal(found.allowed(one), table.allowed(other))
        reached = found.table[one][found.token_class] >= 0
        for token in np.flatnonzero(reached).tolist():
            target, theirs = found.step(one, token), table.step(other, token)
            assert target == found.table[one, found.token_class[token]]
            assert target is not None and theirs is not None
            pair = target, theirs
            if pair not in met:
                met.add(pair)
                waiting.append(pair)
    return len(met)


@pytest.mark.parametrize("constraint", FEW, ids=str)
def test_the_table_is_that_of_the_closed_form(constraint: explorer.Constraint) -> None:
    table = explorer.compile(constraint, VOCABULARY)
    lazy = explorer.compile(constraint, VOCABULARY, lazy=True)
    found = visited_whole(lazy)
    assert found is not None and isinstance(found, TokenTable) and isinstance(table, TokenDFA)
    assert beside(found, table) == found.num_states >= table.num_states
    assert np.array_equal(found.char_state >= 0, np.ones(found.num_states, np.bool_))


def fewest(machine: TokenMachine, state: int) -> int:
    """The fewest tokens to the end, by trying every sequence level by level."""
    level, steps = {state}, 0
    while True:
        steps += 1
        if any(machine.is_final(one) for one in level):
            return steps
        level = {
            after
            for one in level
            for token in np.flatnonzero(machine.allowed(one)).tolist()
            if (after := machine.step(one, token)) is not None
        }


def test_distances_behind_a_filter() -> None:
    constraint = explorer.choice([" the cat", " 17", "a b"]).canonical()
    machine = explorer.compile(constraint, VOCABULARY)
    found = visited_whole(machine)
    assert found is not None
    for state in range(found.num_states):
        assert found.distance[state] == fewest(machine, state)


@pytest.mark.parametrize(
    "constraint",
    [
        explorer.regex("[a-z]+").canonical(),
        explorer.regex("[a-z]{8}").canonical(),
        explorer.grammar('root ::= "(" root ")" | "x"'),
        explorer.choice([f"{number:05d}" for number in range(0, 99999, 7)]).canonical(),
    ],
    ids=["endless", "wide", "grammar", "many"],
)
def test_what_is_large_or_endless_is_left(constraint: explorer.Constraint) -> None:
    machine = explorer.compile(constraint, VOCABULARY)
    assert visited_whole(machine) is None
    assert machine.num_states <= MOST_STATES + 1
