"""The grammar files that Lark ships, as the page on grammars says: what loads."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import lark
import pytest

import explorer

PAGE = Path(__file__).parents[3] / "docs" / "grammars.md"
FIRST = re.compile(r"(?m)^[?!]*([a-z_]\w*)(?:\.-?\d+)?\s*:")


def rows() -> dict[str, str]:
    """The files of the page's table, each with what it says."""
    found = re.findall(
        r"(?m)^\| `([^`]+\.(?:lark|gbnf))`(?: [^|]*)?\| ([^|]+) \|", PAGE.read_text("utf-8")
    )
    return {name: said.strip() for name, said in found}


def check(path: Path, said: str) -> None:
    """A file loads, from the rule that the page names."""
    named = re.search(r'start="(\w+)"', said)
    folder = path.parent if "folder=" in said else None
    begins = named[1] if named else None
    made = explorer.grammar(path.read_text("utf-8"), "lark", start=begins, folder=folder)
    assert made.machine.start >= 0, path


@pytest.mark.parametrize("name", ["python.lark", "lark.lark", "common.lark", "unicode.lark"])
def test_the_grammars_of_larks_package_load(name: str) -> None:
    check(Path(lark.__file__).parent / "grammars" / name, rows()[f"lark/grammars/{name}"])


@pytest.mark.long
def test_the_files_of_larks_source_load_as_the_page_says(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:",
             "-d", str(tmp_path), f"lark=={lark.__version__}"]  # fmt: skip
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("no registry has the source distribution of Lark")
    (archive,) = tmp_path.glob("lark-*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    root = archive.with_name(archive.name.removesuffix(".tar.gz"))
    table = {name: said for name, said in rows().items() if name.endswith(".lark")}
    for name, said in table.items():
        check(root / name, said)
    for path in root.rglob("*.lark"):
        name, text = path.relative_to(root).as_posix(), path.read_text("utf-8")
        if name not in table and (first := FIRST.search(text)):
            check(path, f'folder=, start="{first[1]}"')
