"""The contents of a wheel: the code, and every file that the code reads from its own folders."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import explorer

pytest.importorskip("hatchling", reason="hatchling is not installed")

ROOT = Path(__file__).resolve().parents[1]


def built(kind: str, folder: Path) -> Path:
    """The built package: a ``wheel`` or an ``sdist``."""
    # The backend itself, so that nothing is asked of an index.
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def kept(folder: str, pattern: str) -> set[str]:
    """The files of a folder that git keeps or would keep, by their path in the repository."""
    ignored = (".ipynb_checkpoints", "__pycache__")
    found = (ROOT / folder).rglob(pattern)
    paths = [path.relative_to(ROOT) for path in found if path.is_file()]
    return {path.as_posix() for path in paths if not set(path.parts) & set(ignored)}


def test_every_module_and_what_it_reads_is_inside(names: set[str]) -> None:
    views = kept("widgets/static", "*")
    weights = kept("explorer/decoding", "*.safetensors")
    assert {Path(path).suffix for path in views} == {".js", ".css"}
    assert weights
    wanted = kept("explorer", "*.py") | kept("widgets", "*.py") | views | weights
    assert wanted - names == set()
    assert {"explorer/py.typed", "widgets/py.typed"} <= names


def test_the_notebooks_are_where_the_command_looks(names: set[str]) -> None:
    course = {f"explorer/{path}" for path in kept("notebooks", "*.ipynb")}
    assert "explorer/notebooks/00_quickstart.ipynb" in course
    assert course - names == set()


def test_nothing_else_is_inside(names: set[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"explorer", "widgets"}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_fresh_environment_answers(kind: str, tmp_path: Path) -> None:
    """Install the package alone, with what it depends on, and ask it two questions."""
    package, environment = built(kind, tmp_path), tmp_path / "environment"
    programs = environment / ("Scripts" if sys.platform == "win32" else "bin")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True, env=clean)

    def run(program: str, *words: str) -> str:
        began = time.perf_counter()
        done = subprocess.run(
            [str(programs / program), *words],
            cwd=tmp_path, env=clean, capture_output=True, text=True, check=False,
        )  # fmt: skip
        print(f"{program} {words[0]}: {time.perf_counter() - began:.1f} s")
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("pip", "install", "-q", "--no-input", str(package))
    print(f"{kind}: {package.stat().st_size / 1e6:.1f} MB")
    words = ("compile", "--regex", "(foo)+d", "--model", "tiny")
    run("explorer", *words)
    assert "token DFA" in run("explorer", *words)
    assert explorer.__version__ in run("explorer", "--version")
