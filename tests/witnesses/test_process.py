"""The process of an engine: reused, limited, and cheap to lose."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from explorer import Vocabulary
from explorer.witnesses.messages import Answer, Refused, Statement
from explorer.witnesses.process import EngineProcess

pytest.importorskip("outlines_core")

SMALL = Vocabulary.from_bytes([bytes([b]) for b in range(256)], eos_ids=[256])
LARGE = Statement("regex", "(a|b)*a(a|b){21}")
PLAIN = Statement("regex", "a+")


def test_a_process_is_reused_and_ends() -> None:
    process = EngineProcess("outlines-core")
    assert process.pid is None
    first = process.masks(PLAIN, SMALL, ())
    pid = process.pid
    again = process.masks(PLAIN, SMALL, (97,))
    assert isinstance(first, Answer) and isinstance(again, Answer)
    assert process.pid == pid
    process.close()
    assert process.pid is None and pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_masks_along_a_prefix_come_in_one_answer() -> None:
    process = EngineProcess("outlines-core")
    along = process.masks(PLAIN, SMALL, (97, 97, 98), last=False)
    assert isinstance(along, Answer)
    assert (len(along.rows), along.followed) == (3, 2)  # The b is not taken.
    process.close()


def test_a_crash_is_an_answer_and_the_next_question_works() -> None:
    process = EngineProcess("outlines-core")
    process.masks(PLAIN, SMALL, ())
    pid = process.pid
    assert pid is not None
    os.kill(pid, signal.SIGSEGV)
    said = process.masks(PLAIN, SMALL, ())
    assert isinstance(said, Refused) and "SIGSEGV" in said.reason
    assert isinstance(process.masks(PLAIN, SMALL, ()), Answer)
    assert process.pid != pid
    process.close()


def test_a_question_that_takes_too_long_is_stopped() -> None:
    process = EngineProcess("outlines-core")
    said = process.masks(LARGE, SMALL, (), seconds=0.3)
    assert (
        isinstance(said, Refused)
        and "not answer within 0.3 s" in said.reason
        and said.stage == "time"
    )
    assert isinstance(process.masks(PLAIN, SMALL, ()), Answer)
    process.close()


def test_too_much_memory_is_an_answer() -> None:
    process = EngineProcess("outlines-core", memory=100_000_000)
    said = process.masks(LARGE, SMALL, (), seconds=60)
    assert isinstance(said, Refused), said
    assert "memory" in said.reason.lower() or "SIGABRT" in said.reason
    assert isinstance(process.masks(PLAIN, SMALL, ()), Answer)
    process.close()


def test_two_threads_ask_one_after_the_other() -> None:
    process = EngineProcess("outlines-core")
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda: found.append(process.masks(PLAIN, SMALL, ())))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(isinstance(each, Answer) for each in found)
    process.close()


def test_an_engine_that_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    # A folder in front of the others, in which the library cannot be imported.
    import sys
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "outlines_core.py").write_text("raise ImportError('No module here')")
        monkeypatch.setattr(sys, "path", [folder, *sys.path])
        process = EngineProcess("outlines-core")
        said = process.masks(PLAIN, SMALL, ())
        assert isinstance(said, Refused) and said.stage == "import"
        assert "not installed" in said.reason and process.pid is None
        process.close()
