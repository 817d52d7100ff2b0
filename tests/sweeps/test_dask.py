"""On Dask a sweep gives the same rows as in this process, each once, whatever dies."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import ExplorerError
from tests.sweeps.pools import DEADLY, dies_always, dies_once, opened

PROMPTS = [f"p{k}" for k in range(20)]
# distributed says of its calls what holds in asynchronous code.
distributed: Any = pytest.importorskip("distributed")

CONSTRAINTS = {"letters": explorer.regex("[a-z]{1,9}"), "digits": explorer.regex("[0-9]{1,9}")}


def asked(where: object, prompts: Sequence[str] = PROMPTS, **more: Any) -> Any:
    given: dict[str, Any] = {"models": opened, "batch_size": 4, "max_tokens": 12} | more
    return explorer.sweep(prompts, CONSTRAINTS, where=where, **given)


def texts(done: Any) -> list[tuple[str, str]]:
    return list(zip(done.table["key"].to_pylist(), done.table["text"].to_pylist(), strict=True))


def keys_in(folder: Path) -> list[str]:
    return pq.read_table(folder, columns=["key"])["key"].to_pylist()


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


def test_what_cannot_travel_is_refused_at_once() -> None:
    with pytest.raises(ExplorerError, match="cannot be sent"):
        asked(1, models=lambda: opened())


CRASH = """
import os, sys
import explorer
from tests.sweeps.test_dask import asked, distributed

def listen(done, total):
    if done >= int(sys.argv[2]):
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
@pytest.mark.parametrize(("model", "failed"), [(dies_once, 0), (dies_always, 1)])
@pytest.mark.usefixtures("noted")
def test_a_row_that_kills_its_worker_is_a_failure(model: object, failed: int) -> None:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as local, distributed.Client(local) as client:  # fmt: skip
        local.scheduler.allowed_failures = 1  # So that few processes have to die.
        given: Any = {"models": model, "where": client, "max_tokens": 4}
        done = explorer.sweep(["a", "die"], CONSTRAINTS["letters"], **given)
    errors = {row["prompt"]: row["error"] for row in done.table.to_pylist()}
    assert (len(done), done.failed, errors["a"]) == (2, failed, None)
    assert not failed or "worker that ran the row died" in errors["die"]


@pytest.mark.long
def test_a_worker_of_a_cluster_is_killed_in_the_middle(tmp_path: Path) -> None:
    killed: list[int] = []
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None
    ) as local, distributed.Client(local) as client:  # fmt: skip

        def listen(finished: int, _: int) -> None:
            if finished >= 20 and not killed:
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

        def listen(finished: int, _: int) -> None:
            if finished >= 20:
                running[0].kill()

        with pytest.raises(ExplorerError, match="scheduler went away"):
            asked(client, folder=tmp_path, progress=listen)
    rest = asked(None, folder=tmp_path)
    assert rest.found + rest.written == 40
    assert sorted(keys_in(tmp_path)) == sorted(asked(None).table["key"].to_pylist())
