"""The places where the batches of a sweep run: one protocol, and a class for each kind of place.

A place accepts batches and returns their results in any order. It holds at most `capacity` of them
at a time: the sweep submits another only when one has come back, so that a million rows wait as
numbers in the submitting process and not as messages in a scheduler.

`OnExecutor` runs on any executor of `concurrent.futures`, `OwnProcesses` on a pool of our own.
Threads share the setup; processes receive it as bytes with each batch, and each unpacks it once
(`explorer.sweeps.worker`). Our own pool uses ``spawn``: a process forked from one that runs torch
or numba may hang. If a process of our pool dies, the batches in flight are lost and go to a new
pool. A user's broken pool can be replaced only by the user.

`OnDask` runs batches as tasks of a Dask cluster. The setup is a task too, and not scattered data: a
worker that joins later fetches it from another worker, and if all workers that hold it die, the
scheduler computes it again. If a worker dies, the scheduler gives its batch to another worker, and
after a few deaths reports that the batch kills workers (`KilledWorker`), which counts as a loss.

If the scheduler goes away, everything in flight is lost, but no finished result. The client tries
to reconnect for as long as its own ``timeout`` allows; after that the lost batches are submitted
again.

Objects are pickled between the processes of the cluster, as always in Dask: run one only where
Dask's own documentation says that it is safe.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Protocol, runtime_checkable
from uuid import uuid4

from explorer.arguments import plain, whole_number, wrong
from explorer.errors import ExplorerError
from explorer.sweeps.folder import library
from explorer.sweeps.grid import SweepBatch, SweepSetup
from explorer.sweeps.worker import BatchResult, packed_setup, run_batch


@dataclass(frozen=True, eq=False)
class Finished:
    """A batch that has come back, finished or lost.

    Args:
        result: Its rows; ``None`` if the place lost it, for example because a worker died.
        lost: The reason for the loss; empty otherwise.
        suspect: Whether the batch itself may have caused the loss.
    """

    batch: SweepBatch
    result: BatchResult | None
    lost: str = ""
    suspect: bool = False


@runtime_checkable
class Place(Protocol):
    """A place where batches run."""

    @property
    def capacity(self) -> int:
        """The most batches that it can hold at present; at least 1."""
        ...

    def start(self, setup: SweepSetup) -> None:
        """Prepare for the batches of a setup.

        Raises:
            ExplorerError: The setup cannot be sent to the place.
        """
        ...

    def submit(self, batch: SweepBatch) -> None:
        """Accept a batch, without waiting for its result."""
        ...

    def finished(self, seconds: float) -> Sequence[Finished]:
        """The batches that have come back since the last call.

        Args:
            seconds: The time to wait for the first one.

        Raises:
            ExplorerError: The place cannot continue.
        """
        ...

    def close(self) -> None:
        """Drop the outstanding batches. A user's executor or client stays open."""
        ...


class Here:
    """The place that runs batches in this process."""

    def __init__(self) -> None:
        self._setup: SweepSetup | None = None
        self._waiting: deque[SweepBatch] = deque()

    @property
    def capacity(self) -> int:
        """1: a second batch would only wait."""
        return 1

    def start(self, setup: SweepSetup) -> None:
        """Keep the setup; see `Place.start`."""
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
        """Drop the waiting batches; see `Place.close`."""
        self._waiting.clear()


AHEAD: Final = 2
"""The batches per worker: one running and one waiting."""


class OnExecutor:
    """The place that runs batches on an executor of `concurrent.futures`.

    Args:
        executor: The executor; it stays open.
        workers: The number of batches that run at a time; by default the number of cores.
    """

    def __init__(self, executor: Executor, workers: int | None = None) -> None:
        self._executor = executor
        self._capacity = AHEAD * (workers or os.cpu_count() or 1)
        self._flying: dict[Future[BatchResult], SweepBatch] = {}
        self._setup: SweepSetup | bytes = b""

    @property
    def capacity(self) -> int:
        """Two batches for each worker."""
        return self._capacity

    def start(self, setup: SweepSetup) -> None:
        """Pack the setup; see `Place.start`."""
        threads = isinstance(self._executor, ThreadPoolExecutor)
        self._setup = setup if threads else packed_setup(setup)

    def submit(self, batch: SweepBatch) -> None:
        """Take a batch; see `Place.submit`."""
        try:
            future = self._executor.submit(run_batch, self._setup, batch)
        except RuntimeError as error:  # It was shut down or has just broken.
            future = Future[BatchResult]()
            future.set_exception(error)
        self._flying[future] = batch

    def finished(self, seconds: float) -> Sequence[Finished]:
        """The batches that have come back; see `Place.finished`."""
        done, _ = wait(self._flying, timeout=seconds, return_when=FIRST_COMPLETED)
        back: list[Finished] = []
        broken: BaseException | None = None
        for future in done:
            batch = self._flying.pop(future)
            error = future.exception()
            if error is None:
                back.append(Finished(batch, future.result()))
                continue
            broken = error
            back.append(Finished(batch, None, str(error), True))
        if broken is not None:
            self.mend(broken)
            # The other batches that were in flight are lost with it.
            back += [Finished(batch, None, str(broken), True) for batch in self._flying.values()]
            self._flying.clear()
        return back

    def mend(self, error: BaseException) -> None:
        """Replace a broken executor.

        Raises:
            ExplorerError: The executor is the user's, who alone can replace it.
        """
        raise ExplorerError(
            f"The executor cannot go on: {str(error) or type(error).__name__}",
            remedy="Make a new one and run the sweep again: with a folder it goes on where it "
            "ended.",
            evidence={"error": type(error).__name__},
        ) from error

    def close(self) -> None:
        """Cancel the batches that have not begun; see `Place.close`."""
        for future in self._flying:
            future.cancel()
        self._flying.clear()


class OwnProcesses(OnExecutor):
    """The place that runs batches on a pool of our own processes."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = _pool(count)
        super().__init__(self._pool, count)

    def mend(self, error: BaseException) -> None:
        """Make a new pool if a process died; see `OnExecutor.mend`."""
        if not isinstance(error, BrokenProcessPool):
            super().mend(error)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._executor = _pool(self._count)

    def close(self) -> None:
        """End the processes; each finishes its running batch first."""
        super().close()
        self._pool.shutdown(wait=True, cancel_futures=True)


def _pool(count: int) -> ProcessPoolExecutor:
    threads = max(1, (os.cpu_count() or 1) // count)
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, context, initializer=_begin, initargs=(threads,))


def _begin(threads: int) -> None:
    """Prepare a worker process: ignore Ctrl-C, and use only its share of the cores."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import torch

    torch.set_num_threads(threads)


LOOK: Final = 2.0
"""The seconds for which the number of workers is cached."""


class OnDask:
    """The place that runs batches on a Dask cluster.

    Args:
        client: A connected `distributed.Client`; it stays open.
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
            except OSError:  # The connection was lost; `CommClosedError` is an OSError too.
                return self._capacity
            self._capacity = max(1, AHEAD * threads)
        return self._capacity

    def start(self, setup: SweepSetup) -> None:
        """Submit the setup as a task; see `Place.start`."""
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
        done: list[Finished] = []
        for key, (future, batch) in list(self._flying.items()):
            if future.status == "pending":
                continue
            finished = self._result(future, batch)
            if finished is not None:
                del self._flying[key]
                future.release()
                done.append(finished)
        return done

    def _result(self, future: Any, batch: SweepBatch) -> Finished | None:
        """The result of a batch; ``None`` if it cannot be fetched at present."""
        if future.status == "finished":
            try:
                return Finished(batch, future.result(timeout=30))
            except Exception:  # Its worker died: it is computed again or fetched later.
                return None
        if future.status == "error":
            error = future.exception()
            return Finished(batch, None, f"{type(error).__name__}: {error}", True)
        return None if self._gone() else Finished(batch, None, f"it was {future.status}", False)

    def _gone(self) -> bool:
        """Whether the scheduler is disconnected or has lost our setup."""
        if self._client.status != "running":
            return True
        return self._setup.status in ("lost", "cancelled")

    def _again(self) -> Sequence[Finished]:
        """Wait until the scheduler is connected again; return all batches in flight as lost."""
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
        """Cancel the outstanding batches; see `Place.close`."""
        futures = [future for future, _ in self._flying.values()]
        self._flying.clear()
        if futures and self._client.status == "running":
            self._client.cancel(futures)
        self._setup = None


MOST_PROCESSES: Final = 1024


def place_for(where: object) -> Place:
    """The place for a user's argument ``where``.

    Args:
        where: ``None`` for this process, a number of processes, an executor of
            `concurrent.futures`, a `distributed.Client`, or a place of the user's own.

    Raises:
        ExplorerError: The argument has another type.

    Example:
        >>> place_for(None).capacity
        1
    """
    if where is None:
        return Here()
    where = plain(where)
    if isinstance(where, int) and not isinstance(where, bool):
        return OwnProcesses(whole_number("where", where, 1, MOST_PROCESSES))
    # A Dask client can exist only if its module has been imported.
    dask: Any = sys.modules.get("distributed")
    if dask is not None and isinstance(where, dask.Client):
        return OnDask(where)
    if isinstance(where, Executor):
        return OnExecutor(where)
    if isinstance(where, Place):
        return where
    raise wrong("where", where, "None, a number of processes, an executor or a Dask client")
