"""Packed masks on a device, of the states that were visited: for machines without a table.

A table goes to the device whole. A machine that works its states out as they are met has no table,
so its masks follow one by one: a mask is uploaded when a row of a batch first stands in its state,
16 kB at 131,072 tokens, and stays there for the next visit. The memory has a bound; where it is
full, everything is forgotten at once, which costs an upload per state that is visited again.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.errors import ExplorerError
from explorer.tokens.kept import MOST_BYTES
from explorer.tokens.machine import TokenMachine, planner_of
from explorer.tokens.masks.needed import NO_BUDGET, UNLIMITED
from explorer.tokens.masks.packed_on_device import unpacked
from explorer.tokens.words import UInt32, num_words

Place = tuple[int, int, int]
"""The number of a machine in its batch, a state of it, and how many tokens may still be written."""


def mask_in_time(machine: TokenMachine, state: int, remaining: int) -> UInt32:
    """The mask of a state of a machine without a table, under a token budget.

    Args:
        machine: The machine.
        state: A state of it.
        remaining: How many tokens may still be written; `UNLIMITED` for no limit.

    Raises:
        ExplorerError: The budget is one that could be reached, and the machine does not know how
            many tokens its texts still take.
    """
    if remaining >= NO_BUDGET:
        return machine.mask(state)
    planner = planner_of(machine)
    if planner is not None:
        return planner.mask_within(state, remaining)
    raise ExplorerError(
        f"remaining={remaining} takes part in the mask, which needs the fewest tokens to the "
        "end from every state. A machine without a table does not know them.",
        remedy="Compile the constraint to a table (lazy=False, with a budget that is large "
        "enough), or give no budget.",
        evidence={"remaining": remaining},
    )


class VisitedMasks:
    """The masks of visited states.

    Args:
        machines: The machines of a batch, by their numbers.
        num_tokens: The width of the vocabulary.
        device: Where the masks go.
    """

    def __init__(
        self, machines: Sequence[TokenMachine], num_tokens: int, device: torch.device
    ) -> None:
        self._machines = machines
        self._width = num_words(num_tokens)
        self._most = max(1, MOST_BYTES // (4 * self._width))
        self._rows: dict[Place, int] = {}
        self._words = torch.zeros((0, self._width), dtype=torch.int32, device=device)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self._words.numel() * self._words.element_size()

    def allowed(self, places: Sequence[Place], width: int) -> Tensor:
        """The masks of some places.

        Args:
            places: A machine, a state of it and its budget (`UNLIMITED` for none), one for each
                row.
            width: How many columns to give; at most the vocabulary.

        Returns:
            bool[len(places), width] on the device.
        """
        places = [self._as_kept(place) for place in places]
        fresh = list(dict.fromkeys(place for place in places if place not in self._rows))
        if len(self._rows) + len(fresh) > self._most:
            self._rows.clear()
            places = [self._as_kept(place) for place in places]
        fresh = list(dict.fromkeys(places))
        if fresh:
            self._add(fresh)
        device = self._words.device
        rows = torch.tensor([self._rows[place] for place in places], device=device)
        return unpacked(self._words[rows], width)

    def _as_kept(self, place: Place) -> Place:
        """The same place without its budget, where that removes nothing."""
        which, state, remaining = place
        if remaining == UNLIMITED:
            return place
        machine = self._machines[which]
        whole = mask_in_time(machine, state, remaining) is machine.mask(state)
        return (which, state, UNLIMITED) if whole else place

    def _add(self, places: Sequence[Place]) -> None:
        first = len(self._rows)
        needed = first + len(places)
        if needed > len(self._words):
            room = max(needed, min(2 * len(self._words), self._most))
            larger = torch.zeros((room, self._width), dtype=torch.int32, device=self._words.device)
            larger[:first] = self._words[:first]
            self._words = larger
        masks = [
            mask_in_time(self._machines[which], state, remaining).view("i4")
            for which, state, remaining in places
        ]
        for row, (place, mask) in enumerate(zip(places, masks, strict=True), first):
            host = torch.from_numpy(mask.copy())  # pyright: ignore[reportUnknownMemberType]
            self._words[row].copy_(host)
            self._rows[place] = row
