"""The finding of `explorer doctor` about the kernel: the Python that Jupyter would start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.cli import doctor

pytest.importorskip("jupyter_client")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first folder for programs, and for descriptions of kernels."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    return tmp_path


def finding(folder: Path, program: str) -> doctor.Finding:
    """What is found of a kernel that is started by a program."""
    described = folder / "kernels" / "python3" / "kernel.json"
    described.parent.mkdir(parents=True)
    argv = [program, "-m", "ipykernel_launcher"]
    described.write_text(json.dumps({"argv": argv, "display_name": "", "language": "python"}))
    return next(one for one in doctor.findings() if one.name == "kernel")


def other_python(folder: Path, name: str) -> Path:
    other = folder / name
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    return other


@pytest.mark.parametrize("name", ["python", "python3"])
def test_a_plain_name_is_the_python_that_runs_jupyter(folder: Path, name: str) -> None:
    """Jupyter puts its own program in the place of the name, whatever the search path says."""
    other_python(folder, name)
    kernel = finding(folder, name)
    assert (kernel.level, kernel.found) == ("ok", "notebooks run in this Python")


def test_another_program_is_named(folder: Path) -> None:
    other = other_python(folder, "python9")
    kernel = finding(folder, str(other))
    assert kernel.level == "note" and str(other) in kernel.found
    assert sys.executable in str(kernel.remedy)


def test_libraries_that_take_seconds_are_not_imported() -> None:
    code = (
        "import sys; from explorer.cli import doctor; found = doctor.findings(); "
        "print(*{'torch', 'transformers', 'jupyterlab'} & {*sys.modules}); "
        "print(next(one.found for one in found if one.name == 'embedded model'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["", "tiny, 4,000 tokens"]


def test_the_steps_of_a_model_are_described() -> None:
    steps = doctor.steps("tiny", "cpu")
    assert steps.level == "ok"
    assert steps.found.startswith("of tiny on cpu: not replayed from a graph: cpu has none; masks")
