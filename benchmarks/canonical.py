"""The cost of the canonical filter: to compile, for a first mask, for a new state, per constraint.

Run ``python -m benchmarks.canonical [--write]``: the five constraints of Koo et al., appendix C.4,
on Tekken's 131,072 ids, beside the same machine without the filter in the same process. CPU time,
the second of two runs of each, so that machine code and the tokenizer's rules are loaded; a state
is new to the machine, not to the filter, which all machines share. ``--write`` puts the table into
``docs/benchmarks/canonical.md``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Final

import numpy as np

import explorer
from benchmarks.constraints import CASES, Case
from explorer import Constraint, Vocabulary
from explorer.tokens.machine import TokenMachine

TEKKEN: Final = Path(str(resources.files("mistral_common"))) / "data" / "tekken_240911.json"
TABLE: Final = Path(__file__).parents[1] / "docs" / "benchmarks" / "canonical.md"


def timed(run: Callable[[], object]) -> float:
    """Milliseconds of CPU."""
    began = time.process_time()
    run()
    return 1e3 * (time.process_time() - began)


def measured(vocabulary: Vocabulary, constraint: Constraint, case: Case) -> list[float]:
    """Compile, first mask, median and slowest new state, in milliseconds."""
    made = list[TokenMachine]()
    compiled = timed(lambda: made.append(explorer.compile(constraint, vocabulary)))
    machine = made[0]
    first = timed(lambda: machine.mask(machine.start))
    steps: list[float] = []
    for text in case.accepted:
        state = machine.start
        for token in vocabulary.encode(text) or ():

            def visit(here: int = state, token: int = token) -> None:
                machine.mask(here)
                machine.step(here, token)

            steps.append(timed(visit))
            target = machine.step(state, token)
            if target is None:
                break
            state = target
    return [compiled, first, float(np.median(steps)), max(steps)]


def rows(vocabulary: Vocabulary) -> Iterator[str]:
    """The lines of the table."""
    yield "| constraint | compile, ms | first mask | new state, median | slowest | unfiltered |"
    yield "|---|---|---|---|---|---|"
    for case in CASES:
        plain = explorer.regex(case.pattern)
        runs = [[measured(vocabulary, constraint, case) for _ in range(2)][-1]
                for constraint in (plain.canonical(vocabulary), plain)]  # fmt: skip
        found, bare = runs
        numbers = " | ".join(f"{number:.2f}" for number in found)
        yield f"| {case.name} | {numbers} | {' / '.join(f'{number:.2f}' for number in bare)} |"


def main() -> None:
    """Print the table, and write it down if asked to."""
    lines = list(rows(Vocabulary.from_file(TEKKEN)))
    print("\n".join(lines))
    if "--write" in sys.argv:
        TABLE.write_text(
            "# The canonical filter\n\nWritten by `python -m benchmarks.canonical --write`: CPU "
            "milliseconds on Tekken's\n131,072 ids. The last column is the machine without the "
            "filter: compile / first mask /\nmedian / slowest. The budget of compiling is 100 ms, "
            "10 ms for finite constraints.\nOther work beside it: a load of "
            f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores.\n\n" + "\n".join(lines) + "\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
