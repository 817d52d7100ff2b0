"""``python -m tools.binder``: make Binder's environment anew, and open the quickstart in it.

The steps are those of repo2docker for the files in `binder/`: a fresh environment, ``pip install -r
requirements.txt`` in a copy of the repository, ``postBuild``, and a server started by ``start``.
The packages in apt.txt must be installed already, because only root may install them. Each step is
timed, and the size of the environment is measured.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
QUICKSTART: Final = "notebooks/00_quickstart.ipynb"
PATIENCE: Final = 120
"""The most seconds that a server may take to answer."""


def main() -> int:
    """Make the environment and report on it.

    Returns:
        0; a step that fails raises an error with the output of the step.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.binder", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, help="the folder; by default one that is removed afterwards"
    )
    given: Path | None = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given or Path(temporary)).resolve()
        for line in check_binder(folder):
            print(line, flush=True)
    return 0


def check_binder(folder: Path) -> list[str]:
    """Make the environment in a folder and open the quickstart.

    Args:
        folder: The folder; results of an earlier run are deleted.

    Returns:
        A line on each step, with its time.
    """
    repository, environment = folder / "repository", folder / "environment"
    for old in (repository, environment):
        shutil.rmtree(old, ignore_errors=True)
    copy_repository(repository)
    said: list[str] = []
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "JUPYTER"))}
    variables["PATH"] = f"{environment / 'bin'}{os.pathsep}{variables['PATH']}"
    # If a page of wheels cannot be reached, it is requested once per package and not six times.
    variables["PIP_RETRIES"] = "0"
    variables |= {
        name: str(folder / name.lower()) for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    for title, words in (
        ("venv", [sys.executable, "-m", "venv", str(environment)]),
        (
            "requirements",
            ["pip", "install", "--no-cache-dir", "-q", "-r", "binder/requirements.txt"],
        ),
        ("postBuild", ["bash", "binder/postBuild"]),
    ):
        began = time.perf_counter()
        # By its path: programs are searched for on our own PATH, not on the new one.
        program = str(environment / "bin" / words[0]) if words[0] == "pip" else words[0]
        subprocess.run([program, *words[1:]], cwd=repository, env=variables, check=True)
        said.append(f"{title}: {time.perf_counter() - began:.0f} s")
    size = sum(
        p.stat().st_size for p in environment.rglob("*") if p.is_file() and not p.is_symlink()
    )
    version = subprocess.run(
        [str(environment / "bin" / "python"), "-c", "import torch; print(torch.__version__)"],
        env=variables, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    said.append(f"environment: {size / 1e9:.2f} GB, torch {version}")
    said.append(f"server: {opened(repository, variables):.1f} s until it shows the quickstart")
    began = time.perf_counter()
    subprocess.run(
        ["bash", "binder/start", "jupyter", "nbconvert", "--log-level", "WARN", "--to", "notebook",
         "--execute", "--output-dir", str(folder), QUICKSTART],
        cwd=repository, env=variables, check=True,
    )  # fmt: skip
    took = time.perf_counter() - began
    said.append(f"quickstart: {took:.0f} s for all of its cells, the kernel's start included")
    return said


def copy_repository(target: Path) -> None:
    """Copy the files that git tracks, as they are in the working tree.

    Args:
        target: The new folder.
    """
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def opened(repository: Path, variables: dict[str, str]) -> float:
    """Start the server with `start`, as Binder does, and request the quickstart's page.

    Args:
        repository: The copy.
        variables: The environment.

    Returns:
        The seconds until the page was there.
    """
    token = secrets.token_hex(16)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    began = time.perf_counter()
    server = subprocess.Popen(
        ["bash", "binder/start", "jupyter", "lab", "--no-browser", "--allow-root",
         f"--ServerApp.port={port}", "--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0",
         f"--IdentityProvider.token={token}"],
        cwd=repository, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}/lab/tree/{QUICKSTART}?token={token}"
    try:
        while time.perf_counter() - began < PATIENCE and server.poll() is None:
            with suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:
                if answer.status == 200:
                    return time.perf_counter() - began
            time.sleep(0.1)
        raise RuntimeError("The server did not show the quickstart.")
    finally:
        server.terminate()
        server.wait(timeout=30)


if __name__ == "__main__":
    sys.exit(main())
