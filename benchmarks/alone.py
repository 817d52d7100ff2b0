"""One engine in a process of its own: how long it takes to start, and what a result holds.

``python -m benchmarks.alone ENGINE TOKENS`` prints one JSON object; TOKENS is a file written by
`write_tokens`. Nothing of an engine is imported before the clock runs.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.constraints import CASES
from benchmarks.engines import Tokens, make

JSON_OBJECT = CASES[-1]
COPIES = 16
"""Results that are held at once, so that what an allocator rounds up does not count."""


def write_tokens(tokens: Tokens, path: Path) -> None:
    """Write a vocabulary for `run`, as JSON with hexadecimal bytes."""
    listed = [None if data is None else data.hex() for data in tokens.tokens]
    path.write_text(json.dumps({"eos": tokens.eos, "tokens": listed}), encoding="ascii")


def read_tokens(path: Path) -> Tokens:
    """The inverse of `write_tokens`."""
    held = json.loads(path.read_text(encoding="ascii"))
    return Tokens(
        [None if data is None else bytes.fromhex(data) for data in held["tokens"]], held["eos"]
    )


def run(name: str, path: Path, *, environment: dict[str, str] | None = None) -> dict[str, float]:
    """Measure an engine in a fresh process.

    Returns:
        ``import``, ``prepare`` and ``compile``, in milliseconds, and ``bytes`` held per result.
    """
    done = subprocess.run(
        [sys.executable, "-m", __name__, name, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parent.parent,
        env={**os.environ, **(environment or {})},
    )
    return json.loads(done.stdout.splitlines()[-1])


def resident_bytes() -> int:
    """Bytes of memory that this process has in use, as Linux counts them."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main(name: str, path: Path) -> dict[str, Any]:
    """Import, prepare, compile; then hold several results and weigh them."""
    import importlib

    from benchmarks.engines import MODULES

    tokens = read_tokens(path)
    clock = [time.perf_counter()]
    importlib.import_module(MODULES[name])
    clock.append(time.perf_counter())
    engine = make(name, tokens)
    clock.append(time.perf_counter())
    first = engine.compile(JSON_OBJECT.pattern)
    clock.append(time.perf_counter())

    held: list[Any] = [first, engine.compile(JSON_OBJECT.pattern)]
    gc.collect()
    before = resident_bytes()
    held.extend(engine.compile(JSON_OBJECT.pattern) for _ in range(COPIES))
    gc.collect()
    grown = max(0, resident_bytes() - before)
    stages = {
        stage: 1e3 * (end - begin)
        for stage, begin, end in zip(
            ("import", "prepare", "compile"), clock, clock[1:], strict=False
        )
    }
    return {**stages, "bytes": grown / COPIES}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
