"""Any laptop: without the libraries that only Linux has, and without pynini."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent

BARE = """
import builtins, os, signal, sys

imported = builtins.__import__

def import_elsewhere(name, names=None, *rest, **more):
    ours = (names or {}).get("__name__", "").split(".")[0] in ("explorer", "widgets")
    if ours and name in ("fcntl", "resource", "pty", "termios"):
        raise ImportError(name)
    return imported(name, names, *rest, **more)

builtins.__import__ = import_elsewhere
sys.modules["pynini"] = sys.modules["interegular"] = None
del os.fork, os.forkpty, signal.SIGALRM, signal.setitimer, signal.alarm
"""
"""What Linux alone has is hidden: from our own files, as libraries ask for it by the system."""

EVERY_FILE = (
    BARE
    + """
import pkgutil
import explorer, widgets

optional = {"triton", "vllm", "outlines_core", "xgrammar", "llguidance", "ipykernel"}
for package in (explorer, widgets):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if found.name.endswith("__main__"):
            continue
        try:
            __import__(found.name)
        except ModuleNotFoundError as error:
            assert error.name.split(".")[0] in optional, (found.name, error)
print("loaded")
"""
)

IN_USE = (
    EVERY_FILE
    + """
import tempfile
from pathlib import Path
import explorer
from explorer.errors import MissingDependency

lm = explorer.load_model("tiny")
c = explorer.regex("[a-z]{1,5}").preprocessed(lm.vocabulary)
session = explorer.Session(lm, c, prompt="A word:", seed=0)
session.run(max_tokens=4)
assert explorer.explain(session.machine, session.machine.start, 0).message
explorer.json_schema({"type": "object", "properties": {"a": {"type": "integer"}}}).accepts("{}")
assert explorer.regex("a.").normalized("NFC").accepts("ab")
for use in (
    lambda: explorer.compile(explorer.regex("a+"), lm.vocabulary, method="pynini"),
    lambda: explorer.Constraint.from_fst("a machine"),
    lambda: explorer.Constraint.from_fsm("a machine"),
    lambda: explorer.regex("a").fsa,
    lambda: explorer.regex("a").to_interegular(),
):
    try:
        use()
    except MissingDependency as error:
        assert "Install it" in error.remedy and error.evidence["library"] in str(error), error
    else:
        raise AssertionError
print("used")
"""
)


def test_what_linux_alone_has_is_not_needed() -> None:
    """Neither to load every file nor, in the same process, to use what is there."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_USE], cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.split()) == (0, ["loaded", "used"]), done.stderr[-3000:]


def manylinux(machine: str) -> list[str]:
    """The tags of Linux, the old names of the oldest among them."""
    return [f"manylinux2014_{machine}", f"manylinux2010_{machine}"] + [
        f"manylinux_2_{version}_{machine}" for version in range(5, 42)
    ]


PLATFORMS = {
    "Linux x86-64": ("Linux", "x86_64", "linux", manylinux("x86_64")),
    "Linux ARM": ("Linux", "aarch64", "linux", manylinux("aarch64")),
    "macOS, Apple": ("Darwin", "arm64", "darwin", [f"macosx_{k}_0_arm64" for k in range(11, 16)]),
    "macOS, Intel": (
        "Darwin",
        "x86_64",
        "darwin",
        ["macosx_10_9_x86_64", "macosx_10_12_x86_64", "macosx_10_13_x86_64", "macosx_10_15_x86_64"]
        + [f"macosx_{k}_0_{kind}" for k in range(11, 16) for kind in ("x86_64", "universal2")],
    ),
    "Windows": ("Windows", "AMD64", "win32", ["win_amd64"]),
}
"""By a name: the values of three markers, and the tags of wheels that pip takes there."""

NO_WHEELS = {
    # PyTorch ended its wheels for Intel Macs with 2.2, and numba its own before Python 3.14.
    "macOS, Intel": {"torch", "numba", "xgrammar"}
}
"""What has no wheels there; conda-forge has it."""

EXTRAS = ("models", "tokenizers", "types", "sweeps", "witnesses", "lab", "dev")


def wanted(platform: str, python: str) -> list[str]:
    """The requirements of the package and its extras there."""
    system, machine, sys_platform, _ = PLATFORMS[platform]
    project: Any = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"]]
    for extra in EXTRAS:
        lines += project["optional-dependencies"][extra]
    markers = {
        "platform_system": system, "platform_machine": machine, "sys_platform": sys_platform,
        "python_version": python, "python_full_version": f"{python}.0",
    }  # fmt: skip
    asked: list[str] = []
    for line in dict.fromkeys(lines):
        requirement = Requirement(line)
        if requirement.name not in NO_WHEELS.get(platform, ()) and (
            requirement.marker is None or requirement.marker.evaluate(markers)
        ):
            asked.append(f"{requirement.name}{requirement.specifier}")
    return asked


def test_pynini_is_asked_for_where_it_has_wheels() -> None:
    with_pynini = {
        (platform, python)
        for platform in PLATFORMS
        for python in ("3.11", "3.12", "3.13", "3.14")
        if any(line.startswith("pynini") for line in wanted(platform, python))
    }
    assert with_pynini == {("Linux x86-64", python) for python in ("3.11", "3.12", "3.13")}
