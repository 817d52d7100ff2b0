"""The table of hand-written cases: our machines, `re` and the reference all say what it says."""

from __future__ import annotations

import re

import pytest

from explorer.budget import Meter
from explorer.languages.regex import compile_pattern
from tests.languages.regex import cases, reference

# `re` warns that some sets may mean something else one day.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

GROUPS = {
    name: table
    for name, table in vars(cases).items()
    if name.isupper() and isinstance(table, list) and name != "CASES"
}


def test_the_table_is_broad() -> None:
    assert len({case[0] for case in cases.CASES}) >= 300
    assert sum(map(len, GROUPS.values())) == len(cases.CASES)


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
