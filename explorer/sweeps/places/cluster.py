"""A cluster of Dask: batches are its tasks, on as many machines as it has.

The setup is a task as well, not data that was handed out: a worker that joins later fetches it from
another one, and if all that have it die, the scheduler makes it again. A worker's death is the
scheduler's business: it gives the batch to another worker, and after a few deaths says that the
batch kills workers (`KilledWorker`), which counts as a loss.

If the scheduler goes away, everything in flight is lost, and nothing that has come back. The client
looks for it as long as its own ``timeout`` says; when it is there again, with workers, what was
lost is submitted again.

Objects are pickled between the processes of the cluster, as Dask does it anyway: run one only where
its own documentation says that it is safe.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from itertools import count
from typing import Any, Final
from uuid import uuid4

from explorer.errors import ExplorerError
from explorer.sweeps.arrow import library
from explorer.sweeps.grid import SweepBatch, SweepSetup
from explorer.sweeps.places.place import Finished
from explorer.sweeps.places.pool import AHEAD
from explorer.sweeps.worker import packed_setup, run_batch

LOOK: Final = 2.0
"""How many seconds the number of workers is taken for known."""


class OnDask:
    """A Dask cluster.

    Args:
        client: A `distributed.Client` that is connected; it stays open.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._dask = library("distributed", "A cluster")
        self._payload = b""
        self._setup: Any = None
        self._name = ""
        self._numbers = count()
        self._flying: dict[str, tuple[Any, SweepBatch]] = {}
        self._capacity, self._looked = 1, 0.0

    @property
    def capacity(self) -> int:
        """Two batches for each thread of each worker; workers may come and go."""
        if time.monotonic() - self._looked >= LOOK and self._client.status == "running":
            self._looked = time.monotonic()
            try:
                threads = sum(self._client.nthreads().values())
            except OSError:  # It went away just now. `CommClosedError` of the comms is one too.
                return self._capacity
            self._capacity = max(1, AHEAD * threads)
        return self._capacity

    def start(self, setup: SweepSetup) -> None:
        """Hand over the setup; see `Place.start`."""
        self._payload = packed_setup(setup)
        self._hand_over()

    def _hand_over(self) -> None:
        self._name = f"sweep-{uuid4().hex[:12]}"
        self._setup = self._client.submit(bytes, self._payload, key=f"{self._name}-setup")

    def submit(self, batch: SweepBatch) -> None:
        """Take a batch; see `Place.submit`."""
        key = f"{self._name}-{next(self._numbers)}"
        future = self._client.submit(run_batch, self._setup, batch, key=key, pure=False)
        self._flying[key] = future, batch

    def finished(self, seconds: float) -> Sequence[Finished]:
        """The batches that have come back; see `Place.finished`."""
        if self._gone():
            return self._again()
        waited = [future for future, _ in self._flying.values()]
        if waited and not any(future.done() for future in waited):
            with contextlib.suppress(
                TimeoutError, self._dask.TimeoutError, self._dask.CancelledError
            ):
                self._dask.wait(waited, timeout=seconds, return_when="FIRST_COMPLETED")
        found: list[Finished] = []
        for key, (future, batch) in list(self._flying.items()):
            if future.status == "pending":
                continue
            back = self._result(future, batch)
            if back is not None:
                del self._flying[key]
                future.release()
                found.append(back)
        return found

    def _result(self, future: Any, batch: SweepBatch) -> Finished | None:
        """The result of a batch; ``None`` if it is not known now."""
        if future.status == "finished":
            try:
                return Finished(batch, future.result(timeout=30))
            except Exception:  # The worker that had it died: it is made again, or asked for later.
                return None
        if future.status == "error":
            error = future.exception()
            return Finished(batch, None, f"{type(error).__name__}: {error}", True)
        return None if self._gone() else Finished(batch, None, f"it was {future.status}", False)

    def _gone(self) -> bool:
        """Whether the scheduler has forgotten us."""
        if self._client.status != "running":
            return True
        return self._setup.status in ("lost", "cancelled")

    def _again(self) -> Sequence[Finished]:
        """Wait until the scheduler is there again; everything in flight is lost."""
        while self._client.status != "running":
            if self._client.status in ("closed", "closing"):
                raise ExplorerError(
                    "The Dask scheduler went away and did not come back in time.",
                    remedy="Connect a new client, with a larger timeout if it needs longer, and "
                    "run the sweep again: with a folder it goes on where it ended.",
                )
            time.sleep(0.1)
        lost = [Finished(batch, None, "the scheduler", False) for _, batch in self._flying.values()]
        self._flying.clear()
        self._hand_over()
        return lost

    def close(self) -> None:
        """Call off what has not come back; see `Place.close`."""
        futures = [future for future, _ in self._flying.values()]
        self._flying.clear()
        if futures and self._client.status == "running":
            self._client.cancel(futures)
        self._setup = None
