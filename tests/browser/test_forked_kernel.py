"""Kernels that are forked from one process end with the tests that had them forked."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PARENT = """
import os, subprocess, sys
from pathlib import Path
from tests.browser.forked_kernel import ForkedKernels

folder = Path(sys.argv[1])
kernels = ForkedKernels(folder, dict(os.environ, JUPYTER_PATH=str(folder)))
print(kernels.process.pid, flush=True)
sys.stdin.read()
"""


def test_a_parent_that_is_killed_leaves_no_kernel(tmp_path: Path) -> None:
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        forked_from = int(parent.stdout.readline())
        spec = json.loads((tmp_path / "kernels" / "python3" / "kernel.json").read_text())
        connection = tmp_path / "connection.json"
        argv = [part.format(connection_file=connection) for part in spec["argv"]]
        with subprocess.Popen(argv, env=environment) as standing:
            while not connection.exists():  # The kernel writes it.
                with pytest.raises(subprocess.TimeoutExpired):
                    standing.wait(0.05)
            ends = os.pidfd_open(forked_from)
            try:
                parent.send_signal(signal.SIGKILL)
                ended, _, _ = select.select([ends], [], [], 60)
                assert ended, "The process that kernels are forked from is still there."
                standing.wait(60)  # The kernel has ended, so what stands for it does.
            finally:
                os.close(ends)
                if parent.poll() is None or standing.poll() is None:
                    os.killpg(forked_from, signal.SIGKILL)
