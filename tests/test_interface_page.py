"""The page that maps another interface to ours: its code runs, and its calls exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import explorer
from explorer.decoding.batches.generate import Generation

PAGE = (Path(__file__).parents[1] / "docs" / "interface.md").read_text("utf-8")


def test_the_code_of_the_page_runs() -> None:
    pytest.importorskip("interegular")
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/interface.md", "exec"), {})


def test_the_names_of_the_table_exist() -> None:
    rows = [line.split(" | ")[-1] for line in PAGE.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 18
    fields = set(re.findall(r"`(?:Generation)?\.(\w+)`", " ".join(rows)))
    assert len(fields) > 6
    (given,) = generated()
    assert all(hasattr(given, field) for field in fields)
    calls = set(re.findall(r"`(\w+)\(", " ".join(rows)))
    assert {"generate", "probability", "probability_mass", "Sampler", "Session"} <= calls
    assert all(hasattr(explorer, call) for call in calls)


def generated() -> list[Generation]:
    lm = explorer.load_model("tiny")
    return explorer.generate(lm, ["a"], explorer.literal("b"))
