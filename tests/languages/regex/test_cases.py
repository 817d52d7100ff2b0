"""The table of hand-written cases: our machines, `re` and the reference all say what it says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest

from explorer.budget import Meter
from explorer.languages.regex import compile_pattern
from tests.languages.regex import reference

# `re` warns that some sets may mean something else one day.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

TABLE: Final = Path(__file__).parents[2] / "data" / "regex.toml"
GROUPS: Final[dict[str, list[tuple[str, list[str], list[str]]]]] = tomllib.loads(
    TABLE.read_text("utf-8")
)


@pytest.mark.parametrize("name", GROUPS)
def test_cases(name: str) -> None:
    wrong: list[object] = []
    for pattern, accepted, rejected in GROUPS[name]:
        machine = compile_pattern(pattern, Meter())[1]
        compiled = re.compile(pattern)
        for expected, texts in ((True, accepted), (False, rejected)):
            for text in texts:
                verdicts = {
                    "re": compiled.fullmatch(text) is not None,
                    "machine": machine.accepts(text.encode()),
                    "reference": reference.fullmatch(pattern, text),
                }
                if set(verdicts.values()) != {expected}:
                    wrong.append((pattern, text, expected, verdicts))
    assert not wrong
