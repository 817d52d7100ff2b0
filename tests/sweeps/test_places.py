"""Places of batches: each gives the same rows as this process, each row once, whatever dies."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import ExplorerError
from explorer.sweeps.grid import SweepBatch, SweepSetup
from explorer.sweeps.places import Finished, OnDask
from explorer.sweeps.sweep import SweepProgress
from explorer.sweeps.worker import run_batch
from tests.sweeps.pools import DEADLY, dies_always, dies_once, opened

PROMPTS = [f"p{k}" for k in range(20)]
# distributed says of its calls what holds in asynchronous code.
distributed: Any = pytest.importorskip("distributed")
dask: Any = pytest.importorskip("dask")

CONSTRAINTS = {"letters": explorer.regex("[a-z]{1,9}"), "digits": explorer.regex("[0-9]{1,9}")}


def asked(where: object, prompts: Sequence[str] = PROMPTS, **more: Any) -> Any:
    given: dict[str, Any] = {"models": opened, "batch_size": 4, "max_tokens": 12} | more
    return explorer.sweep(prompts, CONSTRAINTS, where=where, **given)


def texts(done: Any) -> list[tuple[str, str]]:
    return list(zip(done.table["key"].to_pylist(), done.table["text"].to_pylist(), strict=True))


def keys_in(folder: Path) -> list[str]:
    return pq.read_table(folder, columns=["key"])["key"].to_pylist()


def test_threads_write_what_this_process_writes() -> None:
    with ThreadPoolExecutor(3) as executor:
        assert texts(asked(executor)) == texts(asked(None))
        assert executor.submit(int, "1").result() == 1  # It stays open.


@pytest.fixture(scope="module")
def here() -> list[tuple[str, str]]:
    """What this process writes, which notes nothing."""
    return texts(asked(None))


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which each process notes that it opened the model."""
    monkeypatch.setenv(DEADLY, str(tmp_path))
    return tmp_path


def test_dask_writes_what_this_process_writes(here: list[tuple[str, str]], noted: Path) -> None:
    """A cluster of threads: cheap, and with a real scheduler. Real processes are below."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as local, distributed.Client(local) as client:  # fmt: skip
        found = texts(asked(client))
    # All threads are one process: the model was opened once.
    assert [path.name for path in noted.iterdir()] == [f"opened-{os.getpid()}"]
    assert found == here


def test_own_processes_write_what_this_process_writes(
    here: list[tuple[str, str]], noted: Path
) -> None:
    done = asked(1)
    assert len(list(noted.iterdir())) == 1  # Opened once, for ten batches.
    assert texts(done) == here


class Losing:
    """A place that loses some batches, and counts how many it holds."""

    capacity = 3

    def __init__(self, times: int, suspect: bool) -> None:
        self.setup: SweepSetup | None = None
        self.waiting: list[SweepBatch] = []
        self.most = 0
        self.left = times
        self.suspect = suspect
        self.runs: list[int] = []

    def start(self, setup: SweepSetup) -> None:
        self.setup = setup

    def submit(self, batch: SweepBatch) -> None:
        self.waiting.append(batch)
        self.most = max(self.most, len(self.waiting))

    def finished(self, seconds: float) -> Sequence[Finished]:
        batch = self.waiting.pop()
        if self.left and any(row.prompt == "p3" for row in batch.rows):
            self.left -= 1
            return [Finished(batch, None, "died", self.suspect)]
        assert self.setup is not None
        self.runs.append(len(batch.rows))
        return [Finished(batch, run_batch(self.setup, batch))]

    def close(self) -> None:
        self.waiting.clear()


@pytest.mark.parametrize("suspect", [True, False])
def test_a_batch_that_is_lost_is_run_again(suspect: bool) -> None:
    place = Losing(2, suspect)
    assert texts(asked(place)) == texts(asked(None))
    assert place.runs == [4] * 10
    assert place.most == 3  # No more than the place has room for.


def test_a_batch_that_kills_its_workers_is_run_row_by_row() -> None:
    place = Losing(3, suspect=True)
    assert texts(asked(place)) == texts(asked(None))
    assert sorted(place.runs) == [1] * 4 + [4] * 9


def test_a_row_that_kills_its_workers_is_a_failure() -> None:
    done = asked(Losing(1000, suspect=True))
    failed = [row for row in done.table.to_pylist() if row["error"]]
    assert done.failed == len(failed) == 2 and len(done) == 40
    assert {row["prompt"] for row in failed} == {"p3"}
    assert "lost 3 times" in failed[0]["error"]


def test_losses_that_nobody_caused_are_not_counted() -> None:
    assert asked(Losing(20, suspect=False)).failed == 0


def test_what_cannot_travel_is_refused_at_once() -> None:
    with ProcessPoolExecutor(1) as executor, pytest.raises(ExplorerError, match="cannot be sent"):
        asked(executor, models=lambda: opened())


CRASH = """
import os, sys
import explorer
from tests.sweeps.test_places import asked, distributed

def listen(progress):
    if progress.done >= int(sys.argv[2]):
        os.kill(os.getpid(), 9)

from explorer.sweeps import sweep as module
module.ROWS_IN_PART = 8
where = distributed.Client(sys.argv[3], timeout=90) if sys.argv[3:] else None
asked(where, folder=sys.argv[1], progress=listen)
"""


def test_a_process_that_is_killed_leaves_whole_rows(tmp_path: Path) -> None:
    """Killed without warning in the middle: the next run does the rest, and no row twice."""
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CRASH), str(tmp_path), "28"], check=False
    )
    assert ran.returncode == -signal.SIGKILL
    kept = keys_in(tmp_path)
    assert 8 <= len(kept) <= 28 and len(set(kept)) == len(kept)
    rest = asked(None, folder=tmp_path)
    assert (rest.found, rest.written) == (len(kept), 40 - len(kept))
    assert sorted(keys_in(tmp_path)) == sorted(asked(None).table["key"].to_pylist())


# --- real processes that die ----------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(("model", "failed"), [(dies_once, 0), (dies_always, 2)])
@pytest.mark.usefixtures("noted")
def test_a_process_of_ours_that_dies(model: object, failed: int) -> None:
    done = asked(1, [*PROMPTS[:5], "die"], models=model, batch_size=3)
    assert (len(done), done.failed) == (12, failed)
    errors = {row["prompt"] for row in done.table.to_pylist() if row["error"]}
    assert errors == ({"die"} if failed else set())


@pytest.mark.long
def test_a_worker_of_a_cluster_is_killed_in_the_middle(tmp_path: Path) -> None:
    killed: list[int] = []
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None
    ) as local, distributed.Client(local) as client:  # fmt: skip

        def listen(progress: SweepProgress) -> None:
            if progress.done >= 20 and not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        done = asked(client, [f"p{k}" for k in range(60)], folder=tmp_path, progress=listen)
    assert killed and (len(done), done.failed) == (120, 0)
    keys = keys_in(tmp_path)
    assert len(keys) == len(set(keys)) == 120


@contextmanager
def scheduler_and_workers(port: int, workers: int = 2) -> Generator[list[subprocess.Popen[bytes]]]:
    """A scheduler, then its workers; the fixture kills all processes in the list at its end."""
    found: list[subprocess.Popen[bytes]] = []
    try:
        found.append(started("dask_scheduler", "--host", "127.0.0.1", "--port", str(port)))
        found.extend(worker(port) for _ in range(workers))
        yield found
    finally:
        for process in found:
            process.kill()
            process.wait()


def started(name: str, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{name}", *words, "--no-dashboard"],
        stderr=subprocess.DEVNULL,
    )


def worker(port: int) -> subprocess.Popen[bytes]:
    return started("dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-nanny")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_scheduler_that_dies_while_it_is_asked_leaves_the_capacity_as_it_was() -> None:
    """The number of workers is asked for without a pause, so the worker dies during a question."""
    port = free_port()
    with (
        scheduler_and_workers(port, workers=0) as running,
        # So long it waits for the dead one if a question was just asked.
        distributed.Client(f"tcp://127.0.0.1:{port}", timeout=30) as client,
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
    ):
        killer = threading.Timer(0.3, running[0].kill)
        killer.start()
        asked_for = 0
        while client.status == "running":
            place = OnDask(client)  # One that has not asked yet asks at once.
            assert place.capacity == 1
            asked_for += 1
        killer.join()
        assert asked_for > 1 and OnDask(client).capacity == 1


@pytest.mark.long
def test_two_workers_are_killed_one_after_the_other(tmp_path: Path) -> None:
    killed: list[int] = []
    port = free_port()
    with (
        scheduler_and_workers(port, workers=3) as running,
        distributed.Client(f"tcp://127.0.0.1:{port}", timeout=90) as client,
    ):
        client.wait_for_workers(3, timeout=120)

        def listen(progress: SweepProgress) -> None:
            if progress.done >= 20 + 40 * len(killed) and len(killed) < 2:
                killed.append(progress.done)
                running[len(killed)].kill()

        done = asked(client, [f"p{k}" for k in range(60)], folder=tmp_path, progress=listen)
    assert len(killed) == 2 and (len(done), done.failed) == (120, 0)
    keys = keys_in(tmp_path)
    assert len(keys) == len(set(keys)) == 120


@pytest.mark.long
def test_a_client_that_is_killed_is_resumed_on_the_same_cluster(tmp_path: Path) -> None:
    port = free_port()
    with scheduler_and_workers(port):
        address = f"tcp://127.0.0.1:{port}"
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(CRASH), str(tmp_path), "28", address],
            check=False,
        )  # fmt: skip
        assert ran.returncode == -signal.SIGKILL
        kept = keys_in(tmp_path)
        assert 8 <= len(kept) < 40 and len(set(kept)) == len(kept)
        with distributed.Client(address, timeout=90) as client:
            rest = asked(client, folder=tmp_path)
    assert (rest.found, rest.written) == (len(kept), 40 - len(kept))
    assert sorted(keys_in(tmp_path)) == sorted(asked(None).table["key"].to_pylist())


@pytest.mark.long
def test_a_scheduler_that_does_not_come_back_loses_no_row(tmp_path: Path) -> None:
    port = free_port()
    with (
        scheduler_and_workers(port) as running,
        distributed.Client(f"tcp://127.0.0.1:{port}", timeout=20) as client,
    ):

        def listen(progress: SweepProgress) -> None:
            if progress.done >= 20:
                running[0].kill()

        with pytest.raises(ExplorerError, match="did not come back in time"):
            asked(client, folder=tmp_path, progress=listen)
    rest = asked(None, folder=tmp_path)
    assert rest.found + rest.written == 40
    assert sorted(keys_in(tmp_path)) == sorted(asked(None).table["key"].to_pylist())


@pytest.mark.long
def test_the_scheduler_is_killed_and_started_again(tmp_path: Path) -> None:
    port = free_port()
    killed: list[int] = []
    address = f"tcp://127.0.0.1:{port}"
    with (
        scheduler_and_workers(port) as running,
        distributed.Client(address, timeout=90) as client,
    ):
        client.wait_for_workers(2, timeout=120)

        def listen(progress: SweepProgress) -> None:
            if progress.done >= 20 and not killed:
                killed.append(progress.done)
                running[0].kill()
                running[0].wait()
                again = started("dask_scheduler", "--host", "127.0.0.1", "--port", str(port))
                running[0] = again
                running.extend(worker(port) for _ in range(2))

        done = asked(client, [f"p{k}" for k in range(60)], folder=tmp_path, progress=listen)
    assert killed and (len(done), done.failed) == (120, 0)
    keys = keys_in(tmp_path)
    assert len(keys) == len(set(keys)) == 120
