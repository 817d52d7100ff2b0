"""``python -m benchmarks.worker``: what it costs to compile in a process of its own.

Wall-clock milliseconds, medians; beside each round trip the same compilation in this process.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import explorer
from explorer import Budget, Vocabulary
from widgets.compiling.worker import CalledOff, CallOff, CompileWorker
from widgets.kinds import OFFERED

BUDGET = Budget(seconds=10)
LARGE = Budget(states=10**9, arcs=10**12, bytes=10**11, seconds=3600)
LONG = ("regex", "(a|b)*a(a|b){23}")
STATES_2000 = "(a|b|cd){900}[a-z ]{300}"


def milliseconds(action: Callable[[], object]) -> float:
    """The cost of one call."""
    began = time.perf_counter()
    action()
    return 1e3 * (time.perf_counter() - began)


def median(times: int, action: Callable[[], object]) -> float:
    """The median of some calls."""
    return statistics.median(milliseconds(action) for _ in range(times))


def start() -> float:
    """From nothing to a warm process."""
    worker = CompileWorker()
    found = milliseconds(worker.warm().join)
    worker.close()
    return found


def calling_off(worker: CompileWorker, vocabulary: Vocabulary) -> tuple[float, float]:
    """From the cancel to the answer that says so, and to the answer to a next question."""
    off = CallOff()

    def run() -> None:
        try:
            worker.compile(LONG, vocabulary, LARGE, off)
        except CalledOff:
            return

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.5)
    began = time.perf_counter()
    off.call()
    thread.join()
    ended = time.perf_counter()
    worker.compile(("regex", "(foo)+d"), vocabulary, BUDGET)
    return 1e3 * (ended - began), 1e3 * (time.perf_counter() - began)


def main() -> None:
    """Measure and print."""
    tiny = Vocabulary.from_file(Path(str(files("explorer") / "decoding" / "models" / "tiny")))
    tekken = Vocabulary.from_file(
        Path(str(files("mistral_common") / "data" / "tekken_240911.json"))
    )
    print(f"start until warm: {statistics.median(start() for _ in range(7)):.0f} ms")
    worker = CompileWorker()
    worker.warm().join()
    patterns = {p.name: p.text for p in OFFERED if p.name in ("ISO date-time", "quoted text")}
    patterns |= {
        "JSON record": next(p.text for p in OFFERED if p.name == "JSON record"),
        "2,000 states": STATES_2000,
    }
    for vocabulary in (tiny, tekken):
        explorer.compile(explorer.regex("a"), vocabulary)  # Its trie, and its fingerprint.
        went = milliseconds(lambda one=vocabulary: worker.warm(one).join())
        print(f"{len(vocabulary):,} tokens go over, their trie included: {went:.0f} ms")
        for name, pattern in patterns.items():
            there = median(
                15, lambda p=pattern, v=vocabulary: worker.compile(("regex", p), v, BUDGET)
            )
            here = median(
                15, lambda p=pattern, v=vocabulary: explorer.compile(explorer.regex(p), v)
            )
            print(f"  {name}: {there:.1f} ms there, {here:.1f} ms here")
    cancelled, following = zip(*(calling_off(worker, tekken) for _ in range(7)), strict=True)
    print(f"cancel: {statistics.median(cancelled):.0f} ms until it is answered,")
    print(f"{statistics.median(following):.0f} ms until a next question is, at 131,072 tokens")
    status = Path(f"/proc/{worker.pid}/status").read_text()
    print(next(line for line in status.splitlines() if line.startswith("VmRSS")))
    worker.close()


if __name__ == "__main__":
    main()
