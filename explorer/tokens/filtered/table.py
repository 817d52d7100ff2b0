"""The table of a machine that numbers its states as they are met, by exhaustion.

Two kinds of machines have such a table. Behind a rule (`explorer.tokens.filtered.rules`) a table
stays one: the product is made class by class, states that can no longer finish are trimmed, and
tokens that neither distinguishes stay one class; so everything that a table supports (budgets of
tokens, masks on a device, traps) works for the filtered one. And a machine of finitely many short
texts, such as one behind the canonical filter, is visited in all of its states: a token budget
needs the fewest tokens to the end from each.

Cost: for a product, the reachable pairs of a state of the table and one of the rule, some
milliseconds for the constraints of the benchmarks; otherwise one mask for each state
and one step for each of its tokens, 1 ms for a few words.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Int32, whole_table
from explorer.automata.words import is_finite
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.languages.constraint import Constraint
from explorer.tokens.closed_form.assemble import (
    Table,
    distances_of,
    empty_table,
    reached_from_start,
)
from explorer.tokens.filtered.machine import FilteredMachine, nothing_left
from explorer.tokens.filtered.rules import REFUSED, TokenRule
from explorer.tokens.filtered.trimmed import WrittenSoFar
from explorer.tokens.machine import TokenMachine, TokenTable, filtered_of
from explorer.tokens.token_dfa import TokenDFA
from explorer.tokens.words import DEAD, DEAD_CLASS, DONE, EOS_CLASS, NUM_FIXED_CLASSES

STAGE: Final = "Filtering the tokens"

MOST_STATES: Final = 512
MOST_STEPS: Final = 20_000
MOST: Final = Budget(states=MOST_STATES, arcs=MOST_STEPS, seconds=float("inf"))
"""Limits of `visited_whole`; a larger machine gets no table. They are counts and not seconds, so
that the load of the computer does not decide whether a budget takes part in a mask."""

P = TypeVar("P", bound=Hashable)


def exhausted(
    start: P, ways: Callable[[P], Iterable[tuple[int, P]]], meter: Meter, row_bytes: int = 0
) -> dict[P, dict[int, P]]:
    """The rows of all reachable places, in breadth-first order.

    Args:
        ways: The columns that lead on from a place, each with the place after it.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    rows: dict[P, dict[int, P]] = {start: {}}
    waiting = [start]
    for place in waiting:  # The list grows while it is read.
        for column, target in ways(place):
            rows[place][column] = target
            if target not in rows:
                rows[target] = {}
                waiting.append(target)
                meter.check(STAGE, states=len(rows), bytes=row_bytes * len(rows))
    return rows


def after_each(machine: TokenMachine, state: int) -> Iterator[tuple[int, int]]:
    """The tokens of text that a state allows, and the state after each."""
    ends = machine.vocabulary.eos_ids
    allowed: list[int] = np.flatnonzero(machine.allowed(state)).tolist()
    for token in allowed:
        if token not in ends and (target := machine.step(state, token)) is not None:
            yield token, target


def filtered_table(
    machine: TokenTable, rule: TokenRule, constraint: Constraint, meter: Meter
) -> TokenDFA:
    """The product of a table and a rule, trimmed.

    Raises:
        IncompatibleVocabulary: Nothing is left.
        BudgetExceeded: A limit was reached.
    """
    began = perf_counter()
    class_of, sample = _classes(machine, rule)
    columns = machine.token_class[sample]
    kinds = rule.kind_of[sample]

    def ways(place: tuple[int, int]) -> Iterable[tuple[int, tuple[int, int]]]:
        targets, following = machine.table[place[0]][columns], rule.table[place[1]][kinds]
        allowed = np.flatnonzero((targets >= 0) & (following != REFUSED))
        there = zip(targets[allowed].tolist(), following[allowed].tolist(), strict=True)
        return zip((allowed + NUM_FIXED_CLASSES).tolist(), there, strict=True)

    width = NUM_FIXED_CLASSES + len(sample)
    rows = exhausted((0, 0), ways, meter, 8 * width)
    number = {place: k for k, place in enumerate(rows)}
    table = np.full((len(rows), width), DEAD, np.int64)
    table[machine.accepting[[before for before, _ in rows]], EOS_CLASS] = DONE
    for row, there in zip(table, rows.values(), strict=True):
        row[[*there]] = [number[place] for place in there.values()]
    distance = distances_of(table)
    if distance[0] == 0:
        raise nothing_left(machine, rule)
    # States that cannot finish are dropped, then those that only they led to.
    kept = np.flatnonzero(distance > 0)
    table = _only(table, kept)
    reached = np.flatnonzero(reached_from_start(table))  # Ascending, so the start stays 0.
    table = _only(table, reached)
    kept = kept[reached]
    places = [*rows]
    order = [places[int(k)] for k in kept]
    used = (table != DEAD).any(axis=0)
    token_class = np.where(used[class_of], class_of, DEAD_CLASS)
    token_class[list(machine.vocabulary.eos_ids)] = EOS_CLASS
    states = np.array([before for before, _ in order], np.int32)
    numbered = [(before, WrittenSoFar(0, (ruled,))) for before, ruled in order]
    report = machine.report
    packed, classes = _packed(table, token_class)
    return TokenDFA(
        constraint=constraint,
        vocabulary=machine.vocabulary,
        table=packed,
        token_class=classes,
        char_state=machine.char_state[states],
        accepting=machine.accepting[states],
        distance=distance[kept],
        stuck=machine.stuck,
        report=replace(
            report,
            milliseconds={**report.milliseconds, rule.name: 1e3 * (perf_counter() - began)},
            method=f"{report.method}, then {rule.name}",
            token_states=len(table),
            token_classes=table.shape[1],
            live_tokens=int((token_class != DEAD_CLASS).sum()),
        ),
        filtered=FilteredMachine(machine, rule, meter.budget, numbered, constraint),
    )


def visited_whole(machine: TokenMachine) -> TokenDFA | None:
    """The table of a machine whose states can all be met; the states keep their numbers.

    Args:
        machine: A machine that numbers its states as it meets them.

    Returns:
        The table; ``None`` where the texts are infinitely many, where there are more than
        `MOST_STATES` states or `MOST_STEPS` ways on, or where a search took too long.

    Example:
        >>> import explorer
        >>> lm = explorer.load_model("tiny")
        >>> cities = explorer.choice([" Rome", " Paris"]).canonical()
        >>> whole = visited_whole(explorer.compile(cities, lm.vocabulary))
        >>> int(whole.distance[whole.start])  # One token and the end.
        2
    """
    characters, constraint = whole_table(machine.byte_machine), machine.constraint
    if constraint is None or characters is None or not is_finite(characters):
        return None
    ends, meter = machine.vocabulary.eos_ids, Meter(MOST)
    steps = 0

    def ways(state: int) -> Iterable[tuple[int, int]]:
        nonlocal steps
        steps += int(np.count_nonzero(machine.allowed(state)))
        meter.check(STAGE, arcs=steps)
        return after_each(machine, state)

    try:
        rows = exhausted(machine.start, ways, meter)
    except BudgetExceeded:
        return None
    used = sorted({token for row in rows.values() for token in row})
    place = {token: k for k, token in enumerate(used)}
    # States that were met before on other paths but are not reachable here have no arcs.
    columns = np.full((machine.num_states, len(used)), DEAD, np.int64)
    fixed = np.full((machine.num_states, NUM_FIXED_CLASSES), DEAD, np.int64)
    for state, row in rows.items():
        columns[state, [place[token] for token in row]] = [*row.values()]
        if machine.is_final(state):
            fixed[state, EOS_CLASS] = DONE
    # Tokens with equal columns are one class.
    different, numbers = np.unique(columns, axis=1, return_inverse=True)
    token_class = np.full(len(machine.vocabulary), DEAD_CLASS, np.int32)
    token_class[used] = NUM_FIXED_CLASSES + numbers.ravel()
    token_class[list(ends)] = EOS_CLASS
    table = np.concatenate([fixed, different], axis=1)
    states = range(machine.num_states)
    packed, classes = _packed(table, token_class)
    return TokenDFA(
        constraint=constraint,
        vocabulary=machine.vocabulary,
        table=packed,
        token_class=classes,
        char_state=np.array([machine.byte_state(state) for state in states], np.int32),
        accepting=fixed[:, EOS_CLASS] == DONE,
        distance=distances_of(table),
        stuck=np.zeros(0, np.int32),
        report=machine.report,
        filtered=filtered_of(machine),
    )


def _packed(
    table: NDArray[np.int64], token_class: Int32
) -> tuple[Table, NDArray[np.uint16] | Int32]:
    """A table and the class of each token, in as few bytes as they take."""
    packed = empty_table(*table.shape)
    packed[:] = table
    return packed, token_class.astype(np.uint16) if table.shape[1] <= 2**16 else token_class


def _only(table: NDArray[np.int64], kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """The restriction of a table to some of its states, renumbered in their order."""
    number = np.full(len(table) + 1, DEAD, np.int64)
    number[kept] = np.arange(len(kept))
    return np.where(table >= 0, number[np.maximum(table, 0)], table)[kept]


def _classes(machine: TokenTable, rule: TokenRule) -> tuple[Int32, Int32]:
    """The class of each token in the product, and a token of each class after the fixed ones."""
    live = machine.token_class >= NUM_FIXED_CLASSES
    key = machine.token_class.astype(np.int64) * rule.table.shape[1] + rule.kind_of
    _, sample, numbers = np.unique(key[live], return_index=True, return_inverse=True)
    class_of = np.full(len(key), DEAD_CLASS, np.int32)
    class_of[live] = numbers + NUM_FIXED_CLASSES
    return class_of, np.flatnonzero(live)[sample].astype(np.int32)
