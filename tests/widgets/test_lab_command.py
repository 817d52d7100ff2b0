"""`explorer lab` keeps what the user wrote; `explorer doctor` says what is there."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from explorer import cli_doctor, cli_lab
from explorer.errors import ExplorerError


def parse(*words: str) -> argparse.Namespace:
    top = argparse.ArgumentParser()
    commands = top.add_subparsers(required=True)
    cli_lab.add_parser(commands)
    cli_doctor.add_parser(commands)
    return top.parse_args(words)


def test_a_changed_notebook_is_never_overwritten(tmp_path: Path) -> None:
    cli_lab.copy_notebooks({"a.ipynb": b"one", "b.ipynb": b"one"}, tmp_path)
    (tmp_path / "a.ipynb").write_bytes(b"mine")
    lines = cli_lab.copy_notebooks({"a.ipynb": b"two", "b.ipynb": b"two"}, tmp_path)
    assert (tmp_path / "a.ipynb").read_bytes() == b"mine"
    assert (tmp_path / "b.ipynb").read_bytes() == b"two"
    assert ["yours" in line for line in lines] == [True, False]
    # And it stays the user's, also when our own changes again.
    cli_lab.copy_notebooks({"a.ipynb": b"three"}, tmp_path)
    assert (tmp_path / "a.ipynb").read_bytes() == b"mine"


def test_a_file_that_was_there_before_is_the_users(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_bytes(b"mine")
    (tmp_path / cli_lab.RECORD).write_text("[not json")
    cli_lab.copy_notebooks({"a.ipynb": b"one"}, tmp_path)
    assert (tmp_path / "a.ipynb").read_bytes() == b"mine"


def test_the_notebooks_are_found_and_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = parse("lab", "--folder", str(tmp_path / "new"), "--copy-only")
    assert arguments.run(arguments) == 0
    notebook = json.loads((tmp_path / "new" / cli_lab.FIRST).read_text())
    assert notebook["nbformat"] == 4
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"])
    assert "written" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError, match="cannot be written"):
        cli_lab.copy_notebooks({"a.ipynb": b""}, tmp_path / "file")


def test_the_command_line_asks_nothing_of_the_network(tmp_path: Path) -> None:
    words = cli_lab.command(tmp_path, 8899, False)
    assert "--LabApp.extension_manager=readonly" in words
    assert "--no-browser" in words
    assert "--ServerApp.port=8899" in words


def test_doctor_reports_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = parse("doctor", "--json")
    assert arguments.run(arguments) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert found["numpy"]["level"] == "ok"
    assert "4,000 tokens" in found["embedded model"]["found"]
    assert all(one["remedy"] for one in found.values() if one["level"] != "ok")


@pytest.mark.parametrize(("user", "told"), [(0, True), (1000, False)])
def test_root_is_let_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, user: int, told: bool
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert ("--allow-root" in cli_lab.command(tmp_path, None, False)) == told
