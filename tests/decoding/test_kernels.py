"""The Triton kernels equal the plain step: interpreted on any machine, compiled, and on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")


def run(*arguments: str, **environment: str) -> str:
    """A fresh interpreter: Triton decides at its first import whether kernels are interpreted."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_triton
def test_interpreted_kernels_equal_the_reference() -> None:
    """Numpy warns about arithmetic on infinities and NaN, which are the point of the test."""
    out = run("-W", "ignore", "-m", "tests.decoding.kernel_cases", "1", TRITON_INTERPRET="1")
    assert "kernels equal the reference" in out


@needs_triton
@pytest.mark.long
def test_interpreted_kernels_equal_the_reference_on_many_rows() -> None:
    out = run("-W", "ignore", "-m", "tests.decoding.kernel_cases", "20", TRITON_INTERPRET="1")
    assert "kernels equal the reference" in out


@needs_triton
def test_kernels_compile_for_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    out = run("-m", "tests.decoding.kernel_compile", TRITON_CACHE_DIR=str(tmp_path))
    kernels = ("mask_kernel", "words_kernel")
    assert out.split() == [f"{kernel}:{gpu}" for kernel in kernels for gpu in (80, 90, 100)]


@needs_triton
@pytest.mark.long
def test_every_form_of_the_kernels_compiles_for_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    out = run("-m", "tests.decoding.kernel_compile", "all", TRITON_CACHE_DIR=str(tmp_path))
    kernels = ["mask_kernel"] * 3 + ["words_kernel"]
    assert out.split() == [f"{kernel}:{gpu}" for kernel in kernels for gpu in (80, 90, 100)]


@pytest.mark.gpu
def test_kernels_equal_the_reference_on_a_gpu() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    from tests.decoding import kernel_cases

    kernel_cases.check_masks("cuda")
    kernel_cases.check_words("cuda")
