"""A kernel that ends while questions are open ends by itself, and is not aborted."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.evidence import few

PROGRAM = """
import explorer
from widgets import Explorer
view = Explorer("tiny", explorer.regex(r"[A-Z][a-z]+( [a-z]+){4,20}"), "The ")
view.cursor.run(4)
for number, name in enumerate(("ahead", "reasons", "traps", "around", "machine", "words")):
    view._hear(None, {"type": name, "re": number + 1}, None)
"""


@pytest.mark.parametrize("attempt", few(range(25), 1))
def test_an_exit_while_questions_run_is_no_abort(attempt: int) -> None:
    """Without the end of `Tasks`, eight of ten such exits were aborted."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, timeout=240, check=False
    )
    assert (done.returncode, done.stderr[-2000:]) == (0, b""), attempt
