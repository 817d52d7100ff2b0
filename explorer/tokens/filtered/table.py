"""A token table filtered by a small machine over tokens: again a token table.

A *rule* reads tokens by kinds, few of them, and refuses some. The product of the table and the rule
is worked out whole, what can no longer finish is trimmed, and tokens that neither tells apart stay
one class. So everything that a table can do (budgets of tokens, masks on a device, traps) can be
done with the filtered one.

Cost: the states of the table times those of the rule, of which only what is reached is made; some
milliseconds for the constraints of the benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Int32
from explorer.automata.words import shortest_word
from explorer.budget import Meter
from explorer.errors import IncompatibleVocabulary
from explorer.languages.constraint import Constraint
from explorer.tokens.closed_form.assemble import empty_table
from explorer.tokens.machine import Refusal, TokenMachine
from explorer.tokens.masks.needed import distances_of
from explorer.tokens.states import DEAD, DEAD_CLASS, DONE, EOS_CLASS, NUM_FIXED_CLASSES
from explorer.tokens.token_dfa import TokenDFA

STAGE: Final = "Filtering the tokens"

REFUSED: Final = -1
"""In a rule: the token is refused."""


@dataclass(frozen=True, eq=False)
class TokenRule:
    """A small machine over kinds of tokens; every state may end.

    Args:
        name: The name of the filter, for explanations.
        kind_of: int32[ids], the kind of each token.
        table: int32[states, kinds], the next state or `REFUSED`; 0 is the start.
        instead: From a state and a token that it refuses to the bytes of the tokens that would be
            written in place of it.
    """

    name: str
    kind_of: Int32
    table: Int32
    instead: Callable[[int, int], tuple[bytes, ...]] = field(repr=False)

    def refused_later(
        self, machine: TokenMachine, target: int | None, state: int, token: int
    ) -> Refusal:
        """Why a token is masked that the rule reads: it refuses whatever could follow.

        Args:
            machine: The machine without the rule.
            target: The machine's state after the token.
            state: The state of the rule before it.
            token: The token.

        Returns:
            The refusal, with what would be written in place of it and the longest token that the
            machine goes on with, where the rule refuses that at once.
        """
        following = int(self.table[state, self.kind_of[token]])
        if target is None or target < 0 or following == REFUSED:
            return Refusal(self.name, ())
        ways = machine.allowed(target) & (self.table[following][self.kind_of] == REFUSED)
        refused: list[int] = np.flatnonzero(ways).tolist()
        if not refused:
            return Refusal(self.name, ())
        longest = max(refused, key=lambda one: len(machine.vocabulary.tokens[one] or b""))
        return Refusal(self.name, self.instead(following, longest))


@dataclass(frozen=True, eq=False)
class FilteredTable(TokenDFA):
    """A token table behind a rule; made by `filtered_table`.

    Args:
        unfiltered: The table without the rule.
        rule: The rule.
        places: int32[num_states, 2], the states of both that each state stands for.
    """

    unfiltered: TokenDFA | None = field(default=None, repr=False)
    rule: TokenRule | None = field(default=None, repr=False)
    places: Int32 | None = field(default=None, repr=False)

    def refusal(self, state: int, token: int) -> Refusal | None:
        """Why the rule masks a token that the table without it allows; else ``None``.

        Args:
            state: A state or a sentinel.
            token: A token id.
        """
        if state < 0 or self.unfiltered is None or self.rule is None or self.places is None:
            return None
        if self.step(state, token) is not None:
            return None
        before, ruled = self.places[state].tolist()
        deeper = self.unfiltered
        if deeper.step(before, token) is None:
            found = deeper.refusal(before, token) if isinstance(deeper, FilteredTable) else None
            return found
        if self.rule.table[ruled, self.rule.kind_of[token]] == REFUSED:
            return Refusal(self.rule.name, self.rule.instead(ruled, token))
        target = deeper.step(before, token)
        return self.rule.refused_later(deeper, target, ruled, token)

    def save(self, path: str | Path) -> None:
        """Write the table without the rule and the constraint with it to one file.

        Args:
            path: The file; `explorer.tokens.filtered.apply.load_filtered` reads it.
        """
        machine: TokenDFA = self
        while isinstance(machine, FilteredTable) and machine.unfiltered is not None:
            machine = machine.unfiltered
        machine.of_constraint(self.constraint).save(path)

    def __reduce__(self) -> tuple[object, ...]:
        machine, rule = cast("TokenDFA", self.unfiltered), cast("TokenRule", self.rule)
        return _filtered_anew, (machine, replace(rule, instead=unknown_spelling), self.constraint)


def unknown_spelling(state: int, token: int) -> tuple[bytes, ...]:
    """The other spelling, after a machine has travelled to another process: not known there."""
    return ()


def _filtered_anew(machine: TokenDFA, rule: TokenRule, constraint: Constraint) -> TokenDFA:
    return filtered_table(machine, rule, constraint, Meter())


def filtered_table(
    machine: TokenDFA, rule: TokenRule, constraint: Constraint, meter: Meter
) -> FilteredTable:
    """The product of a table and a rule, trimmed.

    Args:
        machine: The table.
        rule: The rule.
        constraint: The constraint with all its stages.
        meter: Watches every limit.

    Raises:
        IncompatibleVocabulary: Nothing is left.
        BudgetExceeded: A limit was reached.
    """
    began = perf_counter()
    old_class, sample = _classes(machine, rule)
    num_classes = len(sample)
    columns = machine.token_class[sample]
    kinds = rule.kind_of[sample]
    places: dict[tuple[int, int], int] = {(0, 0): 0}
    waiting = [(0, 0)]
    rows: list[NDArray[np.int64]] = []
    for before, ruled in waiting:
        targets = machine.table[before][columns].astype(np.int64)
        following = rule.table[ruled][kinds]
        row = np.full(NUM_FIXED_CLASSES + num_classes, DEAD, np.int64)
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
        raise _nothing_left(machine, rule)
    kept = np.flatnonzero(distance > 0)
    # What cannot finish is taken out; then what only it led to is no longer reached.
    number = np.full(len(table) + 1, DEAD, np.int64)
    number[kept] = np.arange(len(kept))
    table = np.where(table >= 0, number[np.maximum(table, 0)], table)[kept]
    reached = _reached(table)
    renumber = np.full(len(table) + 1, DEAD, np.int64)
    renumber[reached] = np.arange(len(reached))
    table = np.where(table >= 0, renumber[np.maximum(table, 0)], table)[reached]
    order = np.array(list(places), np.int32)[kept][reached]
    packed = empty_table(*table.shape)
    packed[:] = table
    used = (table != DEAD).any(axis=0)
    token_class = np.where(used[old_class], old_class, DEAD_CLASS)
    token_class[list(machine.vocabulary.eos_ids)] = EOS_CLASS
    small = table.shape[1] <= 2**16
    report = machine.report
    return FilteredTable(
        constraint=constraint,
        vocabulary=machine.vocabulary,
        table=packed,
        token_class=token_class.astype(np.uint16) if small else token_class,
        char_state=machine.char_state[order[:, 0]],
        accepting=machine.accepting[order[:, 0]],
        distance=distance[kept][reached],
        stuck=machine.stuck,
        report=replace(
            report,
            milliseconds={**report.milliseconds, rule.name: 1e3 * (perf_counter() - began)},
            token_states=len(table),
            token_classes=table.shape[1],
            live_tokens=int((token_class != DEAD_CLASS).sum()),
        ),
        unfiltered=machine,
        rule=rule,
        places=order,
    )


def _classes(machine: TokenDFA, rule: TokenRule) -> tuple[Int32, Int32]:
    """The class of each token in the product, and a token of each class after the fixed ones."""
    live = machine.token_class >= NUM_FIXED_CLASSES
    key = machine.token_class.astype(np.int64) * rule.table.shape[1] + rule.kind_of
    _, sample, numbers = np.unique(key[live], return_index=True, return_inverse=True)
    found = np.full(len(key), DEAD_CLASS, np.int32)
    found[live] = numbers + NUM_FIXED_CLASSES
    return found, np.flatnonzero(live)[sample].astype(np.int32)


def _reached(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """The states that the start leads to, ascending, so that the start stays 0."""
    found = np.zeros(len(table), np.bool_)
    frontier = np.zeros(1, np.int64)
    while len(frontier):
        found[frontier] = True
        targets = np.unique(table[frontier])
        frontier = targets[(targets >= 0) & ~found[np.maximum(targets, 0)]]
    return np.flatnonzero(found)


def _nothing_left(machine: TokenDFA, rule: TokenRule) -> IncompatibleVocabulary:
    word = shortest_word(machine.byte_machine)
    return IncompatibleVocabulary(
        f"The {rule.name} filter leaves no spelling of any text. A shortest text is "
        f"{word.decode(errors='backslashreplace')!r}.",
        witness=word,
        offset=0,
        remedy="Leave the stage out, or allow texts that can be written without such tokens.",
    )
