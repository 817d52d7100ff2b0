"""Any executor of `concurrent.futures`, and a pool of processes of our own.

Threads share the setup; to other processes it travels as bytes, with each batch, and is unpacked
once in each (`explorer.sweeps.worker`). A pool of our own is made with ``spawn``: a process that
was forked from one that runs torch or numba may hang.

Where a process of our own pool dies, the batches that were in flight are lost; a new pool takes
them. Of a pool that is not ours only its owner can make a new one.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from typing import Final

from explorer.errors import ExplorerError
from explorer.sweeps.grid import SweepBatch, SweepSetup
from explorer.sweeps.places.place import Finished
from explorer.sweeps.worker import BatchResult, packed_setup, run_batch

AHEAD: Final = 2
"""How many batches there are for each worker: one that runs, and one that waits."""


class OnExecutor:
    """An executor.

    Args:
        executor: What runs the batches; it stays open.
        workers: How many of them run at a time; default as many as there are cores.
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
        except RuntimeError as error:  # It was shut down, or broke a moment ago.
            future = Future[BatchResult]()
            future.set_exception(error)
        self._flying[future] = batch

    def finished(self, seconds: float) -> Sequence[Finished]:
        """The batches that have come back; see `Place.finished`."""
        done, _ = wait(self._flying, timeout=seconds, return_when=FIRST_COMPLETED)
        found: list[Finished] = []
        broken: BaseException | None = None
        for future in done:
            batch = self._flying.pop(future)
            error = future.exception()
            if error is None:
                found.append(Finished(batch, future.result()))
                continue
            broken = error
            found.append(Finished(batch, None, str(error), True))
        if broken is not None:
            self.mend(broken)
            # The other batches that were in flight are lost with it.
            found += [Finished(batch, None, str(broken), True) for batch in self._flying.values()]
            self._flying.clear()
        return found

    def mend(self, error: BaseException) -> None:
        """Make a new executor where the old one broke.

        Args:
            error: What a batch raised that did not run.

        Raises:
            ExplorerError: It is not ours to make.
        """
        raise ExplorerError(
            f"The executor cannot go on: {str(error) or type(error).__name__}",
            remedy="Make a new one and run the sweep again: with a folder it goes on where it "
            "ended.",
            evidence={"error": type(error).__name__},
        ) from error

    def close(self) -> None:
        """Call off what has not begun; see `Place.close`."""
        for future in self._flying:
            future.cancel()
        self._flying.clear()


class OwnProcesses(OnExecutor):
    """Processes of our own.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = _pool(count)
        super().__init__(self._pool, count)

    def mend(self, error: BaseException) -> None:
        """Make a new pool where a process died; see `OnExecutor.mend`."""
        if not isinstance(error, BrokenProcessPool):
            super().mend(error)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._executor = _pool(self._count)

    def close(self) -> None:
        """End the processes; each first ends the batch that it runs."""
        super().close()
        self._pool.shutdown(wait=True, cancel_futures=True)


def _pool(count: int) -> ProcessPoolExecutor:
    threads = max(1, (os.cpu_count() or 1) // count)
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, context, initializer=_begin, initargs=(threads,))


def _begin(threads: int) -> None:
    """Begin a process: Ctrl-C is for the one that asks, and the cores are shared."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import torch

    torch.set_num_threads(threads)
