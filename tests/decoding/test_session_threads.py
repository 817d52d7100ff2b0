"""Threads share a session, and leave it whole."""

from __future__ import annotations

import threading
from typing import Any

from explorer.analysis.session import Session
from explorer.decoding.trace.records import Step
from tests.decoding.models import hash_model, language_model
from tests.decoding.sessions import LOOSE, Endless, session


def in_threads(work: Any, count: int = 8) -> None:
    """Run it in threads at once and raise what any of them raised."""
    faults: list[BaseException] = []
    start = threading.Barrier(count)

    def body(k: int) -> None:
        try:
            start.wait()
            work(k)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=body, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def test_eight_threads_share_a_real_model() -> None:
    model = language_model("llama")
    alone = [Session(model, None, "yes", sampler=LOOSE, seed=k).run(12).ids for k in range(8)]
    found: dict[int, tuple[int, ...]] = {}

    def work(k: int) -> None:
        found[k] = Session(model, None, "yes", sampler=LOOSE, seed=k).run(12).ids

    in_threads(work)
    assert [found[k] for k in range(8)] == alone


def test_of_many_requests_for_one_sight_one_is_served() -> None:
    made = session()
    seen = made.generation
    served: list[Step] = []

    def work(_: int) -> None:
        with made.request(seen) as fresh:
            if fresh:
                served.append(made.step())

    in_threads(work)
    assert len(served) == made.index == 1


def test_a_run_stops_when_another_thread_moves_the_cursor() -> None:
    made = Session(Endless(hash_model().vocabulary), None, sampler=LOOSE)
    moved = threading.Event()
    waiting = threading.Event()

    def until(step: Step) -> bool:
        if step.index == 4:
            waiting.set()
            moved.wait(10)
        return False

    runner = threading.Thread(target=lambda: made.run(100, until=until))
    runner.start()
    assert waiting.wait(10)
    made.jump(1)
    moved.set()
    runner.join(10)
    assert not runner.is_alive()
    assert (made.index, made.length) == (1, 5)
