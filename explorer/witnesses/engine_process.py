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
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from explorer.witnesses.engines import UNASKED, NotRead, Peer, Tokens, peer
from explorer.witnesses.messages import REQUESTS, Answer, Load, Loaded, Masks, Refused, Reply

KEPT: Final = 16
"""The number of compiled constraints that an engine keeps."""

GRACE: Final = 5.0
"""The seconds after a question's limit at which the process ends itself."""


class Answering:
    """An engine with a loaded vocabulary, which answers requests.

    Args:
        name: The engine, a key of `explorer.witnesses.engines.ENGINES`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._engine: Peer | None = None
        self._compiled: OrderedDict[object, object] = OrderedDict()

    def answer(self, request: Load | Masks) -> Reply:
        """The reply to a request; an error of the engine becomes a reply too."""
        stage = "vocabulary"
        try:
            if isinstance(request, Load):
                self._compiled.clear()
                self._engine = None  # Free the old vocabulary before the new one is loaded.
                self._engine = peer(self.name, Tokens(request.tokens, request.eos))
                return Loaded(version(self.name))
            if self._engine is None:
                return Refused("No vocabulary is loaded.", stage)
            stage = "constraint"
            began = time.perf_counter()
            compiled = self._compiled.pop(request.question, None)
            if compiled is None:
                compiled = self._engine.read(request.question)
            self._compiled[request.question] = compiled
            if len(self._compiled) > KEPT:
                self._compiled.popitem(last=False)
            ready = time.perf_counter()
            stage = "mask"
            rows = list(self._engine.rows(compiled, request.tokens, request.last))
            packed = tuple(
                np.packbits(row, bitorder="little").tobytes() for row in rows if row is not UNASKED
            )
            return Answer(packed, len(rows) - 1, ready - began, time.perf_counter() - ready)
        except (KeyboardInterrupt, SystemExit):
            raise
        except NotRead as error:
            return Refused(str(error), stage)
        except BaseException as error:  # A panic of a Rust library is not an Exception.
            return Refused(f"{type(error).__name__}: {error}"[:2000], stage)


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


def answer_questions(pipe: Connection, name: str, memory: int) -> None:
    """Load the engine and answer requests until the other end of the pipe is closed."""
    said: Reply
    try:
        # A vocabulary of three tokens loads the library; the real one comes as a message.
        peer(name, Tokens((b"a", b"b", None), 2))
        said = Loaded(version(name))
        limit_memory(memory)
    except ImportError as error:
        said = Refused(f"It is not installed: {error}.", "import")
    except OSError as error:  # The memory limit could not be set; the time limits still hold.
        said = Loaded(version(name))
        print(error, file=sys.stderr)
    except BaseException as error:
        said = Refused(f"{type(error).__name__}: {error}", "import")
    pipe.send_bytes(msgspec.msgpack.encode(said))
    answering = Answering(name)
    while True:
        try:
            request = REQUESTS.decode(pipe.recv_bytes())
        except EOFError:
            return
        seconds = 60.0 if isinstance(request, Load) else request.seconds
        faulthandler.dump_traceback_later(seconds + GRACE, exit=True)
        reply = answering.answer(request)
        faulthandler.cancel_dump_traceback_later()
        pipe.send_bytes(msgspec.msgpack.encode(reply))


def serve_pipe() -> None:
    """Answer requests on the file descriptor given on the command line."""
    descriptor, name, memory = json.loads(sys.argv[2])
    with Connection(descriptor) as pipe:
        answer_questions(pipe, name, memory)
