"""The protocol of a place where batches run.

A place takes batches and hands back what came of them, in any order. It holds no more than
`capacity` of them at a time: the sweep submits another one only when one has come back, so that a
million rows wait as numbers in the process that asks, and not as messages in a scheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from explorer.sweeps.grid import SweepBatch, SweepSetup
from explorer.sweeps.worker import BatchResult


@dataclass(frozen=True, eq=False)
class Finished:
    """A batch that has come back.

    Args:
        batch: The batch.
        result: Its rows; ``None`` where the place lost it, as when a worker died.
        lost: Why it was lost; empty where it was not.
        suspect: Whether the batch itself may be why it was lost.
    """

    batch: SweepBatch
    result: BatchResult | None
    lost: str = ""
    suspect: bool = False


@runtime_checkable
class Place(Protocol):
    """Where batches run."""

    @property
    def capacity(self) -> int:
        """How many batches it may hold now; at least 1."""
        ...

    def start(self, setup: SweepSetup) -> None:
        """Get ready for the batches of a setup.

        Raises:
            ExplorerError: The setup cannot be sent there.
        """
        ...

    def submit(self, batch: SweepBatch) -> None:
        """Take a batch. Does not wait for it."""
        ...

    def finished(self, seconds: float) -> Sequence[Finished]:
        """The batches that have come back since the last time.

        Args:
            seconds: How long to wait for the first one.

        Raises:
            ExplorerError: The place is gone for good.
        """
        ...

    def close(self) -> None:
        """Drop what has not come back. What a user gave stays open."""
        ...
