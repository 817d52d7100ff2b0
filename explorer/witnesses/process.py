"""Starts, asks, limits and ends the processes of other engines.

A crash, a hang, an allocation past the limit, a refusal and a missing library are answers with a
reason; after any of them the next question starts a new process. A process is reused for all states
and is sent the vocabulary once.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
from functools import cache
from multiprocessing.connection import Connection
from typing import IO, Final

import msgspec

from explorer.vocabulary import Vocabulary
from explorer.witnesses.messages import (
    REPLIES,
    Answer,
    Load,
    Loaded,
    Masks,
    Refused,
    Reply,
    Request,
    Statement,
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
    "from explorer.witnesses.engine_process import serve_pipe; serve_pipe()"
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
        self._lock = threading.Lock()
        self._running: tuple[subprocess.Popen[bytes], Connection, IO[bytes]] | None = None
        self._held = ""
        self._missing: Refused | None = None
        atexit.register(self.close)

    @property
    def pid(self) -> int | None:
        """The process id; ``None`` while no process runs."""
        return None if self._running is None else self._running[0].pid

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
        limit = self.seconds if seconds is None else seconds
        with self._lock:
            try:
                reply = self._reply(vocabulary, Masks(question, tokens, last, limit))
            except NoAnswerInTime as late:
                self._end()
                return Refused(str(late), "time")
            except ProcessEnded as ended:
                return Refused(f"{ended} {self._end()}".strip(), "process")
        if isinstance(reply, Answer | Refused):
            return reply
        return Refused(f"An answer of another kind: {type(reply).__name__}.", "mask")

    def close(self) -> None:
        """End the process; a later question starts another."""
        with self._lock:
            self._end()
        atexit.unregister(self.close)

    def _reply(self, vocabulary: Vocabulary, request: Masks) -> Reply:
        if self._running is None and self._missing is None:
            self._start()
        if self._missing is not None:
            return self._missing
        if self._held != vocabulary.fingerprint:
            self._held = ""
            loaded = self._exchange(Load(vocabulary.tokens, min(vocabulary.eos_ids)), START)
            if not isinstance(loaded, Loaded):
                return loaded
            self._held = vocabulary.fingerprint
        return self._exchange(request, request.seconds)

    def _start(self) -> None:
        if sys.platform == "win32":
            raise ProcessEnded("Other engines are asked on Linux and macOS; on Windows, in WSL.")
        ours, theirs = multiprocessing.Pipe()
        log = tempfile.TemporaryFile()  # noqa: SIM115 - Closed by `_end`.
        paths = json.dumps([str(place) for place in sys.path])
        told = json.dumps([theirs.fileno(), self.name, self.memory])
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, paths, told],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(theirs.fileno(),),
                env={**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"},
            )  # fmt: skip
        except OSError as error:
            raise ProcessEnded(f"The process could not be started: {error}.") from error
        finally:
            theirs.close()
        self._running = process, ours, log
        first = self._receive(START)
        if isinstance(first, Refused):
            self._missing = first
            self._end()
        elif isinstance(first, Loaded):
            self.version = first.version

    def _exchange(self, request: Request, seconds: float) -> Reply:
        if self._running is None:
            raise ProcessEnded(self._how())
        try:
            self._running[1].send_bytes(msgspec.msgpack.encode(request))
        except OSError as error:
            raise ProcessEnded(self._how()) from error
        return self._receive(seconds)

    def _receive(self, seconds: float) -> Reply:
        if self._running is None:
            raise ProcessEnded(self._how())
        try:
            if not self._running[1].poll(seconds):
                raise NoAnswerInTime(f"It did not answer within {seconds:g} s, and was stopped.")
            return REPLIES.decode(self._running[1].recv_bytes())
        except (EOFError, OSError) as error:
            raise ProcessEnded(self._how()) from error

    def _how(self) -> str:
        """The way in which the process ended, as a sentence."""
        if self._running is None:
            return "The process ended."
        try:
            code = self._running[0].wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "The process closed its pipe."
        if code < 0:
            return f"The process crashed ({signal.Signals(-code).name})."
        return f"The process ended with status {code}."

    def _end(self) -> str:
        """Kill the process, and return the last line of its log."""
        running, self._running, self._held = self._running, None, ""
        if running is None:
            return ""
        process, pipe, log = running
        process.kill()
        process.wait()
        pipe.close()
        with log:
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
