"""This process: batches run one after another, when their results are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from explorer.sweeps.grid import SweepBatch, SweepSetup
from explorer.sweeps.places.place import Finished
from explorer.sweeps.worker import run_batch


class Here:
    """This process."""

    def __init__(self) -> None:
        self._setup: SweepSetup | None = None
        self._waiting: deque[SweepBatch] = deque()

    @property
    def capacity(self) -> int:
        """1: a second batch would only wait."""
        return 1

    def start(self, setup: SweepSetup) -> None:
        """Get ready; see `Place.start`."""
        self._setup = setup

    def submit(self, batch: SweepBatch) -> None:
        """Take a batch; see `Place.submit`."""
        self._waiting.append(batch)

    def finished(self, seconds: float) -> Sequence[Finished]:
        """Run the next batch; see `Place.finished`."""
        if self._setup is None or not self._waiting:
            return []
        batch = self._waiting.popleft()
        return [Finished(batch, run_batch(self._setup, batch))]

    def close(self) -> None:
        """Drop what waits; see `Place.close`."""
        self._waiting.clear()
