"""Kernels that are forked from one process which has everything imported.

A kernel imports PyTorch and the explorer for seconds before its first cell, and nearly every
browser test wants a kernel of its own. Here one process imports them once and loads their machine
code, and each kernel is a fork of it: a process of its own, with its own memory. The server starts
and ends it like any other kernel, through a small process that stands for it (`stand_in`): when one
of the two ends, the other does. The process that is forked holds one end of a pipe whose other end
the tests hold: when they end, however they end, so do the process and every kernel.

`FRESH` is the ordinary kernel, for what has to be seen from the first import on.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

FRESH: Final = "fresh"
"""The name of a kernel that is started as JupyterLab starts it."""

IMPORTED: Final = ("ipykernel.kernelapp", "torch", "widgets.views.compare")


class ForkedKernels:
    """The process that kernels are forked from, and the kernels it has made.

    Args:
        folder: For the socket and the log.
        environment: Of the process; the kernels are described in its ``JUPYTER_PATH``.
    """

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        path = folder / "kernels.socket"
        here = [sys.executable, str(Path(__file__).resolve())]
        for name, argv in {
            "python3": [here[0], "-S", "-E", here[1], str(path), "{connection_file}"],
            FRESH: [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        }.items():
            target = Path(environment["JUPYTER_PATH"]) / "kernels" / name / "kernel.json"
            target.parent.mkdir(parents=True, exist_ok=True)
            spec = {"argv": argv, "display_name": "Python 3", "language": "python"}
            if name != FRESH:
                spec["interrupt_mode"] = "message"  # A signal would reach the one that stands in.
            target.write_text(json.dumps(spec))
        self.log = (folder / "kernels.log").open("w")
        self.process = subprocess.Popen(
            [*here, str(path)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.log, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        if not self.process.stdout.readline():  # It says when it listens.
            raise RuntimeError((folder / "kernels.log").read_text()[-3000:])

    def stop(self) -> None:
        """End the process and all that it has forked."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=10)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()


def stand_in(path: str, connection_file: str) -> None:
    """Have a kernel forked, and wait until it ends."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        wanted = {"file": connection_file, "environment": dict(os.environ), "folder": os.getcwd()}
        line.sendall(json.dumps(wanted).encode() + b"\n")
        line.recv(1)  # Nothing is ever sent: the kernel has ended.


def fork_kernels(path: str) -> None:
    """Import what kernels need, and fork one for each that asks, until the parent ends.

    The parent holds the other end of the standard input, and never writes: at its end there is
    something to read, the end of the file.
    """
    for name in IMPORTED:
        importlib.import_module(name)
    load_machine_code()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("listening", flush=True)
        while True:
            ready, _, _ = select.select([listening, sys.stdin], [], [])
            if sys.stdin in ready:
                os.killpg(0, signal.SIGKILL)  # Itself and every kernel.
            line, _ = listening.accept()
            with line:
                wanted = json.loads(line.makefile().readline())
                if os.fork() == 0:
                    listening.close()
                    be_kernel(line, wanted)
            _reap()


def load_machine_code() -> None:
    """Use the explorer once, so that its machine code is in memory."""
    import explorer
    import widgets

    # The library of tokenizers keeps no threads then.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    widgets.Explorer()._repr_mimebundle_()
    session = explorer.Session(explorer.load_model("tiny"), explorer.regex("[a-z]+"), prompt="It ")
    session.step()
    gc.collect()
    threads = os.listdir("/proc/self/task")
    if len(threads) > 1:
        raise RuntimeError(f"A process with {len(threads)} threads cannot be forked safely.")


def _reap() -> None:
    """Forget the kernels that have ended."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def be_kernel(line: socket.socket, wanted: dict[str, Any]) -> None:
    """Be a kernel until it is shut down, or until the process that stands for it ends."""

    def end_together() -> None:
        line.recv(1)
        os.kill(os.getpid(), signal.SIGKILL)

    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # The pipe is for the process forked.
        os.environ.clear()
        os.environ.update(wanted["environment"])
        os.chdir(wanted["folder"])
        sys.argv = ["ipykernel_launcher", "-f", wanted["file"]]
        sys.path[0] = ""
        threading.Thread(target=end_together, daemon=True).start()
        from ipykernel.kernelapp import IPKernelApp

        kernel = IPKernelApp.instance()
        kernel.initialize(sys.argv[1:])
        kernel.start()
        status = 0
    finally:
        atexit._run_exitfuncs()
        os._exit(status)


if __name__ == "__main__":
    (stand_in if len(sys.argv) == 3 else fork_kernels)(*sys.argv[1:])
