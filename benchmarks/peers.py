"""``make bench``: everything that is measured, and the files that it is written to.

One process, one thread per engine, the same token bytes for all; see ``docs/benchmarks/README.md``.
``--quick`` takes three rounds instead of eleven and writes nothing.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import explorer
from benchmarks import alone, growth, languages, steps, tables
from benchmarks.constraints import CASES, UNICODE_CASES
from benchmarks.engines import MODULES, Engine, make
from benchmarks.measure import interleaved, prepared
from benchmarks.vocabularies import plain, sentencepiece_32k, tekken_131k
from explorer import Vocabulary
from explorer.tokens.compile import Method

VOCABULARIES: dict[str, Callable[[], Vocabulary]] = {
    "32k": sentencepiece_32k,
    "131k": tekken_131k,
}
CLOSED_FORMS = ("explorer", "outlines-core")
"""Engines whose result is a table for every state, so that its size means something."""

ALONE = tuple(name for name in MODULES if name != "explorer, lazy")
"""Engines that are measured in a process of their own; the lazy machine is of ours."""

LIBRARIES = (
    "outlines-core",
    "xgrammar",
    "llguidance",
    "numpy",
    "numba",
    "pynini",
    "torch",
)


def processor() -> str:
    """The processor's name, as Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def say(line: str) -> None:
    """Progress, on standard error."""
    print(line, file=sys.stderr, flush=True)


def from_pattern_to_mask(engine: Engine, pattern: str) -> Callable[[], object]:
    """A call that compiles and asks for one mask."""
    return lambda: engine.first_mask(engine.compile(pattern))()


def compiling(engine: Engine, pattern: str) -> Callable[[], object]:
    """A call that compiles."""
    return lambda: engine.compile(pattern)


def asking(engine: Engine, pattern: str) -> tuple[Callable[[], Any], Callable[[Any], object]]:
    """Compile (not timed), then ask for the first mask (timed)."""
    return (lambda: engine.first_mask(engine.compile(pattern)), lambda mask: mask())


def measure(repeats: int) -> dict[str, Any]:
    """Measure everything.

    Args:
        repeats: Rounds of each interleaved measurement.
    """
    results: dict[str, Any] = {
        "about": {
            "date": datetime.date.today().isoformat(),
            "processor": processor(),
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 2),
            "python": platform.python_version(),
            "versions": {name: importlib.metadata.version(name) for name in LIBRARIES},
            "repeats": repeats,
            "vocabularies": {name: len(read()) for name, read in VOCABULARIES.items()},
        }
    }
    engines: dict[str, Engine] = {}
    for vocabulary, read in VOCABULARIES.items():
        tokens = plain(read())
        engines = {name: make(name, tokens) for name in MODULES}
        for case in CASES:
            say(f"{vocabulary}: {case.name}")
            compared = languages.compare(case, engines, tokens)
            results.setdefault("languages", {}).setdefault(vocabulary, {})[case.name] = compared
            results.setdefault("compile", {}).setdefault(vocabulary, {})[case.name] = interleaved(
                {name: compiling(engine, case.pattern) for name, engine in engines.items()},
                repeats=repeats,
            )
    # What follows is at 131k, the last of the vocabularies.
    results["unicode"] = {}
    results["first_mask"] = {}
    results["to_first_mask"] = {}
    for case in UNICODE_CASES:
        say(f"131k: {case.name}")
        results["unicode"][case.name] = interleaved(
            {name: compiling(engine, case.pattern) for name, engine in engines.items()},
            repeats=max(3, repeats // 3),
        )
    for case in CASES:
        say(f"first mask: {case.name}")
        results["first_mask"][case.name] = prepared(
            {name: asking(engine, case.pattern) for name, engine in engines.items()},
            repeats=repeats,
        )
        results["to_first_mask"][case.name] = interleaved(
            {name: from_pattern_to_mask(engine, case.pattern) for name, engine in engines.items()},
            repeats=repeats,
        )
    say("steps")
    results["steps"] = steps.step_rows(engines, repeats)
    results["apply"] = steps.apply_rows(engines, repeats)
    results["textbook"] = textbook()
    results["tables"] = sizes(engines)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens.json"
        alone.write_tokens(plain(tekken_131k()), path)
        results["cold"] = {}
        results["held"] = {}
        for name in ALONE:
            say(f"alone: {name}")
            alone.run(name, path)  # Once for the disk caches of the system.
            runs = [alone.run(name, path) for _ in range(3)]
            results["cold"][name] = {
                stage: round(sorted(run[stage] for run in runs)[1], 2)
                for stage in ("import", "prepare", "compile")
            }
            if name in CLOSED_FORMS:
                results["held"][name] = {"bytes": round(sorted(run["bytes"] for run in runs)[1])}
        say("alone: explorer, nothing compiled yet")
        first = alone.run("explorer", path, environment={"NUMBA_CACHE_DIR": folder})
        results["cold"]["explorer, first on this machine"] = {
            stage: round(first[stage], 2) for stage in ("import", "prepare", "compile")
        }
    say("growth")
    fewer = max(3, repeats // 3)
    results["growth"] = {
        "vocabulary": growth.vocabulary_rows(fewer),
        "states": growth.state_rows(fewer),
    }
    return results


def textbook() -> dict[str, dict[str, float]]:
    """Our composition, and the textbook's by pynini: seconds of one run each, 131k."""
    vocabulary = tekken_131k()
    rows: dict[str, dict[str, float]] = {}
    for case in CASES:
        say(f"pynini: {case.name}")
        constraint = explorer.regex(case.pattern)
        methods: dict[str, Method] = {"explorer": "functions", "pynini": "pynini"}
        for method in methods.values():  # Once before: T_V is built on first use.
            explorer.compile(explorer.regex("a"), vocabulary, method=method)
        timed = interleaved(
            {
                name: lambda m=method, c=constraint: explorer.compile(c, vocabulary, method=m)
                for name, method in methods.items()
            },
            repeats=1,
            warm_up=0,
        )
        rows[case.name] = {name: spent["median"] for name, spent in timed.items()}
    return rows


def sizes(engines: dict[str, Engine]) -> dict[str, int]:
    """The JSON object's tables: ours in bytes, outlines-core's in transitions."""
    pattern = CASES[-1].pattern
    ours: Any = engines["explorer"]
    theirs: Any = engines["outlines-core"]
    machine = ours.compile(pattern)
    transitions = theirs.compile(pattern).get_transitions()
    return {
        "bytes": machine.nbytes,
        "states": machine.num_states,
        "classes": machine.num_classes,
        "outlines_core_transitions": sum(map(len, transitions.values())),
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three rounds; write nothing")
    quick = parser.parse_args().quick
    results = measure(3 if quick else 11)
    if not quick:
        tables.write(results)
    print(tables.page(results))


if __name__ == "__main__":
    main()
