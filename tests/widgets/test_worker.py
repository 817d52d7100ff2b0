"""The worker with real processes. Nothing here waits for a time, only for events."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import explorer
from explorer import Budget, Constraint, Vocabulary
from explorer.errors import (
    BudgetExceeded,
    EmptyConstraint,
    ExplorerError,
    IncompatibleVocabulary,
    RegexError,
)
from explorer.languages.sources import registry
from explorer.languages.sources.imported import Imported
from explorer.tokens.lazy import LazyMachine
from explorer.tokens.machine import TokenMachine
from tests.evidence import few
from widgets import kinds
from widgets.compiling.worker import CallOff, CompileWorker
from widgets.dialogue.later import CalledOff
from widgets.kinds import register_kind

ROOT = Path(__file__).resolve().parents[2]
TOY = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
BUDGET = Budget(seconds=60)
LONG = ("regex", "(?!(f|o)*f(f|o){23}$)[fo]*")
"""Sixteen million states before there is any machine: minutes."""
LARGE = Budget(states=10**9, arcs=10**12, bytes=10**11, seconds=3600)
EXACT = ("table", "token_class", "char_state", "accepting", "distance", "stuck")


def wait_until(true: Callable[[], bool]) -> None:
    while not true():  # The time limit of the test is the only one.
        time.sleep(0.01)


def gone(pid: int) -> bool:
    """Whether a process has ended; one that only waits to be reaped has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.fixture
def worker() -> Iterator[CompileWorker]:
    made = CompileWorker()
    made.warm().join()
    assert made.unavailable == ""
    yield made
    made.close()


def begin(
    worker: CompileWorker, question: tuple[str, str], off: CallOff
) -> tuple[threading.Thread, list[Exception]]:
    """Compile on a thread; the error that it raised."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            worker.compile(question, TOY, LARGE, off)
        except ExplorerError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy(pid: int) -> None:
    """Wait until the process is deep in its work."""
    begun = processor_seconds(pid)
    wait_until(lambda: processor_seconds(pid) > begun + 0.2)


@pytest.mark.parametrize(
    "question",
    [
        ("regex", "(foo)+d"),
        ("choices", "foo\nfood"),
        explorer.regex("(foo)+d") - explorer.literal("foofood"),
        Constraint(Imported("from_fsm", explorer.regex("f+").dfa)),
    ],
    ids=str,
)
def test_it_is_what_is_compiled_here(
    worker: CompileWorker, question: tuple[str, str] | Constraint
) -> None:
    found = worker.compile(question, TOY, BUDGET)
    made = kinds.constraint_of_kind(*question) if isinstance(question, tuple) else question
    wanted = explorer.compile(made, TOY)
    for name in EXACT:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    assert found.vocabulary.fingerprint == TOY.fingerprint
    assert str(found.constraint) == str(made)
    told, known = found.report.to_dict(), wanted.report.to_dict()
    timed = ("milliseconds", "total_milliseconds")
    assert {k: v for k, v in told.items() if k not in timed} == {
        k: v for k, v in known.items() if k not in timed
    }
    assert set(found.report.milliseconds) == set(wanted.report.milliseconds)
    assert found.report.total_milliseconds > 0


def test_a_large_vocabulary_goes_over_once(
    worker: CompileWorker, tekken_131k: Vocabulary, sentencepiece_32k: Vocabulary
) -> None:
    pid = worker.pid
    other = Vocabulary.from_bytes([b"f", b"o", b"d"], eos_ids=[3])
    # Three are kept, so the last one has to be sent again.
    for vocabulary in (tekken_131k, sentencepiece_32k, TOY, other, tekken_131k):
        found = worker.compile(("regex", "fo+d"), vocabulary, BUDGET)
        wanted = explorer.compile(explorer.regex("fo+d"), vocabulary)
        assert isinstance(found, explorer.TokenDFA)
        np.testing.assert_array_equal(found.table, wanted.table)
        np.testing.assert_array_equal(found.token_class, wanted.token_class)
    assert worker.pid == pid


def test_errors_arrive_whole(worker: CompileWorker) -> None:
    with pytest.raises(RegexError) as wrong:
        worker.compile(("regex", "fo(o"), TOY, BUDGET)
    assert (wrong.value.start, wrong.value.end, wrong.value.pattern) == (2, 3, "fo(o")
    assert "fo(o\n  ^" in str(wrong.value)
    with pytest.raises(BudgetExceeded) as large:
        worker.compile(("regex", "(f|o)*f(f|o){14}"), TOY, Budget(states=2))
    assert (large.value.resource, large.value.limit) == ("states", 2)
    assert large.value.reached > 2
    assert "Budget(states=" in large.value.remedy
    with pytest.raises(IncompatibleVocabulary) as unwritten:
        worker.compile(("regex", "fox"), TOY, BUDGET)
    assert (unwritten.value.witness, unwritten.value.offset) == (b"fox", 1)
    with pytest.raises(EmptyConstraint):
        worker.compile(("regex", "f$f"), TOY, BUDGET)
    # None of them cost the process.
    assert worker.compile(("regex", "foo"), TOY, BUDGET).num_states > 0


def test_past_the_budget_of_a_table_it_is_lazy_and_says_so_as_compile_does(
    worker: CompileWorker,
) -> None:
    first, text, budget = worker.pid, "(f|o)*f(f|o){14}", Budget(states=1000)
    found = worker.compile(("regex", text), TOY, budget)
    wanted: TokenMachine = explorer.compile(explorer.regex(text), TOY, budget)
    assert isinstance(found, LazyMachine) and isinstance(wanted, LazyMachine)
    assert found.vocabulary is TOY
    assert found.report.reason == wanted.report.reason != ""
    for token in (0, 1, 2, 0):
        assert found.allowed(found.start).tolist() == wanted.allowed(wanted.start).tolist()
        assert found.step(found.start, token) == wanted.step(wanted.start, token)
    assert worker.pid == first


def test_a_table_that_is_large_gives_way_to_the_lazy_machine(worker: CompileWorker) -> None:
    first, budget = worker.pid, Budget(seconds=7, states=10**8, arcs=10**10, bytes=10**10)
    found = worker.compile(("regex", "(f|o)*f(f|o){25}"), TOY, budget)
    assert isinstance(found, LazyMachine)
    assert "over 30,000 states" in found.report.reason
    assert found.allowed(found.start).any()
    assert worker.pid == first


def test_an_error_of_ours_brings_its_traceback(worker: CompileWorker) -> None:
    with pytest.raises(AttributeError) as broken:
        worker.compile(("choices", 7), TOY, BUDGET)  # type: ignore[arg-type]
    assert "widgets/compiling/worker_process.py" in "".join(broken.value.__notes__)


def test_calling_off_kills_and_the_next_one_works(worker: CompileWorker) -> None:
    first = worker.pid
    assert first is not None
    off = CallOff()
    thread, raised = begin(worker, LONG, off)
    busy(first)
    off.call()
    thread.join()
    assert [type(error) for error in raised] == [CalledOff]
    assert gone(first)
    assert worker.compile(("regex", "(foo)+d"), TOY, BUDGET).num_states == 4
    assert worker.pid not in (None, first)


@pytest.mark.long
def test_who_waits_can_be_called_off_and_kills_nobody(worker: CompileWorker) -> None:
    first = worker.pid
    assert first is not None
    running, waiting = CallOff(), CallOff()
    thread, _ = begin(worker, LONG, running)
    busy(first)
    second, raised = begin(worker, ("regex", "foo"), waiting)
    waiting.call()
    second.join()
    assert [type(error) for error in raised] == [CalledOff]
    assert thread.is_alive()
    assert not gone(first)
    running.call()
    thread.join()


def test_what_is_done_within_the_grace_keeps_its_process(worker: CompileWorker) -> None:
    first = worker.pid
    off = CallOff()
    off.call(grace=3600)
    with pytest.raises(CalledOff):
        worker.compile(("regex", "foo"), TOY, BUDGET, off)
    assert worker.compile(("regex", "food"), TOY, BUDGET).num_states > 0
    assert worker.pid == first


def test_the_wall_limit_ends_what_no_budget_covers() -> None:
    worker = CompileWorker(margin=0.05)
    worker.warm(TOY).join()
    first = worker.pid
    assert first is not None
    # Reading thirty million characters takes long, and a meter begins after it.
    with pytest.raises(BudgetExceeded) as late:
        worker.compile(("choices", "foo\n" * 8_000_000), TOY, Budget(seconds=0.05))
    assert (late.value.resource, late.value.limit) == ("seconds", 0.05)
    assert late.value.reached >= 0.1
    assert late.value.remedy
    assert gone(first)
    assert worker.compile(("regex", "foo"), TOY, BUDGET).num_states > 0
    worker.close()


def test_a_process_that_breaks_down_is_told_of_and_replaced(worker: CompileWorker) -> None:
    first = worker.pid
    assert first is not None
    thread, raised = begin(worker, LONG, CallOff())
    busy(first)
    os.kill(first, 11)
    thread.join()
    assert "SIGSEGV" in str(raised[0])
    assert worker.compile(("regex", "foo"), TOY, BUDGET).num_states > 0


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is set on Linux only")
def test_too_much_memory_is_an_error_of_the_child(worker: CompileWorker) -> None:
    small = Budget(states=10**9, arcs=10**12, bytes=10**7, seconds=600)
    many = "\n".join(f"{'foo' * 40}{k}" for k in range(400_000))
    with pytest.raises(ExplorerError, match="more memory than its process may take"):
        worker.compile(("choices", many), TOY, small)


def test_a_kind_of_the_notebook_is_built_here(worker: CompileWorker) -> None:
    built_in: list[int] = []

    def doubled(text: str) -> Constraint:
        built_in.append(os.getpid())
        return explorer.literal(text + text)

    register_kind("doubled", doubled)
    try:
        found = worker.compile(("doubled", "foo"), TOY, BUDGET)
    finally:
        registry.forget("doubled")
    assert built_in == [os.getpid()]
    assert found.constraint is not None
    assert found.constraint.accepts("foofoo")


class Own(Constraint):
    """A constraint of a class that only the notebook has."""


Own.__module__ = "__main__"


class Unsendable(Constraint):
    """A constraint that cannot be written down."""

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("no")


@pytest.mark.parametrize("kind", [Own, Unsendable])
def test_what_cannot_travel_is_compiled_here(worker: CompileWorker, kind: type[Constraint]) -> None:
    made = kind(explorer.regex("(foo)+d").source)
    found = worker.compile(made, TOY, BUDGET)
    assert found.constraint is made
    assert found.num_states == 4


def test_without_processes_it_is_compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    worker = CompileWorker()
    assert worker.compile(("regex", "(foo)+d"), TOY, BUDGET).num_states == 4
    assert "/nowhere/python" in worker.unavailable
    assert worker.pid is None
    lazy = worker.compile(("regex", "(f|o)*f(f|o){14}"), TOY, Budget(states=1000))
    assert isinstance(lazy, LazyMachine) and lazy.report.reason
    worker.close()


def test_a_process_that_ends_at_once_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    worker = CompileWorker()
    assert worker.compile(("regex", "foo"), TOY, BUDGET).num_states > 0
    assert "No module named" in worker.unavailable
    worker.close()


def test_closing_ends_the_process(worker: CompileWorker) -> None:
    pid = worker.pid
    assert pid is not None
    worker.close()
    assert gone(pid)
    assert worker.compile(("regex", "foo"), TOY, BUDGET).num_states > 0  # Here.
    assert worker.pid is None


PARENT = """
import sys, threading
sys.path.insert(0, {root!r})
from explorer import Budget, Vocabulary
from widgets.compiling.worker import CompileWorker
toy = Vocabulary.from_bytes([b"f", b"oo"], eos_ids=[2])
worker = CompileWorker()
worker.warm(toy).join()
print(worker.pid, flush=True)
large = Budget(states=10**9, arcs=10**12, bytes=10**11, seconds=3600)
if sys.argv[1] == "compiling":
    job = ({long!r}, toy, large)
    threading.Thread(target=worker.compile, args=job, daemon=True).start()
if sys.stdin.readline() == "leave\\n":
    sys.exit()
threading.Event().wait()
"""


@pytest.mark.parametrize("way", few(["killed", "leave"], 1))
@pytest.mark.parametrize("state", ["idle", "compiling"])
def test_no_orphan_is_left(way: str, state: str, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT.format(root=str(ROOT), long=LONG), state],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdin is not None
        pid = parent.stdout.readline()
        assert not gone(int(pid))
        if state == "compiling":
            busy(int(pid))
            assert list(tmp_path.glob("explorer-*"))  # Where the answer would go.
        if way == "leave":
            parent.stdin.write("leave\n")
            parent.stdin.flush()
        else:
            parent.kill()
        parent.wait()
    wait_until(lambda: gone(int(pid)))
    wait_until(lambda: not list(tmp_path.iterdir()))


def test_a_fork_of_the_kernel_leaves_the_process_alone(worker: CompileWorker) -> None:
    first = worker.pid
    child = os.fork()
    if child == 0:
        forgot = worker.pid is None
        worker.close()
        os._exit(0 if forgot else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert worker.compile(("regex", "foo"), TOY, BUDGET).num_states > 0
    assert worker.pid == first


LOADED = """
import sys
import widgets.compiling.worker_process
widgets.compiling.worker_process._warm()
print(*sorted({name.split('.')[0] for name in sys.modules}))
"""


def test_the_process_loads_no_heavy_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = set(done.stdout.split())
    assert "numba" in loaded
    assert loaded.isdisjoint({"torch", "transformers", "IPython", "ipykernel", "anywidget"})
    assert loaded.isdisjoint({"plotly", "ipywidgets", "jupyterlab", "graphviz"})
