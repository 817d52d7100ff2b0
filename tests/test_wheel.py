"""The contents of a wheel: the code, and every file that the code reads from its own folders."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling is not installed")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("wheel")
    # The backend itself, so that nothing is asked of an index.
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
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
