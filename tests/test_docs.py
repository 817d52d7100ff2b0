"""Forbidden in the project's texts: addresses and paths of one machine or one workplace."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = {".py", ".md", ".toml", ".txt", ".cfg", ".json", ".ipynb", ".js", ".css", ".yml", ".yaml"}
BARE = {"Makefile", "run", "LICENSE", ".gitignore"}
SKIPPED = {".git", ".venv", "__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis", "build"}

# Put together here, so that this file does not hold what it looks for.
FORBIDDEN = {
    "an absolute path of a machine": re.compile(
        r"(?<![\w.~\]/-])/(?:" + "|".join(("home", "root", "Users", "work", "opt", "tmp")) + r")/\w"
    ),
    "an address of a package registry": re.compile(
        "|".join((r"py" + r"pi\.org", r"python" + r"hosted\.org", r"--(?:extra-)?" + "index-url"))
    ),
    "a file address": re.compile("file:" + "//"),
    "a path of this folder": re.compile(re.escape(str(ROOT)) + r"\b"),
}


def reasons(text: str) -> list[str]:
    """The forbidden parts of a text."""
    return [reason for reason, pattern in FORBIDDEN.items() if pattern.search(text)]


def files() -> Iterator[Path]:
    for path in sorted(ROOT.rglob("*")):
        if SKIPPED & set(path.relative_to(ROOT).parts) or not path.is_file():
            continue
        if path.suffix in TEXT or path.name in BARE:
            yield path


def test_no_file_names_a_machine() -> None:
    named = {path.relative_to(ROOT): reasons(path.read_text("utf-8")) for path in files()}
    assert len(named) > 1000
    assert {str(path): why for path, why in named.items() if why} == {}


@pytest.mark.parametrize(
    "text",
    [
        "see /" + "home/me/models",
        "pip install --index" + "-url x",
        "https://py" + "pi.org/simple",
        "file:" + "///wheels",
        str(ROOT),
    ],
)
def test_a_machine_would_be_found(text: str) -> None:
    assert reasons(text) != []


@pytest.mark.parametrize("name", ["pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"])
def test_the_top_level_is_complete(name: str) -> None:
    assert (ROOT / name).stat().st_size > 0


def test_the_top_level_stays_small() -> None:
    """Only what git keeps counts: `make lab` leaves copies of the notebooks beside it."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    folders = {line.split("/")[0] for line in listed.stdout.splitlines() if "/" in line}
    assert {name for name in folders if not name.startswith(".")} == {
        "explorer", "widgets", "notebooks", "tests", "benchmarks", "models", "tools", "binder",
        "docs",
    }  # fmt: skip


def test_every_target_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("setup", "lab", "test", "test-long", "check", "bench"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_constraints_pin_every_dependency_exactly() -> None:
    lines = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][\w.]*", pin) for pin in pins)
    assert "torch==2.13.0" in pins


NAMED = re.compile(r"`((?:explorer|widgets|tests|benchmarks|models|tools)/[\w/]+\.\w+)`")


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    named = NAMED.findall((ROOT / page).read_text("utf-8"))
    assert len(named) > 9
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_decisions_stay_few_and_each_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text("utf-8")
    titles = [page.read_text("utf-8").splitlines()[0] for page in sorted(folder.glob("0*.md"))]
    assert 0 < len(titles) <= 30
    assert [title for title in titles if f"[{title.split('. ', 1)[1]}](" not in listed] == []
