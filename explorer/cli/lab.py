"""``explorer lab``: copies the notebooks to a folder of the user's, and opens JupyterLab there.

Notebooks are copied, because users write into them: a notebook that the user has changed is never
overwritten. A small file of hashes beside the copies records the copied versions. A notebook that
is new in this version, or unchanged by the user, is updated.

The command only starts JupyterLab; it imports no widget and no model. Where possible, its process
*becomes* JupyterLab's, so that ending one ends the other. The network is not used: JupyterLab's
news, its question about them and its extension manager are switched off for this server, by
settings of our own (`SETTINGS`); the user's settings for all servers stay.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from explorer.cli.command import Commands, add_command
from explorer.errors import ExplorerError, MissingDependency
from explorer.files import write_whole

FIRST: Final = "00_quickstart.ipynb"
RECORD: Final = ".explorer-notebooks.json"
EXTENSION: Final = "widgets.prompt_socket"
"""The server extension without which every click waits up to 40 ms for an acknowledgement."""

SETTINGS: Final = Path(__file__).parent / "jupyter"
"""A folder for ``JUPYTER_CONFIG_PATH``: its ``labconfig`` holds defaults of JupyterLab."""


def add_parser(commands: Commands) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "lab",
        run,
        "open JupyterLab on the notebooks",
        "Copy the notebooks to a folder, except over those you changed, and open JupyterLab.",
    )
    command.add_argument(
        "--folder",
        default="explorer-notebooks",
        metavar="PATH",
        help="the folder of the notebooks (default explorer-notebooks, in this folder)",
    )
    command.add_argument("--port", type=int, metavar="N", help="the server's port")
    command.add_argument("--no-browser", action="store_true", help="do not open a browser")
    command.add_argument("--copy-only", action="store_true", help="only copy the notebooks")


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Returns:
        JupyterLab's exit status.

    Raises:
        MissingDependency: JupyterLab or the notebooks' widgets are not installed.
        ExplorerError: The package has no notebooks, or the folder cannot be written.
    """
    folder = Path(str(arguments.folder)).expanduser().resolve()
    for line in copy_notebooks(notebooks(), folder):
        print(line)
    if arguments.copy_only:
        return 0
    for library in ("jupyterlab", "anywidget"):
        if importlib.util.find_spec(library) is None:
            raise MissingDependency(
                f"The notebooks need {library}, which is not installed.",
                remedy="Install the extra `lab`: pip install 'constraint-explorer[lab,models]'.",
                evidence={"library": library},
            )
    words = command(folder, arguments.port, not arguments.no_browser)
    print("Starting JupyterLab; its address follows, and Ctrl-C ends it.", flush=True)
    if os.name == "posix":
        os.chdir(folder)
        os.execve(words[0], words, environment())  # This process is JupyterLab from here on.
    return subprocess.call(words, cwd=folder, env=environment())


def environment() -> dict[str, str]:
    """The environment of the server: the present one, with the path to our settings."""
    paths = [str(SETTINGS), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    return {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(paths)}


def command(folder: Path, port: int | None, browser: bool) -> list[str]:
    """The command line that starts JupyterLab.

    Args:
        port: The server's port; by default the server chooses.
    """
    words = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}"]
    # Nothing is fetched: no extension catalogue, no news.
    words += ["--LabApp.extension_manager=readonly", "--LabApp.news_url=None"]
    words.append(f"--ServerApp.jpserver_extensions={EXTENSION}=True")
    words += [f"--LabApp.default_url=/lab/tree/{FIRST}"]
    if port is not None:
        words.append(f"--ServerApp.port={port}")
    if not browser:
        words.append("--no-browser")
    # In containers everybody is root, and Jupyter then needs permission. The server still listens
    # on the loopback address only and asks for its token.
    if sys.platform != "win32" and os.geteuid() == 0:
        words.append("--allow-root")
    return words


def notebooks() -> dict[str, bytes]:
    """The package's notebooks by name, from the checkout or the installation.

    Raises:
        ExplorerError: There are no notebooks.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package.parent / "notebooks", package / "notebooks"):
        texts = {path.name: path.read_bytes() for path in sorted(folder.glob("*.ipynb"))}
        if texts:
            return texts
    raise ExplorerError(
        "This installation has no notebooks.",
        remedy="Install the package again, or run this in a checkout.",
    )


def copy_notebooks(wanted: Mapping[str, bytes], folder: Path) -> list[str]:
    """Copy notebooks to a folder, except over those that the user has changed.

    Args:
        folder: The target; it is made if it does not exist.

    Returns:
        A line about each.

    Raises:
        ExplorerError: The folder cannot be made or written.
    """
    record = folder / RECORD
    known = _read_record(record)
    lines: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in wanted.items():
            target = folder / name
            there = target.read_bytes() if target.exists() else None
            if there == content:
                lines.append(f"  {target}: up to date")
            elif there is not None and _hash(there) != known.get(name):
                lines.append(f"  {target}: yours, left as it is")
                continue
            else:
                write_whole(target, content)
                lines.append(f"  {target}: {'written' if there is None else 'brought up to date'}")
            known[name] = _hash(content)
        write_whole(record, json.dumps(known, indent=1).encode())
    except OSError as error:
        raise ExplorerError(
            f"The folder {folder} cannot be written: {error.strerror or error}.",
            remedy="Name another one with --folder.",
            evidence={"folder": str(folder)},
        ) from error
    return lines


def _read_record(path: Path) -> dict[str, str]:
    """The record of the copied versions; empty if the file is missing or cannot be read."""
    try:
        record: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(record, dict):
        return {}
    entries = cast("dict[object, object]", record).items()
    return {k: v for k, v in entries if isinstance(k, str) and isinstance(v, str)}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
