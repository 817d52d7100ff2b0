"""Any laptop: without the libraries that only Linux has, and without pynini."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
