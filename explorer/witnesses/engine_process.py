"""The program that runs one engine in a process of its own and answers questions about masks.

It is started by a short ``-c`` program, so that no thread and no lock of the parent is copied into
it. Its address space is limited to what it uses once the engine is loaded plus a given number of
bytes; past that, allocations fail in this process only. A watchdog that does not need the
interpreter's lock ends the process if a question takes far too long, even if the parent is gone.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any, BinaryIO, Final

import numpy as np

from explorer.witnesses.engines import UNASKED, NotRead, Row, Tokens, peer
from explorer.witnesses.messages import (
    REQUESTS,
    Answer,
    Finish,
    Load,
    Loaded,
    OwnPattern,
    PatternText,
    Refused,
    Reply,
    Request,
    RolledBack,
    Statement,
    Way,
    next_message,
    packed_message,
)

KEPT: Final = 16
"""The number of compiled constraints that an engine keeps."""

GRACE: Final = 5.0
"""The seconds after a question's limit at which the process ends itself."""

LONGEST_WAY: Final = 40
"""The most tokens in an attempt to end a text."""

WAYS: Final = 30
"""The number of attempts to end a text; the first follows the preference, the others are random."""


class Answering:
    """An engine with a loaded vocabulary, which answers requests.

    Args:
        name: The engine, a key of `explorer.witnesses.engines.ENGINES`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._engine: Any = None
        self._eos = 0
        self._compiled: OrderedDict[Statement, Any] = OrderedDict()

    def answer(self, request: Request) -> Reply:
        """The reply to a request; an error of the engine becomes a reply too."""
        stage = "vocabulary"
        try:
            if isinstance(request, Load):
                began = time.perf_counter()
                self._compiled.clear()
                self._engine = None
                self._eos = request.eos
                self._engine = peer(self.name, Tokens(request.tokens, request.eos))
                return Loaded(version(self.name), time.perf_counter() - began)
            stage = "constraint"
            if isinstance(request, OwnPattern):
                return PatternText(self._engine.own_pattern(request.question))
            began = time.perf_counter()
            compiled = self._known(request.question)
            ready = time.perf_counter()
            stage = "mask"
            if isinstance(request, Finish):
                return Way(self._finish(compiled, request.tokens, request.prefer))
            if isinstance(request, RolledBack):
                rows = self._engine.rolled_back(compiled, request.tokens, request.drafts)
            else:
                rows = self._engine.rows(compiled, request.tokens, request.last)
            return self._masks(rows, ready - began, ready)
        except (KeyboardInterrupt, SystemExit):
            raise
        except NotRead as error:
            return Refused(str(error), stage)
        except BaseException as error:  # A panic of a Rust library is not an Exception.
            return Refused(f"{type(error).__name__}: {error}"[:2000], stage)

    def _known(self, question: Statement) -> Any:
        compiled = self._compiled.get(question)
        if compiled is None:
            compiled = self._read(question)
            self._compiled[question] = compiled
            if len(self._compiled) > KEPT:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(question)
        return compiled

    def _read(self, question: Statement) -> Any:
        engine = self._engine
        if question.kind == "regex":
            return engine.compile(question.text)
        if question.kind == "json_schema":
            return engine.compile_schema(question.text, question.whitespace, question.any_order)
        return engine.compile_grammar(question.text, question.kind)

    def _masks(self, asked: Iterable[Row], compiling: float, ready: float) -> Answer:
        rows: list[bytes] = []
        followed = -1
        for row in asked:
            followed += 1
            if row is not UNASKED:
                rows.append(np.packbits(row, bitorder="little").tobytes())
        return Answer(tuple(rows), followed, compiling, time.perf_counter() - ready)

    def _finish(
        self, compiled: Any, tokens: Sequence[int], prefer: Sequence[int]
    ) -> tuple[int, ...] | None:
        random = Random(0)
        for attempt in range(WAYS):
            way: list[int] = []
            while len(way) < LONGEST_WAY:
                *_, row = self._engine.rows(compiled, (*tokens, *way), True)
                if row[self._eos]:
                    return tuple(way)
                allowed = [token for token in prefer if row[token]] if attempt < WAYS // 2 else []
                allowed = allowed or np.flatnonzero(row).tolist()
                if not allowed:
                    break
                way.append(allowed[0] if attempt == 0 else random.choice(allowed))
        return None


def limit_memory(more: int) -> None:
    """Limit the address space of this process to its present size plus some bytes; no core dumps.

    Linux only: elsewhere neither the present size nor the limit can be relied on.
    """
    if sys.platform != "linux":
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def answer_questions(questions: BinaryIO, answers: BinaryIO, name: str, memory: int) -> None:
    """Load the engine and answer requests until the stream of questions ends."""
    began = time.perf_counter()
    said: Reply
    try:
        # A vocabulary of three tokens loads the library; the real one comes as a message.
        peer(name, Tokens((b"a", b"b", None), 2))
        said = Loaded(version(name), time.perf_counter() - began)
        limit_memory(memory)
    except ImportError as error:
        said = Refused(f"It is not installed: {error}.", "import")
    except OSError as error:  # The memory limit could not be set; the time limits still hold.
        said = Loaded(version(name), time.perf_counter() - began)
        print(error, file=sys.stderr)
    except BaseException as error:
        said = Refused(f"{type(error).__name__}: {error}", "import")
    answers.write(packed_message(said))
    answers.flush()
    answering = Answering(name)
    while (data := next_message(questions)) is not None:
        request = REQUESTS.decode(data)
        seconds = 60.0 if isinstance(request, Load) else request.seconds
        faulthandler.dump_traceback_later(seconds + GRACE, exit=True)
        reply = answering.answer(request)
        faulthandler.cancel_dump_traceback_later()
        answers.write(packed_message(reply))
        answers.flush()


def serve_pipes() -> None:
    """Answer requests on the file descriptors given on the command line."""
    read, write, name, memory = json.loads(sys.argv[2])
    with os.fdopen(read, "rb") as questions, os.fdopen(write, "wb") as answers:
        answer_questions(questions, answers, name, memory)
