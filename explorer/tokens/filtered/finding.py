"""The search for an end: whether what was written can be completed canonically.

A filter can leave dead ends that the machine without it does not have: after ``Ber`` of the choice
"Berlin" only ``lin`` is left, and the tokenizer never writes the two. So before a token is
allowed, a way to the end is looked for, nearest states first. Every state on a way that was found
can finish; where nothing new can be reached, none of the states that were met can. Both are kept.

The last token is part of a state, so a wide row has as many targets as tokens. They are decided
together: the first token of a way for one of them is a witness for all whose last token it fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from explorer.budget import Meter
from explorer.tokens.filtered.token_filter import Group, Int64, TokenFilter, WrittenSoFar
from explorer.tokens.kept import Kept
from explorer.tokens.machine import TokenMachine, table_of
from explorer.vocabulary.canonical.marked import Int32
from explorer.vocabulary.canonical.merges import Bool

STAGE: Final = "The search for a canonical end"

Place = tuple[int, WrittenSoFar]
"""A state of the machine without the filter, and what was written."""

_END: Final = -1
_FIRST_CHUNK: Final = 16


class FilteredEnds:
    """The places that can finish. Not thread-safe: its owner holds a lock.

    Args:
        machine: The machine without the filter.
        rules: The filter.
    """

    def __init__(self, machine: TokenMachine, rules: TokenFilter) -> None:
        self._machine = machine
        self._filter = rules
        self._table = table_of(machine)
        self._eos = np.array(machine.vocabulary.eos_ids, np.int64)
        # For each place the first token of a way to the end, `_END` where it is one; or None.
        self._ways: dict[Place, int | None] = {}
        self._orders: Kept[int, Int32] = Kept()

    def candidates(self, state: int) -> Int32:
        """The tokens of text that the machine without the filter allows, and that may be used."""
        row = self._machine.allowed(state) & self._filter.usable
        row[self._eos] = False
        return np.flatnonzero(row).astype(np.int32)

    def targets(self, state: int, tokens: Int32) -> Int64:
        """Where tokens lead that the machine without the filter allows."""
        if self._table is not None:
            row = self._table.table[state]
            return row[self._table.token_class[tokens]].astype(np.int64)
        found = [self._machine.step(state, token) for token in tokens.tolist()]
        return np.array([-1 if target is None else target for target in found], np.int64)

    def is_end(self, place: Place) -> bool:
        """Whether the text may end here."""
        return self._machine.is_final(place[0]) and self._filter.may_end(place[1])

    def can_finish(self, place: Place, meter: Meter) -> bool:
        """Whether some tokens lead to an end.

        Raises:
            BudgetExceeded: The search reached a limit before it found out.
        """
        if place not in self._ways:
            self._search(place, meter)
        return self._ways[place] is not None

    def able(
        self, state: int, group: Group, written: WrittenSoFar, last: Int32, meter: Meter
    ) -> Bool:
        """`can_finish` of places that differ only in what counts of the last token.

        Args:
            state: Their state of the machine without the filter.
            group: What their last tokens lead to.
            written: The tokens before those.
            last: int32[n], the last tokens.
            meter: Watches the searches.

        Returns:
            bool[n].
        """
        able = np.zeros(len(last), np.bool_)
        left = np.arange(len(last))
        while len(left):
            token = int(last[left[0]])
            here = self._filter.state(written, token, group)
            if not self.can_finish((state, here), meter):
                left = left[1:]
                continue
            way = self._way((state, here))
            if way is None:
                able[left[0]] = True
                left = left[1:]
                continue
            if not way:  # Whether it ends does not depend on the last token.
                able[left] = True
                break
            suits = self._filter.suits(written, last[left], here, way)
            suits[0] = True
            able[left[suits]] = True
            left = left[~suits]
        return able

    def _way(self, place: Place) -> list[int] | None:
        """The way to the end from a place that has one, as far as it tells; ``None``: too long."""
        way: list[int] = []
        while (token := self._ways.get(place)) is not None and token != _END:
            way.append(token)
            if self._filter.reach == 1:
                break
            target = self._machine.step(place[0], token)
            written = self._filter.after(place[1], token)
            if target is None or written is None or len(way) == self._filter.reach:
                return None
            place = (target, written)
        return way

    def _search(self, start: Place, meter: Meter) -> None:
        if self.is_end(start):
            self._ways[start] = _END
            return
        met = {start}
        path = [(start, self._following(start))]
        while path:
            following = path[-1][1]
            for token, place in following:
                known = self._ways.get(place, _END if self.is_end(place) else None)
                if known is not None:
                    self._ways[place] = known
                    self._keep(path, token)
                    return
                if place not in met and place not in self._ways:
                    met.add(place)
                    meter.check(STAGE, states=len(self._ways) + len(met))
                    path.append((place, self._following(place)))
                    break
            else:
                path.pop()
        self._ways.update(dict.fromkeys(met))

    def _keep(self, path: list[tuple[Place, Iterator[tuple[int, Place]]]], token: int) -> None:
        """Remember that every place of a path can finish, and how."""
        for place, _ in reversed(path):
            self._ways[place] = token
            token = place[1].last

    def _following(self, place: Place) -> Iterator[tuple[int, Place]]:
        """The tokens that may come next with where they lead, those nearest to the end first."""
        state, written = place
        tokens = self._nearest_first(state)
        at, size = 0, _FIRST_CHUNK
        while at < len(tokens):
            chunk = tokens[at : at + size]
            at, size = at + size, 4 * size
            groups, group_of = self._filter.following(written, chunk)
            for k in np.flatnonzero(group_of >= 0).tolist():
                token = int(chunk[k])
                target = self._machine.step(state, token)
                if target is not None and target >= 0:
                    after = self._filter.state(written, token, groups[int(group_of[k])])
                    yield token, (target, after)

    def _nearest_first(self, state: int) -> Int32:
        """The candidates of a state in the order in which they are tried."""
        order = self._orders.get(state)
        if order is None:
            tokens = self.candidates(state)
            if self._table is not None:
                far = self._table.distance[self.targets(state, tokens)]
            else:
                far = self._filter.lengths[tokens]
            order = tokens[np.argsort(far, kind="stable")]
            self._orders.put(state, order, order.nbytes)
        return order
