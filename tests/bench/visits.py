"""The mask of a state that is visited for the first time, state by state along a text.

Each round compiles anew and walks the longest accepted text of each constraint of Koo et al. (C.4)
as tokens; the mask of every state on the way is asked for once, and timed. Ours are a table and a
machine that works its rows out; states that come again are left out there, because their masks are
kept. llguidance keeps no masks, so for it every state counts. Microseconds of the clock: over the
rounds the lowest and the median of each state, and over the states after the start the median and
the highest of these.

``python -m tests.bench.visits`` writes ``docs/benchmarks/visits.json`` and, from it, ``visits.md``;
``--quick`` prints three rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from explorer.tokens.machine import TokenMachine
from tests.bench.constraints import CASES
from tests.bench.engines import Engine, Greedy, make
from tests.bench.tables import figure, table
from tests.bench.vocabularies import plain, tekken_131k

RESULTS: Final = Path(__file__).parents[2] / "docs" / "benchmarks" / "visits.json"
PAGE: Final = RESULTS.with_suffix(".md")
PAGE_TEXT: Final = """# The mask of a state that is new

Written by `python -m tests.bench.visits` from `visits.json`; how it is measured stands there.
131,072 tokens, {rounds} rounds, a load of {load} when it began. Microseconds: at the start, the
median over the later states, and the slowest of them; each as the lowest and the median of the
rounds.

{table}

The slow states are those within a string: what is left of the vocabulary there after the words of
plain text, which are taken at once, is a walk of 8,000 nodes.
"""
ENGINES: Final = ("explorer", "explorer, lazy", "llguidance")
REPEATS: Final = 20

Visits = Iterator[tuple[int, float]]
"""Positions of a text, and microseconds for the mask there."""


def ours(machine: TokenMachine, tokens: list[int]) -> Visits:
    """The states of a walk that are new."""
    state: int | None = machine.start
    seen: set[int] = set()
    for position, token in enumerate([*tokens, -1]):
        assert state is not None
        if state not in seen:
            yield position, clocked(machine.mask, state)
        seen.add(state)
        state = machine.step(state, token)


def theirs(matcher: Any, tokens: list[int]) -> Visits:
    """The states of a walk of llguidance."""
    for position, token in enumerate([*tokens, -1]):
        yield position, clocked(matcher.compute_bitmask)
        if token < 0 or not matcher.consume_token(token):
            return


def clocked(task: Callable[..., object], *given: object) -> float:
    """Microseconds of one call."""
    began = time.perf_counter()
    task(*given)
    return 1e6 * (time.perf_counter() - began)


def measure(repeats: int) -> dict[str, Any]:
    """Every constraint, in every engine."""
    data = plain(tekken_131k())
    spelled = Greedy(data)
    engines: dict[str, Engine] = {name: make(name, data) for name in ENGINES}
    rows: dict[str, Any] = {}
    for case in CASES:
        tokens = spelled(max(case.accepted, key=len))
        times: dict[str, dict[int, list[float]]] = {name: {} for name in engines}
        for turn in range(-1, repeats):
            for name, engine in engines.items():
                walk = theirs if name == "llguidance" else ours
                compiled = engine.compile(case.pattern)
                gc.collect()
                gc.disable()
                for position, taken in walk(compiled, tokens):
                    if turn >= 0:
                        times[name].setdefault(position, []).append(taken)
                gc.enable()
        rows[case.name] = {name: summed(found) for name, found in times.items()}
    return {"load": os.getloadavg()[0], "rounds": repeats, "rows": rows}


def summed(times: dict[int, list[float]]) -> dict[str, Any]:
    """The figures of one engine and constraint, from the rounds of each position."""
    found: dict[str, Any] = {"states": len(times)}
    for name, of_rounds in (("lowest", min), ("median", statistics.median)):
        each = [of_rounds(taken) for _, taken in sorted(times.items())]
        found[name] = {
            "start": each[0], "later": statistics.median(each[1:]), "slowest": max(each[1:])
        }  # fmt: skip
    return found


def page(found: dict[str, Any]) -> str:
    """The table as Markdown.

    Args:
        found: What was measured.
    """
    rows = [
        [case, name, str(taken["states"])]
        + [
            f"{figure(taken['lowest'][part])} / {figure(taken['median'][part])}"
            for part in ("start", "later", "slowest")
        ]
        for case, engines in found["rows"].items()
        for name, taken in engines.items()
    ]
    head = ["constraint", "engine", "states", "start", "later", "slowest"]
    return PAGE_TEXT.format(
        rounds=found["rounds"], load=f"{found['load']:.1f}", table=table(head, rows)
    )


def main() -> None:
    """Measure, print, and write unless ``--quick``."""
    words = argparse.ArgumentParser()
    words.add_argument("--quick", action="store_true")
    quick: bool = words.parse_args().quick
    found = measure(3 if quick else REPEATS)
    print(page(found))
    if not quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
