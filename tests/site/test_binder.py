"""Binder's files: what they name exists, and the environment can be made from them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools.home import HOME, QUICKSTART, binder, with_badge
from tools.site.pages import ROOT

BINDER = ROOT / "binder"
REQUIREMENTS = (BINDER / "requirements.txt").read_text("utf-8").splitlines()


def test_the_requirements_are_the_package_with_extras_that_exist() -> None:
    options = [line for line in REQUIREMENTS if line.startswith("-")]
    assert options == [
        "--find-links https://download.pytorch.org/whl/cpu/torch/",
        "-c ../.ci/constraints.txt",
    ]
    assert (BINDER / "../.ci/constraints.txt").is_file()
    (package,) = [line for line in REQUIREMENTS if line.startswith(".")]
    extras = package.removeprefix(".[").removesuffix("]").split(",")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {"lab", "models"} <= set(extras) <= set(known["optional-dependencies"])
    (python,) = (BINDER / "runtime.txt").read_text("utf-8").split()
    assert python == "python-3.11"


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_a_script_can_run(name: str) -> None:
    assert os.access(BINDER / name, os.X_OK)
    subprocess.run(["bash", "-n", str(BINDER / name)], check=True)
    for path in re.findall(r"(?:explorer|notebooks)/[\w/]+", (BINDER / name).read_text("utf-8")):
        assert (ROOT / path).exists(), path


def test_start_runs_what_it_is_given() -> None:
    done = subprocess.run(
        [str(BINDER / "start"), "sh", "-c", "echo $OMP_NUM_THREADS $0", "lab"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "1 lab\n"


def test_the_badge_stands_where_there_is_a_home() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert readme == with_badge(readme, HOME)
    assert (ROOT / QUICKSTART).is_file()
    shown = with_badge(readme, "someone/explorer")
    assert f"]({binder('someone/explorer')})<!-- end" in shown
    assert with_badge(shown, "") == with_badge(readme, "")


def test_no_page_has_an_address_to_be_filled_in() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert [str(page) for page in pages if "OWNER/" in page.read_text("utf-8")] == []


def test_repo2docker_takes_these_files() -> None:
    program = shutil.which("repo2docker")
    if program is None:
        pytest.skip("repo2docker is not installed: pip install jupyter-repo2docker")
    done = subprocess.run(
        [program, "--no-build", "--debug", str(ROOT)],
        capture_output=True, text=True, check=False, cwd=ROOT.parent,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-2000:]
    for wanted in (
        "python=3.11", "fonts-dejavu-core", "graphviz", "./binder/postBuild", "binder/start",
        'pip install --no-cache-dir -r "binder/requirements.txt"',
    ):  # fmt: skip
        assert wanted in said, wanted


@pytest.mark.long
def test_the_environment_is_made_from_scratch(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.binder", "--folder", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(r"^quickstart: \d+ s", done.stdout, re.MULTILINE)
