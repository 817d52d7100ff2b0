"""The process that compiles, seen from the kernel: started, asked, killed."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from typing import Final

from widgets.compiling.worker_process import (
    Job,
    Outcome,
    TokenBytes,
)

# An interrupt of the kernel goes to its whole process group, and is not meant for the child.
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
        # What it says when it breaks; a file without a name, closed with the rest.
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        read, answers = os.pipe()
        questions, write = os.pipe()
        try:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    _PROGRAM,
                    json.dumps([str(place) for place in sys.path]),
                    json.dumps([questions, answers]),
                ],
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=self.log,
                pass_fds=(questions, answers),
            )
        except BaseException:
            os.close(read)
            os.close(write)
            self.log.close()
            raise
        finally:
            os.close(questions)
            os.close(answers)
        self.inbox = Connection(read, writable=False)
        self.outbox = Connection(write, readable=False)

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
            answer: Outcome = pickle.loads(self.inbox.recv_bytes())
        except (EOFError, OSError) as error:
            raise Gone from error
        return answer

    def ask(self, message: TokenBytes | Job) -> Outcome:
        """Send it something, and wait for the answer.

        Raises:
            Gone: It ended instead.
        """
        try:
            self.outbox.send_bytes(pickle.dumps(message))
        except OSError as error:
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
        for connection in (self.inbox, self.outbox):
            connection.close()
