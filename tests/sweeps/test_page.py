"""``docs/sweeps.md``: its code runs, and its columns are those of the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from explorer.sweeps.folder import columns

PAGE = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text("utf-8")


@pytest.mark.long
def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(compile(block, "docs/sweeps.md", "exec"), names)
    assert "16 of 16 rows, 0 failed" in str(names["done"])
    assert (tmp_path / "report.html").stat().st_size > 1_000


def test_the_columns_of_the_page_are_those_of_the_table() -> None:
    section = PAGE.partition("## The columns")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(columns().names)
