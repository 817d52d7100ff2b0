"""The finding of `explorer doctor` about the kernel: the Python that Jupyter would start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from explorer.cli.doctor import _kernel  # pyright: ignore[reportPrivateUsage]


def kernel_of(monkeypatch: pytest.MonkeyPatch, program: str) -> Any:
    specs = pytest.importorskip("jupyter_client.kernelspec")

    def spec(*_: object) -> object:
        return specs.KernelSpec(argv=[program, "-m", "ipykernel_launcher"])

    monkeypatch.setattr(specs.KernelSpecManager, "get_kernel_spec", spec)
    return _kernel()


@pytest.mark.parametrize("name", ["python", "python3"])
def test_a_plain_name_is_the_python_that_runs_jupyter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """Jupyter puts its own program in the place of the name, whatever the search path says."""
    other = tmp_path / name
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    kernel = kernel_of(monkeypatch, name)
    assert (kernel.level, kernel.found) == ("ok", "notebooks run in this Python")


def test_another_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "python9"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    kernel = kernel_of(monkeypatch, str(other))
    assert kernel.level == "note" and str(other) in kernel.found
    assert sys.executable in str(kernel.remedy)
