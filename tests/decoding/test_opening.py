"""Models are opened one at a time and once; a caller that gives up leaves nothing half open."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.models.load import Opening, load_model
from explorer.errors import ExplorerError
from tests.decoding.models import config, tokenizer

WAIT = 60.0


def save(folder: Path, seed: int) -> Path:
    torch.manual_seed(seed)
    made = transformers.AutoModelForCausalLM.from_config(config("llama"))
    made.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def together(*tasks: Callable[[], Any]) -> list[Any]:
    """Run tasks in threads that start at the same moment; what each gives or raises."""
    barrier = threading.Barrier(len(tasks))
    results: list[Any] = [None] * len(tasks)

    def work(k: int) -> None:
        barrier.wait(WAIT)
        try:
            results[k] = tasks[k]()
        except BaseException as error:
            results[k] = error

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    return results


def test_threads_that_load_at_once(tmp_path: Path) -> None:
    """Several models, each asked for by two threads: each is opened once, and right."""
    folders = [save(tmp_path / str(k), k) for k in range(3)]
    opened = together(*[lambda f=folder: load_model(f) for folder in folders * 2])
    for k, folder in enumerate(folders):
        first, second = opened[k], opened[k + 3]
        assert isinstance(first, HuggingFaceModel), first
        assert first is second
        known = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
        with torch.no_grad():
            expected = known(torch.tensor([[5, 6]])).logits[0, -1]
        assert torch.allclose(first.read([5, 6]).logits, expected, rtol=0, atol=1e-5)


def test_an_open_model_is_given_again_until_its_files_or_the_arguments_change(
    tmp_path: Path,
) -> None:
    folder = save(tmp_path / "a", 0)
    first = load_model(folder)
    assert load_model(str(folder)) is first
    assert load_model(folder, dtype="bfloat16") is not first
    assert load_model(folder, strict=False) is not first
    (tmp_path / "link").symlink_to(folder)
    assert load_model(tmp_path / "link") is first
    path = folder / "generation_config.json"
    path.write_text(json.dumps({"eos_token_id": 2}))
    again = load_model(folder)
    assert again is not first and again.vocabulary.eos_ids == (1, 2)
    assert load_model("tiny") is load_model("tiny")


def test_a_model_that_nobody_uses_is_let_go() -> None:
    class Value:
        pass

    made: list[int] = []

    def make() -> Value:
        made.append(1)
        return Value()

    opening = Opening[Value]()
    opening.open("a", make)
    gc.collect()
    value = opening.open("a", make)
    assert opening.open("a", make) is value
    assert len(made) == 2
    opening.open("b", make, keep=True)
    gc.collect()
    opening.open("b", make)
    assert len(made) == 3


def test_a_failed_load_is_raised_to_everyone_and_tried_again(tmp_path: Path) -> None:
    folder = save(tmp_path / "a", 0)
    good = (folder / "config.json").read_text()
    (folder / "config.json").write_text("{")
    for error in together(lambda: load_model(folder), lambda: load_model(folder)):
        assert isinstance(error, ExplorerError) and "cannot be loaded" in str(error)
    (folder / "config.json").write_text(good)
    assert load_model(folder).name == "a"


class Interrupt(BaseException):
    """As a cancelled compile or Ctrl-C throws it, between any two instructions."""


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    moment = threading.Event()
    for _ in range(int(WAIT / 0.01)):
        if holds():
            return
        moment.wait(0.01)
    pytest.fail("it never came to hold")


def throw_into(thread: threading.Thread) -> None:
    assert thread.ident is not None
    thrown = ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident), ctypes.py_object(Interrupt)
    )
    assert thrown == 1


@pytest.mark.parametrize("place", ["AutoTokenizer", "AutoConfig", "AutoModelForCausalLM"])
def test_an_interrupt_in_the_middle_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """An interrupt while the library works reaches only the waiting caller."""
    folder = save(tmp_path / "a", 0)
    kind = getattr(transformers, place)
    real = kind.from_pretrained
    entered, thrown, unharmed = threading.Event(), threading.Event(), threading.Event()

    def signalling(*given: Any, **named: Any) -> Any:
        entered.set()
        thrown.wait(WAIT)
        value = real(*given, **named)
        unharmed.set()
        return value

    monkeypatch.setattr(kind, "from_pretrained", signalling)
    caught: list[BaseException] = []

    def load() -> None:
        try:
            load_model(folder, dtype="bfloat16")
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=load)
    thread.start()
    assert entered.wait(WAIT)
    throw_into(thread)
    thrown.set()
    thread.join(WAIT)
    assert not thread.is_alive()
    assert [type(error) for error in caught] == [Interrupt]
    monkeypatch.undo()
    for dtype in (torch.bfloat16, torch.float32):
        opened = load_model(folder, dtype=dtype)
        assert opened.model.dtype == dtype and not opened.model.lm_head.weight.is_meta
        assert opened.read([5, 6]).logits.isfinite().all()
    # The library was not hit, although the one who waited was: its load came to an end.
    assert unharmed.is_set()
    assert torch.get_default_dtype() == torch.float32
    assert not torch.zeros(2).is_meta
    assert torch.nn.Linear(2, 2).weight.abs().sum() > 0


def test_a_load_whose_caller_gave_up_does_not_begin() -> None:
    opening = Opening[threading.Event]()
    inside, go_on = threading.Event(), threading.Event()
    begun: list[str] = []

    def first() -> threading.Event:
        inside.set()
        go_on.wait(WAIT)
        return go_on

    def second() -> threading.Event:
        begun.append("second")
        return go_on

    def wait_for(make: Callable[[], threading.Event], key: str) -> threading.Thread:
        trying = threading.Event()

        def work() -> None:
            try:
                trying.set()  # From here on an interrupt is caught below.
                opening.open(key, make)
            except Interrupt:
                begun.append("interrupted")

        thread = threading.Thread(target=work)
        thread.start()
        assert trying.wait(WAIT)
        return thread

    one = wait_for(first, "a")
    assert inside.wait(WAIT)
    two = wait_for(second, "b")
    # A thread that is being started goes by the number of the one that starts it, and would be hit.
    until(lambda: sum(t.name == "load_model" and t.is_alive() for t in threading.enumerate()) == 2)
    throw_into(two)
    two.join(WAIT)
    go_on.set()
    one.join(WAIT)
    assert opening.open("c", lambda: go_on) is go_on
    assert begun == ["interrupted"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_process_that_is_forked_in_the_middle_can_open() -> None:
    opening = Opening[threading.Event]()
    inside, go_on = threading.Event(), threading.Event()

    def slow() -> threading.Event:
        inside.set()
        go_on.wait(WAIT)
        return go_on

    thread = threading.Thread(target=opening.open, args=("a", slow))
    thread.start()
    assert inside.wait(WAIT)
    child = os.fork()
    if child == 0:
        os._exit(0 if isinstance(opening.open("b", threading.Event), threading.Event) else 1)
    _, status = os.waitpid(child, 0)
    go_on.set()
    thread.join(WAIT)
    assert status == 0
