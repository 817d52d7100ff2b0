"""A machine and a session that are interrupted at any point go on as if they had not been."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tokens.interrupting import KINDS, Asker, AtLines, Undisturbed, run, walked

REPOSITORY = Path(__file__).resolve().parents[2]

WORKS: dict[str, Callable[[int, Asker], list[object]]] = {
    **{kind: lambda seed, by, kind=kind: walked(kind, seed, by) for kind in KINDS},
    "session": run,
}


@pytest.mark.parametrize("rounds", [1, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("work", WORKS)
def test_interrupted_between_any_two_lines(work: str, rounds: int) -> None:
    told = {seed: WORKS[work](seed, Undisturbed()) for seed in range(min(rounds, 3))}
    for number in range(rounds):
        draw = random.Random(f"{work} {number}")
        by = AtLines(draw, draw.choice([30, 200, 1500]) if rounds > 1 else 100)
        seed = number % len(told)
        assert WORKS[work](seed, by) == told[seed], number
        assert by.count >= 1


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", [400])
def test_interrupted_by_signals_at_random_times(count: int) -> None:
    """Ctrl-C, sent to a process of its own; what it said without is compared with."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.tokens.interrupting", str(count)],
        cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr[-3000:])
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["wrong"] == []
    assert sum(found["interrupts"].values()) >= count
