"""``docs/witnesses.md``: its code runs and its classes are those of the registry."""

from __future__ import annotations

import re

import pytest

from explorer.witnesses.reasons import CLASSES
from tests.witnesses.known import PAGE

pytest.importorskip("xgrammar")


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(block, "docs/witnesses.md", "exec"), {})
    assert "[dialect] xgrammar allows '\\n'" in capsys.readouterr().out


def test_the_classes_of_the_page_are_those_that_are_asked() -> None:
    _, _, rest = PAGE.read_text("utf-8").partition("<!-- classes")
    rows = re.findall(r"^\| ([a-zA-Z ]+) \| ([A-Z].*) \|$", rest, re.MULTILINE)
    assert rows[: len(CLASSES)] == list(CLASSES.items())
