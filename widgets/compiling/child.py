"""The process that compiles, as the kernel sees it: started, sent messages, killed."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import BinaryIO, Final, cast

from widgets.compiling.worker_process import (
    Job,
    Outcome,
    TokenBytes,
    receive,
    send,
)

# An interrupt of the kernel goes to its whole process group; the child must ignore it.
_PROGRAM: Final = (
    "import json, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = json.loads(sys.argv[1]); "
    "from widgets.compiling.worker_process import main; main()"
)


class Gone(Exception):
    """The process ended instead of answering."""


class Child:
    """A running process, and the pipes to it."""

    def __init__(self) -> None:
        self.killed = False
        # Its standard error, for when it breaks; a file without a name, closed with the pipes.
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, json.dumps([str(place) for place in sys.path])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.log,
            )
        except BaseException:
            self.log.close()
            raise
        self.inbox = cast("BinaryIO", self.process.stdout)
        self.outbox = cast("BinaryIO", self.process.stdin)

    @property
    def ended(self) -> bool:
        """Whether it was killed, or has ended by itself."""
        return self.killed or self.process.poll() is not None

    def kill(self) -> None:
        """End it at once."""
        self.killed = True
        self.process.kill()

    def receive(self) -> Outcome:
        """Its next answer.

        Raises:
            Gone: It ended instead.
        """
        try:
            answer: Outcome = pickle.loads(receive(self.inbox))
        except (EOFError, OSError, ValueError) as error:
            raise Gone from error
        return answer

    def ask(self, message: TokenBytes | Job) -> Outcome:
        """Send it a message, and wait for the answer.

        Raises:
            Gone: It ended instead.
        """
        try:
            send(self.outbox, pickle.dumps(message))
        except (OSError, ValueError) as error:  # A ValueError if the pipes were closed.
            raise Gone from error
        return self.receive()

    def close(self) -> str:
        """End the process, and return the last lines that it wrote."""
        self.kill()
        self.process.wait()
        self.release()
        if self.log.closed:
            return ""
        with self.log:
            self.log.seek(0)
            return self.log.read().decode(errors="replace")[-2000:].strip()

    def release(self) -> None:
        """Close our ends of the pipes."""
        for pipe in (self.inbox, self.outbox):
            with suppress(OSError):  # The rest of a message that is no longer read.
                pipe.close()
