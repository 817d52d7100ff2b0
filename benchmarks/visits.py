"""The mask of a state that is visited for the first time, state by state along a text.

Each round compiles anew and walks the longest accepted text of each constraint of Koo et al. (C.4)
as tokens; the mask of every state on the way is asked for once, and timed. Ours are a table and a
machine that works its rows out; states that come again are left out there, because their masks are
kept. llguidance keeps no masks, so for it every state counts. Microseconds of the clock: over the
rounds the lowest and the median of each state, and over the states after the start the median and
the highest of these.

Then walks of `STEPS` steps over wide patterns and schemas (`benchmarks.visit_cases`): tokens drawn
from our masks, the same for all engines; an engine that refuses one of them, because it reads a
pattern or a schema otherwise, stops there. Each engine compiles anew in each of `WALKS` rounds, and
of each mask the lowest time of the processor counts; visited states count too, as in a server.
xgrammar, which takes seconds for some of them, is asked for no real schema. The first mask is from
the pattern or the schema on.

``python -m benchmarks.visits`` writes ``docs/benchmarks/visits.json`` and, from it, ``visits.md``;
``--quick`` prints three rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import xgrammar
from numpy.typing import NDArray

import explorer
from benchmarks.constraints import CASES
from benchmarks.engines import Engine, Greedy, make
from benchmarks.tables import figure, table
from benchmarks.visit_cases import PATTERNS, SCHEMAS, schemas
from benchmarks.vocabularies import plain, tekken_131k
from explorer.errors import ExplorerError
from explorer.tokens.machine import TokenMachine

RESULTS: Final = Path(__file__).parents[1] / "docs" / "benchmarks" / "visits.json"
PAGE: Final = RESULTS.with_suffix(".md")
PAGE_TEXT: Final = """# The mask of a state that is new

Written by `python -m benchmarks.visits` from `visits.json`; how it is measured stands there.
131,072 tokens, {rounds} rounds, a load of {load} when it began. Microseconds: at the start, the
median over the later states, and the slowest of them; each as the lowest and the median of the
rounds.

{table}

The slow states are those within a string: what is left of the vocabulary there after the words of
the letters that it reads, which are taken at once, is a walk of some thousand nodes.

## Walks over wide patterns and schemas

{steps} steps, {walks} rounds, a load of {walk_load} when they began. Microseconds of the processor
for one mask; milliseconds for the first mask: the median over the cases, and the slowest. An engine
that did not read a case is not in it.

{summary}

Case by case: the first mask in milliseconds, and of the masks on the walk the 99th percentile and
the slowest in microseconds.

{cases}
"""
ENGINES: Final = ("explorer", "explorer, lazy", "llguidance")
REPEATS: Final = 20
STEPS: Final = 300
WALKS: Final = 3
BUDGET: Final = explorer.Budget(seconds=60)
WALKED: Final = ("explorer, lazy", "llguidance", "xgrammar")
SLOW: Final = 0.3
"""Seconds; an engine whose first mask took longer is not asked again for that case."""

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


def walks(steps: int, rounds: int, every: int = 1) -> dict[str, Any]:
    """The walks over the wide cases.

    Args:
        steps: How many tokens a walk has at most.
        rounds: How often each engine compiles and walks.
        every: Every so many of the cases.
    """
    data = plain(tekken_131k())
    engines: dict[str, Any] = {name: make(name, data) for name in WALKED}
    ends = np.array([data is not None and any(e in data for e in ENDS) for data in data.tokens])
    cases = [("pattern", *each) for each in PATTERNS.items()]
    cases += [("schema", *each) for each in schemas()]
    for name in WALKED:  # Machine code, and what is made once for a vocabulary.
        for _, _, text in (cases[0], cases[len(PATTERNS)]):
            start(name, engines[name], text)
    found: dict[str, Any] = {"load": os.getloadavg()[0], "steps": steps, "rounds": rounds}
    found["cases"] = {}
    for kind, case, text in cases[::every]:
        tokens = drawn(start("explorer, lazy", engines["explorer, lazy"], text)[0], ends, steps)
        row: dict[str, Any] = {"kind": kind}
        for name in [name for name in WALKED for _ in range(rounds)]:
            known = row.get(name, {"first": math.inf, "masks": []})
            if name in row and (known is None or known["first"] > 1e3 * SLOW):
                continue
            if name == "xgrammar" and kind == "schema" and case not in SCHEMAS:
                continue
            try:
                matcher, first = start(name, engines[name], text)
            except (ExplorerError, ValueError, RuntimeError):
                row[name] = None
                continue
            masks = list(follow(name, matcher, tokens))
            both = zip(known["masks"] or masks, masks, strict=True)
            row[name] = {"first": min(known["first"], first), "masks": [*map(min, both)]}
        found["cases"][case] = {
            name: each if isinstance(each, str) else each and percentiles(each)
            for name, each in row.items()
        }
        found.setdefault("masks", {}).setdefault(kind, {})
        for name in WALKED:
            if row.get(name):
                found["masks"][kind].setdefault(name, []).extend(row[name]["masks"])
    found["summary"] = {
        kind: {name: percentiles({"masks": masks, "first": 0.0}) for name, masks in each.items()}
        for kind, each in found.pop("masks").items()
    }
    return found


ENDS: Final = (b'"', b"\n", b".", b"@", b"}")
"""A quarter of the tokens of a walk hold one of these, where some do, so that it goes on."""


def start(name: str, engine: Any, text: str) -> tuple[Any, float]:
    """A matcher at its start, and the milliseconds from a pattern or a schema to its first mask."""
    began = time.thread_time()
    if name == "explorer, lazy":
        schema = text.startswith("{")
        constraint = (
            explorer.json_schema(json.loads(text), strict=False) if schema else explorer.regex(text)
        )
        matcher: Any = explorer.compile(constraint, engine.vocabulary, BUDGET, lazy=True)
        matcher.mask(matcher.start)
        return matcher, 1e3 * (time.thread_time() - began)
    if text.startswith("{"):
        compiled = engine.compile_schema(text, "compact", False)
    else:
        compiled = engine.compile(text)
    if name == "llguidance":
        compiled.compute_bitmask()
        return compiled, 1e3 * (time.thread_time() - began)
    matcher = xgrammar.GrammarMatcher(compiled)
    matcher.fill_next_token_bitmask(xgrammar.allocate_token_bitmask(1, engine.size))
    return matcher, 1e3 * (time.thread_time() - began)


def drawn(machine: TokenMachine, ends: NDArray[np.bool_], steps: int) -> list[int]:
    """Tokens of a walk, the end of the text only where nothing else may come."""
    draw, state, tokens = random.Random(1), machine.start, list[int]()
    eos = machine.vocabulary.eos_ids
    for _ in range(steps):
        allowed = np.flatnonzero(machine.allowed(state))
        allowed = allowed[~np.isin(allowed, eos)]
        if draw.random() < 0.25 and ends[allowed].any():
            allowed = allowed[ends[allowed]]
        if not len(allowed):
            break
        tokens.append(int(allowed[draw.randrange(len(allowed))]))
        following = machine.step(state, tokens[-1])
        assert following is not None
        state = following
    return tokens


def follow(name: str, matcher: Any, tokens: list[int]) -> Iterator[float]:
    """Microseconds of each mask along some tokens, as far as the engine takes them."""
    if name == "explorer, lazy":
        state = matcher.start
        for token in tokens:
            yield processor(matcher.mask, state)
            state = matcher.step(state, token)
        return
    bitmask = xgrammar.allocate_token_bitmask(1, 131_072)
    for token in tokens:
        if name == "llguidance":
            yield processor(matcher.compute_bitmask)
            taken = matcher.consume_token(token)
        else:
            yield processor(matcher.fill_next_token_bitmask, bitmask)
            taken = matcher.accept_token(token)
        if not taken:
            return


def processor(task: Callable[..., object], *given: object) -> float:
    """Microseconds of the processor for one call."""
    began = time.thread_time()
    task(*given)
    return 1e6 * (time.thread_time() - began)


def percentiles(taken: dict[str, Any]) -> dict[str, Any]:
    """The figures of some masks."""
    middle, high = np.percentile(taken["masks"], (50, 99)).tolist()
    return {
        "first": taken["first"], "masks": len(taken["masks"]), "median": middle, "p99": high,
        "slowest": max(taken["masks"]),
    }  # fmt: skip


def of_walks(found: dict[str, Any]) -> tuple[str, str]:
    """The summary and the cases as Markdown."""
    rows: list[list[str]] = []
    for kind, engines in found["summary"].items():
        for name, taken in engines.items():
            of_kind = [row for row in found["cases"].values() if row["kind"] == kind]
            first = [row[name]["first"] for row in of_kind if row.get(name)]
            rows.append(
                [f"{kind}s", name, f"{len(first)} of {len(of_kind)}", f"{taken['masks']:,}"]
                + [figure(taken[part]) for part in ("median", "p99", "slowest")]
                + [figure(statistics.median(first)), figure(max(first))]
            )
    head = ["cases", "engine", "read", "masks", "median", "99th percentile", "slowest",
            "first, median", "first, slowest"]  # fmt: skip
    each = [
        [case]
        + [
            " / ".join(figure(row[name][part]) for part in ("first", "p99", "slowest"))
            if row.get(name) else "–"
            for name in WALKED
        ]
        for case, row in found["cases"].items()
    ]  # fmt: skip
    return table(head, rows), table(["case", *WALKED], each)


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
    walked = found["walks"]
    summary, cases = of_walks(walked)
    return PAGE_TEXT.format(
        rounds=found["rounds"], load=f"{found['load']:.1f}", table=table(head, rows),
        steps=walked["steps"], walks=walked["rounds"], walk_load=f"{walked['load']:.1f}",
        summary=summary, cases=cases,
    )  # fmt: skip


def main() -> None:
    """Measure, print, and write unless ``--quick``."""
    words = argparse.ArgumentParser()
    words.add_argument("--quick", action="store_true")
    quick: bool = words.parse_args().quick
    found = measure(3 if quick else REPEATS)
    found["walks"] = walks(60, 1, every=5) if quick else walks(STEPS, WALKS)
    print(page(found))
    if not quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
