"""The scripts of reports, run before a report is offered: in a process, with limits.

One process loads the library of the engine and then makes a copy of itself for each script, so that
the library is loaded once. A copy has limits of time and of addresses; what it prints, and how it
ends, is the answer.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer.witnesses.engine_process import limit_memory
from explorer.witnesses.process import MEMORY, START

MOST_PRINTED: Final = 4_000
"""Bytes of what a script prints that are kept."""

_PROGRAM: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from explorer.witnesses.script_runs import serve_scripts; serve_scripts()"
)


@dataclass(frozen=True)
class ScriptRun:
    """What a script did.

    Args:
        printed: What it printed, standard error included, without white space at the ends.
        status: How it ended; ``None`` where it was stopped, or did not run.
    """

    printed: str
    status: int | None


def run_scripts(
    engine: str, scripts: Sequence[str], seconds: float = START
) -> tuple[ScriptRun, ...]:
    """Run scripts of one engine, one after the other.

    Args:
        engine: The engine.
        scripts: Their texts.
        seconds: The most that one may take.
    """
    question = json.dumps([engine.replace("-", "_"), seconds, list(scripts)])
    try:
        ran = subprocess.run(
            [sys.executable, "-c", _PROGRAM, json.dumps([str(place) for place in sys.path])],
            input=question, capture_output=True, text=True, check=False, encoding="utf-8",
            timeout=START + len(scripts) * (seconds + 1),
            env={**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"},
        )  # fmt: skip
        found = json.loads(ran.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return (ScriptRun(f"{type(error).__name__}: {error}"[:MOST_PRINTED], None),) * len(scripts)
    return tuple(ScriptRun(printed, status) for printed, status in found)


def serve_scripts() -> None:
    """Run the scripts of the question on standard input, and answer on standard output."""
    warnings.simplefilter("ignore")
    module, seconds, scripts = json.load(sys.stdin)
    importlib.import_module(module)
    print(json.dumps([_ran(text, seconds) for text in scripts]))


def _ran(text: str, seconds: float) -> tuple[str, int | None]:
    """What a script printed, and how it ended; ``None`` where it was stopped."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        os.dup2(write, 2)
        os._exit(_status(text))
    os.close(write)
    printed, in_time = _until_closed(read, time.monotonic() + seconds)
    os.close(read)
    if not in_time:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return printed.decode(errors="replace").strip(), code if in_time else None


def _until_closed(read: int, deadline: float) -> tuple[bytes, bool]:
    """What comes through a pipe until it is closed, and whether it was closed in time."""
    found = b""
    while select.select([read], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(read, 1 << 16)
        if not part:
            return found, True
        found = (found + part)[:MOST_PRINTED]
    return found, False


def _status(text: str) -> int:
    """Run a script, in a process that ends with it."""
    status = 1
    try:
        limit_memory(MEMORY)
        exec(compile(text, "script.py", "exec"), {"__name__": "__main__"})
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # A panic of a Rust library is not an Exception.
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return status
