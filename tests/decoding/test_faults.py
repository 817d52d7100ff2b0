"""A session under fault: threads, interrupts, models that raise or answer nonsense, long runs.

Whatever happens, only errors of ours come out, nothing hangs, and what the session says afterwards
is what a session says that was never disturbed. Each test is short here and long with the marker.
"""

from __future__ import annotations

import gc
import random
import sys
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

import explorer
from explorer.decoding.models.model import Reading
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.trace import from_json
from explorer.decoding.trace.writing import to_json
from explorer.errors import ExplorerError
from explorer.vocabulary import Vocabulary
from tests.decoding.models import HashModel, hash_model

PATTERN = "((foo)+d|yes|no|é)(, ((foo)+d|yes|no|é|[12]{1,9}))*"


def session(model: Any = None, **options: Any) -> explorer.Session:
    given: dict[str, Any] = {"sampler": Sampler(1.0), "seed": 3, **options}
    return explorer.Session(model or hash_model(), explorer.regex(PATTERN), "hi", **given)


def replayed(trace: explorer.Trace) -> None:
    """The ids of a trace, stepped through in a session of its own, give the same trace."""
    fresh = session(seed=trace.seed)
    for step in trace.steps:
        assert fresh.allowed()[step.token]
        fresh.step(token=step.token)
    again = fresh.trace
    assert again.ids == trace.ids and again.text == trace.text
    for one, other in zip(again.positions, trace.positions, strict=True):
        assert (one.state, one.num_allowed) == (other.state, other.num_allowed)
        assert one.distribution == other.distribution


# --- eight threads --------------------------------------------------------------------------------


def operate(shared: explorer.Session, seed: int, rounds: int) -> list[explorer.Trace]:
    """Random operations; the traces that were seen on the way."""
    draw, seen = random.Random(seed), list[explorer.Trace]()
    own: list[explorer.Session] = [shared]
    for _ in range(rounds):
        at = draw.choice(own)
        try:
            match draw.randrange(9):
                case 0 | 1 | 2:
                    at.step()
                case 3:
                    allowed = at.allowed().nonzero()[0]
                    at.step(token=int(draw.choice(allowed.tolist())))
                case 4:
                    at.back(draw.randrange(3))
                case 5:
                    at.jump(draw.randrange(4))
                case 6:
                    own.append(at.fork(seed=draw.randrange(3)))
                    own = own[-4:]
                case 7:
                    at.forward()
                case _:
                    seen.append(at.trace)
        except ExplorerError as error:
            assert error.remedy
    return seen


def eight_threads(seed: int, rounds: int) -> None:
    shared = session()
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(operate, shared, seed + k, rounds) for k in range(8)]
        traces = [trace for run in runs for trace in run.result(timeout=300)]
    assert traces
    for trace in random.Random(seed).sample(traces, min(len(traces), 40)):
        replayed(trace)


def test_eight_threads_see_what_a_replay_sees() -> None:
    eight_threads(0, 40)


@pytest.mark.long
def test_eight_threads_for_long() -> None:
    for seed in range(30):
        eight_threads(random.randrange(2**32) + seed, 400)


# --- interrupts and models ------------------------------------------------------------------------


class FaultyModel(HashModel):
    """A model whose n-th reading goes wrong in one of many ways, or not at all."""

    def __init__(self, kind: str, at: int) -> None:
        super().__init__(hash_model().vocabulary)
        self.kind, self.at = kind, at

    def read(self, tokens: Sequence[int]) -> Reading:
        reading = super().read(tokens)
        if self.reads != self.at:
            return reading
        logits = reading.logits.clone()
        wide = len(logits)
        odd: dict[str, Any] = {
            "nan": torch.full((wide,), float("nan")),
            "one nan": logits.index_fill(0, torch.tensor([3]), float("nan")),
            "inf": torch.full((wide,), float("inf")),
            "one inf": logits.index_fill(0, torch.tensor([3]), float("inf")),
            "-inf": torch.full((wide,), -float("inf")),
            "huge": logits * 1e38,
            "narrow": logits[:5],
            "empty": logits[:0],
            "wide": torch.cat([logits, logits]),
            "rows": logits.reshape(1, -1),
            "whole numbers": logits.to(torch.int64),
            "half": logits.to(torch.float16),
            "double": logits.to(torch.float64),
            "complex": logits.to(torch.complex64),
            "numpy": logits.numpy(),
            "none": None,
        }
        if self.kind == "interrupt":
            raise KeyboardInterrupt
        if self.kind == "raises":
            raise RuntimeError("the model is out of order")
        return Reading(odd[self.kind])


KINDS = [
    "interrupt", "raises", "nan", "one nan", "inf", "one inf", "-inf", "huge", "narrow", "empty",
    "wide", "rows", "whole numbers", "half", "double", "complex", "numpy", "none",
]  # fmt: skip
# An interrupt comes out as it is; what a model raises becomes an error of ours.
FOREIGN = {"interrupt": KeyboardInterrupt, "raises": ExplorerError}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [1, 3])
def test_a_faulty_reading_is_an_error_of_ours_or_harmless(kind: str, at: int) -> None:
    made = session(FaultyModel(kind, at))
    for _ in range(2):
        try:
            trace = made.run(6)
        except (ExplorerError, FOREIGN.get(kind, ExplorerError)) as error:
            assert isinstance(error, FOREIGN.get(kind, ExplorerError))
            assert str(error) or kind == "interrupt"
        else:
            assert trace.constraint is not None
            assert from_json(to_json(trace)) == trace


@pytest.mark.parametrize("kind", ["interrupt", "raises"])
def test_an_interrupted_run_goes_on_as_if_it_had_not_been(kind: str) -> None:
    whole = session().run(8)
    for at in range(1, 9):
        made = session(FaultyModel(kind, at))
        with pytest.raises(FOREIGN[kind]):
            made.run(8)
            made.position  # noqa: B018 - It reads the model.
            pytest.fail("the model was not read so often")
        assert made.index == len(made.trace) == len(made.ids)
        assert made.trace.ids == whole.ids[: made.index]
        assert made.run(8 - made.index).ids == whole.ids


def interrupted(action: Callable[[], object], line: int) -> bool:
    """Whether an action was interrupted at the n-th line of the stepping that it runs."""
    left = line

    def interrupt(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if "decoding/stepping" not in frame.f_code.co_filename:
            return None
        left -= event == "line"
        if left == 0:
            raise KeyboardInterrupt
        return interrupt

    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize(
    ("action", "every"),
    [
        (lambda made: made.step(), 1),
        (lambda made: made.step(token=int(made.allowed().nonzero()[0][-1])), 1),
        (lambda made: made.back(), 1),
        (lambda made: made.forward(), 1),
        (lambda made: made.jump(0), 1),
        (lambda made: made.fork().step(), 2),
        (lambda made: made.edit(constraint=explorer.regex("[a-z]*")), 7),
    ],
    ids=["step", "choose", "back", "forward", "jump", "fork", "edit"],
)
def test_an_interrupt_at_any_line_leaves_a_whole_session(action: Any, every: int) -> None:
    whole = session().run(8)
    line = 0
    for line in range(1, 10_000, every):
        made = session()
        made.run(4)
        made.back(2)
        assert len(made.trace) == 2  # Kept, until the session moves.
        done = not interrupted(lambda made=made: action(made), line)
        assert made.trace.ids == made.ids
        made.jump(0)
        made.run(8)
        assert made.trace.ids == made.ids
        if done:
            break
    assert line > 3
    assert session().run(8) == whole


def test_threads_that_wait_for_a_failing_model_go_on() -> None:
    made = session(FaultyModel("raises", 2))
    errors: list[BaseException] = []

    def step() -> None:
        try:
            made.step()
        except ExplorerError as error:
            errors.append(error)

    threads = [threading.Thread(target=step) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert made.trace.ids == made.ids


# --- long runs ------------------------------------------------------------------------------------


def growth(steps: int) -> list[int]:
    """The memory of a session after each quarter of a run, in bytes."""
    vocabulary = Vocabulary.from_bytes([b"foo", b"d", b"yes", "é".encode(), None], eos_ids=[4])
    made = explorer.Session(
        HashModel(vocabulary), explorer.regex("(foo|d|yes|é)*"), sampler=Sampler(1.0)
    )
    taken: list[int] = []
    tracemalloc.start()
    try:
        for k in range(steps):
            made.step(token=k % 4)
            if (k + 1) % (steps // 4) == 0:
                gc.collect()
                taken.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    return taken


def check_growth(steps: int) -> None:
    taken = growth(steps)
    grown = np.diff(taken)
    # As much for each further quarter: nothing that a step keeps grows with the run.
    assert grown.max() < 1.25 * grown.min(), taken
    assert taken[-1] < 8_000 * steps, taken


def test_memory_grows_by_the_step_and_no_more() -> None:
    check_growth(800)


@pytest.mark.long
def test_memory_over_five_thousand_steps() -> None:
    check_growth(5_000)
