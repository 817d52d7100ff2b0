"""Starts, asks, limits and ends the processes of other engines.

`EngineProcess` answers questions about masks. A crash, a hang, an allocation past the limit, a
refusal and a missing library are answers with a reason; after any of them the next question starts
a new process. The process is reused for all states and is sent the vocabulary once.

`run_scripts` runs the scripts of reports before they are offered. One process loads the engine's
library and then forks for each script, so that the library is loaded once. Each fork has limits of
time and memory; its output and exit status are the answer.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import IO, Final

from explorer.vocabulary import Vocabulary
from explorer.witnesses.engine_process import limit_memory
from explorer.witnesses.messages import (
    HEADER,
    REPLIES,
    Answer,
    Finish,
    Load,
    Loaded,
    Masks,
    OwnPattern,
    PatternText,
    Question,
    Refused,
    Reply,
    Request,
    RolledBack,
    Statement,
    Way,
    packed_message,
)

SECONDS: Final = 10.0
"""The longest that an engine may take for a question, compiling the constraint included."""

START: Final = 60.0
"""The longest that an engine may take to load its library or a vocabulary."""

MEMORY: Final = 4_000_000_000
"""The bytes of address space that a process may use beyond those of the loaded library."""

_PROGRAM: Final = (
    "import json, signal, sys, warnings; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "warnings.simplefilter('ignore'); sys.path[:] = json.loads(sys.argv[1]); "
    "from explorer.witnesses.engine_process import serve_pipes; serve_pipes()"
)


class ProcessEnded(Exception):
    """The process ended, or was killed, instead of answering."""


class NoAnswerInTime(ProcessEnded):
    """The process was killed because it did not answer in time."""


class EngineProcess:
    """An engine in its own process; any thread may ask, and questions are answered one at a time.

    Args:
        name: The engine, a key of `explorer.witnesses.engines.ENGINES`.
    """

    def __init__(self, name: str, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self.name = name
        self.seconds = seconds
        self.memory = memory
        self.version = ""
        self.start_seconds = 0.0
        self.load_seconds = 0.0
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._read = self._write = -1
        self._held = ""
        self._missing: Refused | None = None
        atexit.register(self.close)

    @property
    def pid(self) -> int | None:
        """The process id; ``None`` while no process runs."""
        return None if self._process is None else self._process.pid

    def masks(
        self,
        question: Statement,
        vocabulary: Vocabulary,
        tokens: tuple[int, ...],
        *,
        last: bool = True,
        seconds: float | None = None,
    ) -> Answer | Refused:
        """The mask after some tokens, or all masks along them.

        Args:
            last: Whether only the mask after the last token is wanted.
            seconds: The limit for this question; by default that of the process.
        """
        return self._rows(vocabulary, Masks(question, tokens, last, self._limit(seconds)))

    def rolled_back(
        self,
        question: Statement,
        vocabulary: Vocabulary,
        tokens: tuple[int, ...],
        drafts: tuple[tuple[int, ...], ...],
        seconds: float | None = None,
    ) -> Answer | Refused:
        """The mask after some tokens, and again after each draft was accepted and rolled back."""
        return self._rows(vocabulary, RolledBack(question, tokens, drafts, self._limit(seconds)))

    def finish(
        self,
        question: Statement,
        vocabulary: Vocabulary,
        tokens: tuple[int, ...],
        prefer: tuple[int, ...] = (),
        seconds: float | None = None,
    ) -> tuple[int, ...] | None:
        """Ids allowed by the engine that end the text after some tokens; ``None`` if none is found.

        Args:
            prefer: The ids to try first.
        """
        reply = self._ask(vocabulary, Finish(question, tokens, prefer, self._limit(seconds)))
        return reply.tokens if isinstance(reply, Way) else None

    def own_pattern(
        self, question: Statement, vocabulary: Vocabulary, seconds: float | None = None
    ) -> str | None:
        """The pattern with which the engine matches texts; ``None`` if it has none."""
        reply = self._ask(vocabulary, OwnPattern(question, self._limit(seconds)))
        return reply.text if isinstance(reply, PatternText) else None

    def close(self) -> None:
        """End the process; a later question starts another."""
        with self._lock:
            self._end()
        atexit.unregister(self.close)

    # --- one question -------------------------------------------------------------------------

    def _limit(self, seconds: float | None) -> float:
        return self.seconds if seconds is None else seconds

    def _rows(self, vocabulary: Vocabulary, request: Masks | RolledBack) -> Answer | Refused:
        reply = self._ask(vocabulary, request)
        if isinstance(reply, Answer | Refused):
            return reply
        return Refused(f"An answer of another kind: {type(reply).__name__}.", "mask")

    def _ask(self, vocabulary: Vocabulary, request: Question) -> Reply:
        with self._lock:
            if self._missing is not None:
                return self._missing
            try:
                if self._process is None:
                    self._start()
                if self._missing is not None:
                    return self._missing
                if self._held != vocabulary.fingerprint:
                    self._held = ""
                    load = Load(vocabulary.tokens, min(vocabulary.eos_ids))
                    ready = self._exchange(load, START)
                    if not isinstance(ready, Loaded):
                        return ready
                    self._held = vocabulary.fingerprint
                    self.load_seconds = ready.seconds
                return self._exchange(request, request.seconds)
            except NoAnswerInTime as late:
                self._end()
                return Refused(str(late), "time")
            except ProcessEnded as ended:
                return Refused(f"{ended} {self._end()}".strip(), "process")

    def _start(self) -> None:
        began = time.perf_counter()
        if sys.platform == "win32":
            raise ProcessEnded("Other engines are asked on Linux and macOS; on Windows, in WSL.")
        questions, self._write = os.pipe()
        self._read, answers = os.pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - Closed by `_end`.
        paths = json.dumps([str(place) for place in sys.path])
        told = json.dumps([questions, answers, self.name, self.memory])
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, paths, told],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(questions, answers),
                env={**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"},
            )
        except OSError as error:
            raise ProcessEnded(f"The process could not be started: {error}.") from error
        finally:
            os.close(questions)
            os.close(answers)
        first = self._receive(START)
        if isinstance(first, Refused):
            self._missing = first
            self._end()
        elif isinstance(first, Loaded):
            self.version = first.version
            self.start_seconds = time.perf_counter() - began

    def _exchange(self, request: Request, seconds: float) -> Reply:
        data = memoryview(packed_message(request))
        deadline = time.monotonic() + seconds + START
        while data:
            # A hanging process reads nothing, and writing to a full pipe would block.
            if not select.select([], [self._write], [], max(0.0, deadline - time.monotonic()))[1]:
                raise ProcessEnded("The process read nothing.")
            try:
                sent = os.write(self._write, data[:4096])
            except OSError as error:
                raise ProcessEnded(self._how()) from error
            data = data[sent:]
        return self._receive(seconds)

    def _receive(self, seconds: float) -> Reply:
        deadline = time.monotonic() + seconds
        (length,) = HEADER.unpack(self._exactly(HEADER.size, deadline, seconds))
        return REPLIES.decode(self._exactly(length, deadline, seconds))

    def _exactly(self, count: int, deadline: float, seconds: float) -> bytes:
        data = bytearray()
        while len(data) < count:
            if not select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise NoAnswerInTime(f"It did not answer within {seconds:g} s, and was stopped.")
            part = os.read(self._read, min(count - len(data), 1 << 20))
            if not part:
                raise ProcessEnded(self._how())
            data += part
        return bytes(data)

    def _how(self) -> str:
        if self._process is None:
            return "The process ended."
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "The process closed its pipe."
        if code < 0:
            return f"The process crashed ({signal.Signals(-code).name})."
        return f"The process ended with status {code}."

    def _end(self) -> str:
        """Kill the process, and return the last line of its log."""
        process, self._process, self._held = self._process, None, ""
        if process is None:
            return ""
        process.kill()
        process.wait()
        os.close(self._read)
        os.close(self._write)
        if self._log is None:
            return ""
        with self._log as log:
            log.seek(0)
            lines = log.read().decode(errors="replace").split("\n")
        return next((line[:500] for line in reversed(lines) if line.strip()), "")


@cache
def shared_process(name: str) -> EngineProcess:
    """The one process of an engine, shared by all callers.

    Args:
        name: A key of `explorer.witnesses.engines.ENGINES`.
    """
    return EngineProcess(name)


MOST_PRINTED: Final = 4_000
"""The bytes of a script's output that are kept."""

_SCRIPTS: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from explorer.witnesses.process import serve_scripts; serve_scripts()"
)


@dataclass(frozen=True)
class ScriptRun:
    """The output and exit status of a script.

    Args:
        status: The exit status; ``None`` if it was stopped or did not run.
    """

    printed: str
    status: int | None


def run_scripts(
    engine: str, scripts: Sequence[str], seconds: float = START
) -> tuple[ScriptRun, ...]:
    """Run scripts for one engine, one after the other."""
    question = json.dumps([engine.replace("-", "_"), seconds, list(scripts)])
    try:
        ran = subprocess.run(
            [sys.executable, "-c", _SCRIPTS, json.dumps([str(place) for place in sys.path])],
            input=question, capture_output=True, text=True, check=False, encoding="utf-8",
            timeout=START + len(scripts) * (seconds + 1),
            env={**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"},
        )  # fmt: skip
        results = json.loads(ran.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return (ScriptRun(f"{type(error).__name__}: {error}"[:MOST_PRINTED], None),) * len(scripts)
    return tuple(ScriptRun(printed, status) for printed, status in results)


def serve_scripts() -> None:
    """Run the scripts read from standard input, and write their results to standard output."""
    warnings.simplefilter("ignore")
    module, seconds, scripts = json.load(sys.stdin)
    importlib.import_module(module)
    print(json.dumps([_ran(text, seconds) for text in scripts]))


def _ran(text: str, seconds: float) -> tuple[str, int | None]:
    """The output of a script run in a fork, and its exit status; ``None`` if it was stopped."""
    if not hasattr(os, "fork"):  # Windows: each script loads the engine's library again.
        return _ran_alone(text, seconds)
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


def _ran_alone(text: str, seconds: float) -> tuple[str, int | None]:
    """The output and exit status of a script run in a new interpreter."""
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(
            [sys.executable, "-c", text], stdin=subprocess.DEVNULL, stdout=printed, stderr=printed
        )
        code: int | None = None
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        printed.seek(0)
        return printed.read(MOST_PRINTED).decode(errors="replace").strip(), code


def _until_closed(read: int, deadline: float) -> tuple[bytes, bool]:
    """Read a pipe until it is closed; return the bytes, and whether it was closed in time."""
    data = b""
    while select.select([read], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(read, 1 << 16)
        if not part:
            return data, True
        data = (data + part)[:MOST_PRINTED]
    return data, False


def _status(text: str) -> int:
    """Run a script in this process, which ends afterwards, and return its exit status."""
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
