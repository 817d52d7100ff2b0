"""JSON Schemas beside outlines-core, xgrammar and llguidance: from the dict to the first mask.

One thread per engine, Tekken's 131,072 tokens, compact JSON. Three tables: the game character of
Koo et al. (appendix C.4.5), with its closed form; a sample of the real schemas that the tests
judge; and growth on 10, 100 and 300 string properties, in the order of the schema and in any order.

An engine that does not compile a schema, or not within `MOST_SECONDS` of the processor, has no time
for it; how many it compiled stands beside, and how many were stopped. To be stopped it must run in
a process of its own: each engine has one, forked from this one, and they take turns, schema by
schema. What is compared is time of the processor, which a busy machine changes little.
outlines-core makes tables, which take seconds each, so it is asked for every `TABLES_EVERY`-th
schema only.

``python -m benchmarks.schemas`` writes ``docs/benchmarks/schemas.json`` and, from it,
``schemas.md`` (some fifteen minutes of the processor; ``--kept FILE`` notes each schema, and goes
on from there); ``--quick`` prints a sample only.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, cast

import llguidance
import numpy as np
import outlines_core
import outlines_core.json_schema  # pyright: ignore[reportMissingImports]
import xgrammar

import explorer
from benchmarks.constraints import SCHEMA
from benchmarks.engines import make
from benchmarks.measure import interleaved
from benchmarks.tables import figure, table
from benchmarks.vocabularies import plain, tekken_131k
from explorer import Budget, Vocabulary
from explorer.errors import ExplorerError
from tests.languages.schema.corpora import real

RESULTS: Final = Path(__file__).parents[1] / "docs" / "benchmarks" / "schemas.json"
PAGE: Final = RESULTS.with_suffix(".md")
PAGE_TEXT: Final = """# JSON Schemas, from the dict to the first mask

Written by `python -m benchmarks.schemas`: 131,072 tokens, one thread, compact JSON, milliseconds
of the processor, at a load of {load} when it began. What each engine is asked is in
`benchmarks/schemas.py`.

## The game character of Koo et al. (appendix C.4.5)

Of the clock, in rounds that take turns.

{character}

## The 550 real and hand-written schemas

One run each. An engine may refuse a schema; it is stopped after {seconds} s of the processor. The
times are those of the schemas that an engine compiled, so the columns beside them count:
outlines-core makes a table, and is asked for every {every}th schema only.

{real}

## More members

{growth}
"""
MOST_SECONDS: Final = 3.0
LONGEST_WAIT: Final = 60.0
"""Seconds of the clock for one schema, on a machine that does other things too."""
TABLES: Final = "outlines-core"
TABLES_EVERY: Final = 10
QUICK_EVERY: Final = 32
"""Every so many of the 550 real schemas are measured with ``--quick``."""
PROPERTIES: Final = (10, 100, 300)
ANY_ORDER: Final = (10, 100, 300)

CLOSED: Final[dict[str, Any]] = {**SCHEMA, "additionalProperties": False}
"""The game character with the members that it names and no others, as the paper means it."""

First = Callable[[Any], object]


def first_masks(vocabulary: Vocabulary) -> dict[str, First]:
    """For each engine: from a schema as Python data to the first mask; raises what it raises."""
    tokens = plain(vocabulary)
    lazy: Any = make("llguidance", tokens)
    stored: Any = make("xgrammar", tokens)
    table: Any = make("outlines-core", tokens)

    def ours(schema: Any, order: Any = "schema") -> object:
        constraint = explorer.json_schema(schema, property_order=order, strict=False)
        machine = explorer.compile(constraint, vocabulary, Budget(seconds=MOST_SECONDS), lazy=True)
        return machine.mask(machine.start)

    def llguidance_(schema: Any) -> object:
        options = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
        grammar = llguidance.LLMatcher.grammar_from_json_schema(
            {**schema, "x-guidance": options} if isinstance(schema, dict) else schema
        )
        matcher = llguidance.LLMatcher(lazy.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher.compute_bitmask()

    def xgrammar_(schema: Any) -> object:
        compiled = stored.compiler.compile_json_schema(
            json.dumps(schema), any_whitespace=False, separators=(",", ":"), strict_mode=False
        )
        matcher = xgrammar.GrammarMatcher(compiled)
        bitmask = xgrammar.allocate_token_bitmask(1, len(vocabulary))
        return matcher.fill_next_token_bitmask(bitmask)

    def outlines_core_(schema: Any) -> object:
        pattern = outlines_core.json_schema.build_regex_from_schema(json.dumps(schema), "")
        index = table.compile(pattern)
        return index.get_allowed_tokens(index.get_initial_state())

    return {
        "explorer, lazy": ours, "llguidance": llguidance_, "xgrammar": xgrammar_,
        "outlines-core": outlines_core_,
    }  # fmt: skip


def character(vocabulary: Vocabulary, engines: dict[str, First], repeats: int) -> dict[str, Any]:
    """The game character: first mask in every engine, and our closed form."""

    def closed() -> object:
        return explorer.compile(explorer.json_schema(CLOSED), vocabulary, lazy=False)

    tasks: dict[str, Callable[[], object]] = {
        name: partial(first, CLOSED) for name, first in engines.items()
    }
    return interleaved({**tasks, "explorer, closed form": closed}, repeats=repeats)


class Runner:
    """One engine in a process of its own, which is stopped where it takes too long.

    Args:
        first: From a schema to the first mask.
        schemas: What it may be asked for, by number.
    """

    def __init__(self, first: First, schemas: list[Any]) -> None:
        self._first = first
        self._schemas = schemas
        self._start()

    def _start(self) -> None:
        context = get_context("fork")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=self._answer, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def _answer(self, questions: Connection) -> None:
        while (number := questions.recv()) is not None:
            begin = time.process_time()
            try:
                self._first(self._schemas[number])
                taken = 1e3 * (time.process_time() - begin)
            except (ExplorerError, ValueError, RuntimeError, TypeError):
                taken = None
            questions.send(taken)

    def milliseconds(self, number: int) -> float | str:
        """Of the processor, for one schema; or ``"refused"`` or ``"stopped"``."""
        self._ours.send(number)
        before, given_up = self._seconds(), time.monotonic() + LONGEST_WAIT
        try:
            while self._seconds() - before < MOST_SECONDS and time.monotonic() < given_up:
                if self._ours.poll(0.1):
                    taken: float | None = self._ours.recv()
                    return "refused" if taken is None else taken
        except (EOFError, OSError):  # It crashed.
            pass
        self.close()
        self._start()
        return "stopped"

    def _seconds(self) -> float:
        """Of the processor, that the process has had."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


class Kept:
    """What was measured before, in a file of lines, so that a run that was stopped goes on.

    Args:
        path: The file; ``None`` keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[tuple[str, int], float | str] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                engine, number, result = json.loads(line)
                self._known[engine, number] = result

    def get(self, engine: str, number: int, measure: Callable[[], float | str]) -> float | str:
        """The result of an engine for a schema, measured now if it is not kept."""
        if (engine, number) not in self._known:
            result = self._known[engine, number] = measure()
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([engine, number, result]) + "\n")
        return self._known[engine, number]


def over_real_schemas(
    engines: dict[str, First], every: int, path: Path | None = None
) -> dict[str, Any]:
    """Median and 95th percentile over the real schemas; one run each, after one of another.

    Args:
        engines: From a schema to the first mask.
        every: Every so many of the schemas.
        path: The file of a run that was stopped.
    """
    schemas = [CLOSED, *(group.schema for group in list(real())[::every])]
    runners = {name: Runner(first, schemas) for name, first in engines.items()}
    times: dict[str, list[float | str]] = {name: [] for name in runners}
    kept = Kept(path)
    for number in range(len(schemas)):
        for name, runner in runners.items():
            if name != TABLES or number % TABLES_EVERY == 0:
                measure = partial(runner.milliseconds, number)
                times[name].append(kept.get(name, number, measure))
    rows: dict[str, Any] = {}
    for name, taken in times.items():
        runners[name].close()
        numbers = [each for each in taken[1:] if isinstance(each, float)] or [math.nan]
        middle, high = (float(each) for each in np.percentile(numbers, (50, 95)))
        rows[name] = {
            "compiled": sum(map(math.isfinite, numbers)), "stopped": taken[1:].count("stopped"),
            "refused": taken[1:].count("refused"), "schemas": len(taken) - 1,
            "median": middle, "p95": high, "slowest": max(numbers),
        }  # fmt: skip
    return rows


def growth(engines: dict[str, First]) -> list[dict[str, Any]]:
    """More and more string properties."""
    rows: list[dict[str, Any]] = []
    for count in PROPERTIES:
        times = {name: once(first, strings(count)) for name, first in engines.items()
                 if name != TABLES}  # fmt: skip
        rows.append({"properties": count, "order": "schema", **times})
    ours = partial(cast("Any", engines["explorer, lazy"]), order="any")
    for count in ANY_ORDER:
        rows.append(
            {"properties": count, "order": "any", "explorer, lazy": once(ours, strings(count))}
        )
    return rows


def strings(count: int) -> dict[str, Any]:
    """An object of so many required strings."""
    names = [f"property_{k}" for k in range(count)]
    return {
        "type": "object", "properties": {name: {"type": "string"} for name in names},
        "required": names, "additionalProperties": False,
    }  # fmt: skip


def once(first: First, schema: Any) -> float | str:
    """The milliseconds of the processor for the second run, or the reason why there is none."""
    try:
        first(schema)
        begin = time.process_time()
        first(schema)
    except (ExplorerError, ValueError, RuntimeError) as error:
        return type(error).__name__
    return 1e3 * (time.process_time() - begin)


def main() -> None:
    """Measure, print, and write unless ``--quick``."""
    words = argparse.ArgumentParser()
    words.add_argument("--quick", action="store_true")
    words.add_argument("--kept", type=Path, help="goes on where a run with this file was stopped")
    given = words.parse_args()
    quick: bool = given.quick
    vocabulary = tekken_131k()
    engines = first_masks(vocabulary)
    explorer.compile(explorer.json_schema(CLOSED), vocabulary)  # Machine code and the trie.
    found = {
        "load": os.getloadavg()[0],
        "character": character(vocabulary, engines, 3 if quick else 11),
        "growth": growth(engines),
        "real": over_real_schemas(engines, QUICK_EVERY if quick else 1, given.kept),
    }
    text = json.dumps(found, indent=1) + "\n"
    print(text, page(found), sep="\n")
    if not quick:
        RESULTS.write_text(text, encoding="utf-8")
        PAGE.write_text(page(found), encoding="utf-8")


def page(found: dict[str, Any]) -> str:
    """The tables as Markdown.

    Args:
        found: What was measured.
    """
    character = [
        [name, figure(times["median"]), figure(times["fastest"])]
        for name, times in found["character"].items()
    ]
    many = [
        [name, *(figure(row[key]) for key in ("median", "p95", "slowest")),
         *(str(row[key]) for key in ("compiled", "refused", "stopped", "schemas"))]
        for name, row in found["real"].items()
    ]  # fmt: skip
    names = [name for name in found["real"] if name != TABLES]
    grown = [
        [f"{row['properties']}, order: {row['order']}", *(_cell(row.get(name)) for name in names)]
        for row in found["growth"]
    ]
    return PAGE_TEXT.format(
        load=f"{found['load']:.1f}", seconds=f"{MOST_SECONDS:g}", every=TABLES_EVERY,
        character=table(["engine", "median", "fastest"], character),
        real=table(["engine", "median", "95th percentile", "slowest", "compiled", "refused",
                    "stopped", "of"], many),
        growth=table(["required strings", *names], grown),
    )  # fmt: skip


def _cell(value: float | str | None) -> str:
    return value if isinstance(value, str) else figure(value)


if __name__ == "__main__":
    main()
