"""The table of a machine that works its states out as they are met, by exhaustion.

Two machines have such a table. Behind a rule (`explorer.tokens.filtered.rules`) a table stays one:
the product is made class by class, what can no longer finish is trimmed, and tokens that neither
tells apart stay one class; so everything that a table can do (budgets of tokens, masks on a device,
traps) can be done with the filtered one. And a machine of finitely many short texts, such as one
behind the canonical filter, is asked for all of its states: a token budget needs the fewest tokens
to the end from every one.

Cost: of a product, the states of the table times those of the rule, of which only what is reached
is made, some milliseconds for the constraints of the benchmarks; otherwise one mask for each state
and one step for each of its tokens, 1 ms for a few words.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Dfa, Int32
from explorer.automata.words import is_finite
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.languages.constraint import Constraint
from explorer.tokens.closed_form.assemble import Table, distances_of, empty_table
from explorer.tokens.filtered.machine import FilteredMachine, nothing_left
from explorer.tokens.filtered.rules import REFUSED, TokenRule
from explorer.tokens.filtered.trimmed import WrittenSoFar
from explorer.tokens.machine import TokenMachine, TokenTable, filtered_of
from explorer.tokens.states import DEAD, DEAD_CLASS, DONE, EOS_CLASS, NUM_FIXED_CLASSES
from explorer.tokens.token_dfa import TokenDFA

STAGE: Final = "Filtering the tokens"

MOST_STATES: Final = 512
MOST_STEPS: Final = 20_000
"""Limits of `visited_whole`; a machine with more keeps to what it knows. They are counts, so that
it does not depend on how busy a computer is whether a budget takes part in a mask."""


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
    places: dict[tuple[int, int], int] = {(0, 0): 0}
    waiting: list[tuple[int, int]] = [(0, 0)]
    rows: list[NDArray[np.int64]] = []
    for before, ruled in waiting:
        targets = machine.table[before][columns].astype(np.int64)
        following = rule.table[ruled][kinds]
        row = np.full(NUM_FIXED_CLASSES + len(sample), DEAD, np.int64)
        if machine.accepting[before]:
            row[EOS_CLASS] = DONE
        for column in np.flatnonzero((targets >= 0) & (following != REFUSED)).tolist():
            place = int(targets[column]), int(following[column])
            if place not in places:
                places[place] = len(places)
                waiting.append(place)
            row[NUM_FIXED_CLASSES + column] = places[place]
        rows.append(row)
        meter.check(STAGE, states=len(places), bytes=len(places) * row.nbytes)
    table = np.stack(rows)
    distance = distances_of(table)
    if distance[0] == 0:
        raise nothing_left(machine, rule)
    # What cannot finish is taken out; then what only it led to is no longer reached.
    kept = np.flatnonzero(distance > 0)
    table = _only(table, kept)
    reached = _reached(table)
    table = _only(table, reached)
    kept = kept[reached]
    order = [waiting[int(k)] for k in kept]
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
    """The table of a machine all of whose states can be met; the states keep their numbers.

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
    characters, constraint = machine.byte_machine, machine.constraint
    if constraint is None or not isinstance(characters, Dfa) or not is_finite(characters):
        return None
    rows: dict[int, dict[int, int]] = {}
    waiting, steps = [machine.start], 0
    met = {machine.start}
    try:
        for state in waiting:
            allowed = np.flatnonzero(machine.allowed(state)).tolist()
            steps += len(allowed)
            if steps > MOST_STEPS:
                return None
            row = rows[state] = {}
            for token in allowed:
                target = machine.step(state, token)
                if target is None:
                    continue
                row[token] = target
                if target >= 0 and target not in met:
                    met.add(target)
                    waiting.append(target)
                    if len(met) > MOST_STATES:
                        return None
    except BudgetExceeded:
        return None
    ends = machine.vocabulary.eos_ids
    used = sorted({token for row in rows.values() for token in row if token not in ends})
    place = {token: k for k, token in enumerate(used)}
    # States that were met before, by another way in, have no way on here that counts.
    columns = np.full((machine.num_states, len(used)), DEAD, np.int64)
    fixed = np.full((machine.num_states, NUM_FIXED_CLASSES), DEAD, np.int64)
    for state, row in rows.items():
        for token, target in row.items():
            if token in ends:
                fixed[state, EOS_CLASS] = DONE
            else:
                columns[state, place[token]] = target
    # Tokens that no state tells apart are one class.
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
    """A table of some of its states, numbered anew in their order."""
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


def _reached(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """The states that the start leads to, ascending, so that the start stays 0."""
    reached = np.zeros(len(table), np.bool_)
    frontier = np.zeros(1, np.int64)
    while len(frontier):
        reached[frontier] = True
        targets = np.unique(table[frontier])
        frontier = targets[(targets >= 0) & ~reached[np.maximum(targets, 0)]]
    return np.flatnonzero(reached)
