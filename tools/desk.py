"""The commands of the Makefile for systems without make: ``python -m tools.desk lab``.

    python -m tools.desk setup     make the environment in .venv, and nothing else
    python -m tools.desk lab       set up, then open the explorer in JupyterLab
    python -m tools.desk test ...  set up, then run the tests; further words are pytest's

It needs only Python 3.11 or later, on Windows as elsewhere. The extras are those of the Makefile.
An existing environment is updated when `pyproject.toml` has changed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
VENV: Final = ROOT / ".venv"
STAMP: Final = VENV / ".complete"
CONSTRAINTS: Final = ROOT / ".ci" / "constraints.txt"


def extras(makefile: str) -> str:
    """The extras that the Makefile installs.

    Example:
        >>> extras("BIN := bin\\nEXTRAS := lab,dev\\n")
        'lab,dev'
    """
    named = re.search(r"^EXTRAS := (\S+)$", makefile, re.MULTILINE)
    if named is None:
        raise ValueError("the Makefile names no EXTRAS")
    return named[1]


def interpreter(venv: Path, platform: str) -> Path:
    """The Python of an environment.

    Example:
        >>> interpreter(Path(".venv"), "win32").as_posix()
        '.venv/Scripts/python.exe'
    """
    return venv / ("Scripts/python.exe" if platform == "win32" else "bin/python")


def setup() -> Path:
    """Make the environment, or bring it up to date, and return its Python."""
    python = interpreter(VENV, sys.platform)
    decisive = [ROOT / "pyproject.toml", CONSTRAINTS]
    if STAMP.exists() and all(f.stat().st_mtime < STAMP.stat().st_mtime for f in decisive):
        return python
    print("Making the environment in .venv: about 2 GB, which takes some minutes.", flush=True)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    what = f".[{extras((ROOT / 'Makefile').read_text('utf-8'))}]"
    install = ["-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    # The pinned versions are those of Linux; if one does not exist here, the ranges apply.
    exact = [str(python), *install, "-c", str(CONSTRAINTS), "-e", what]
    if subprocess.run(exact, cwd=ROOT).returncode:
        subprocess.run([str(python), *install, "-e", what], cwd=ROOT, check=True)
    STAMP.touch()
    return python


def main(words: Sequence[str]) -> int:
    """Run a command, and return its exit status."""
    if not words or words[0] not in ("setup", "lab", "test"):
        print(__doc__)
        return 2
    python = setup()
    command = {
        "setup": ["-c", ""],
        "lab": ["-m", "explorer.cli", "lab", *words[1:]],
        "test": [
            "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-m", "not long",
            "--ignore=tests/browser", *words[1:],
        ],
    }[words[0]]  # fmt: skip
    return subprocess.run([str(python), *command], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
