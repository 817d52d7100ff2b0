"""`explorer lab` keeps the user's changes; `explorer doctor` lists what is installed."""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, ClassVar

import pytest

from explorer.cli import doctor, lab
from widgets import prompt_socket


def parse(*words: str) -> argparse.Namespace:
    top = argparse.ArgumentParser()
    commands = top.add_subparsers(required=True)
    lab.add_parser(commands)
    doctor.add_parser(commands)
    return top.parse_args(words)


def test_a_changed_notebook_is_never_overwritten(tmp_path: Path) -> None:
    lab.copy_notebooks({"a.ipynb": b"one", "b.ipynb": b"one"}, tmp_path)
    (tmp_path / "a.ipynb").write_bytes(b"mine")
    lines = lab.copy_notebooks({"a.ipynb": b"two", "b.ipynb": b"two"}, tmp_path)
    assert (tmp_path / "a.ipynb").read_bytes() == b"mine"
    assert (tmp_path / "b.ipynb").read_bytes() == b"two"
    assert ["yours" in line for line in lines] == [True, False]
    # And it stays the user's, also when our own changes again.
    lab.copy_notebooks({"a.ipynb": b"three"}, tmp_path)
    assert (tmp_path / "a.ipynb").read_bytes() == b"mine"


def test_a_file_that_was_there_before_is_the_users(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_bytes(b"mine")
    (tmp_path / lab.RECORD).write_text("[not json")
    lab.copy_notebooks({"a.ipynb": b"one"}, tmp_path)
    assert (tmp_path / "a.ipynb").read_bytes() == b"mine"


def test_the_notebooks_are_found_and_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = parse("lab", "--folder", str(tmp_path / "new"), "--copy-only")
    assert arguments.run(arguments) == 0
    notebook = json.loads((tmp_path / "new" / lab.FIRST).read_text())
    assert notebook["nbformat"] == 4
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"])
    assert "written" in capsys.readouterr().out


def test_the_command_line_asks_nothing_of_the_network(tmp_path: Path) -> None:
    words = lab.command(tmp_path, 8899, False)
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


def finding(name: str) -> doctor.Finding:
    return next(one for one in doctor.findings() if one.name == name)


def test_doctor_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "dot"
    broken.write_text("#!/bin/sh\necho 'no such plugin' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda name: str(broken) if name == "dot" else None)
    # A dot that is there and does not work is not enough; the wheel, where it is, is.
    pytest.importorskip("pygraphviz", reason="pygraphviz is not installed")
    found = finding("Graphviz")
    assert (found.level, "fails; the pygraphviz wheel" in found.found) == ("ok", True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = finding("Graphviz")
    assert (found.level, found.found) == (
        "note", "no such plugin: graphs are laid out more plainly",
    )  # fmt: skip
    assert "install Graphviz" in found.remedy
    # Nor is there a Python for the kernel on this path.
    assert "ipykernel install" in finding("kernel").remedy


def test_doctor_knows_what_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.9.2.dev1")
    found = finding("anywidget")
    assert found.level == "note"
    assert re.search(r"0\.9\.2\.dev1, but the explorer.* needs >=[0-9.]+", found.found)
    assert found.remedy == "pip install --upgrade 'constraint-explorer[lab]'"
    # What the engine itself needs is missing if it is too old.
    assert finding("numpy").level == "missing"


def test_doctor_misses_the_page_side(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert finding("widgets").level == "ok"
    monkeypatch.setattr("jupyter_core.paths.jupyter_path", lambda *_: [str(tmp_path)])
    found = finding("widgets")
    assert (found.level, "anywidget" in found.found, found.remedy != "") == ("note", True, True)


@pytest.mark.parametrize(("user", "told"), [(0, True), (1000, False)])
def test_root_is_let_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, user: int, told: bool
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert ("--allow-root" in lab.command(tmp_path, None, False)) == told


def test_the_server_is_given_an_extension_that_it_can_load(tmp_path: Path) -> None:
    words = lab.command(tmp_path, None, browser=False)
    assert "--ServerApp.jpserver_extensions=widgets.prompt_socket=True" in words
    served = pytest.importorskip("jupyter_server.extension.manager", reason="no jupyter_server")
    extension = served.ExtensionPackage(name=lab.EXTENSION, enabled=True)
    assert list(extension.extension_points) == [lab.EXTENSION]
    assert extension.extension_points[lab.EXTENSION].validate()


def test_small_messages_leave_at_once_whatever_class_connects() -> None:
    said: list[object] = []

    class Handler:
        def set_nodelay(self, value: bool) -> None:
            said.append(value)

    class Gateway:
        websocket_handler = Handler()

        def connect(self) -> str:
            said.append("connected")
            return "future"

    class Server:
        class web_app:
            settings: ClassVar[dict[str, Any]] = {prompt_socket.SETTING: Gateway}

    prompt_socket._load_jupyter_server_extension(Server)
    made = Server.web_app.settings[prompt_socket.SETTING]()
    assert isinstance(made, Gateway)
    assert made.connect() == "future"
    assert said == [True, "connected"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.skipif(os.name != "posix", reason="elsewhere JupyterLab is a process of its own")
def test_the_server_asks_no_question_and_ends_with_the_command(tmp_path: Path) -> None:
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    port = free_port()
    bare = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")}
    for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
        bare[f"JUPYTER_{name}"] = str(tmp_path / name)
    bare |= {"JUPYTER_TOKEN": "secret", "IPYTHONDIR": str(tmp_path / "ipython")}
    words = ["lab", "--no-browser", "--port", str(port), "--folder", str(tmp_path / "notebooks")]
    with (tmp_path / "log").open("w") as log:
        started = subprocess.Popen(
            [sys.executable, "-m", "explorer.cli", *words], env=bare, stdout=log, stderr=log
        )
    try:
        while not listens(port):  # The time limit of the test is the only one.
            assert started.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.1)
        plugin = "@jupyterlab/apputils-extension:notification"
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/lab/api/settings/{plugin}",
            headers={"Authorization": "token secret"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            schema = json.load(answer)["schema"]["properties"]
        assert schema["fetchNews"]["default"] == "false"
        assert schema["checkForUpdates"]["default"] is False
        assert "Starting JupyterLab" in (tmp_path / "log").read_text()
    finally:
        started.kill()  # As an impatient user or a supervisor does: no handler runs.
        started.wait()
    while listens(port):
        time.sleep(0.05)
