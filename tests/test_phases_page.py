"""The page on phases: its code runs, one block after the other, with what it asserts."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs" / "phases.md").read_text("utf-8")


def test_the_code_of_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 6
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/phases.md", "exec"), scope)
