"""Capacity: thousands of sequences, a thousand explorers in one kernel, very long runs.

    python -m benchmarks.capacity            # prints the tables
    python -m benchmarks.capacity --write    # also docs/benchmarks/capacity.md

Each row is measured in a process of its own. Times are CPU seconds of that process (user and
system), which a busy machine lengthens less than the clock; memory is what the process's peak
(``VmHWM``) grew by, or, where only objects of Python and numpy are asked about, ``tracemalloc``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "benchmarks" / "capacity.md"

Row = dict[str, Any]


def peak() -> float:
    """The peak memory of this process in MB."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def constraints() -> list[Any]:
    """Ten constraints of seven kinds; what a service serves at once."""
    import explorer

    person = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    return [
        explorer.regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
        explorer.regex(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}"),
        explorer.regex(r'"[^"]{0,40}"'),
        explorer.choice(["yes", "no", "perhaps"]),
        explorer.json_schema(person),
        explorer.json_schema({"type": "array", "items": {"type": "boolean"}, "maxItems": 6}),
        explorer.grammar('root ::= "(" root ")" | [a-z]{1,8}'),
        explorer.template("{a}, {b}.", a=explorer.gen(regex="[a-z]{1,9}"),
                          b=explorer.gen(choices=["one", "two"])),
        explorer.regex("[a-z ]{5,30}").canonical(),
        None,
    ]  # fmt: skip


def batch(count: int) -> Row:
    """`generate` on so many sequences, ten constraints in turn."""
    import explorer

    lm = explorer.load_model("tiny", device="cpu")
    kinds = constraints()
    wanted = [kinds[k % len(kinds)] for k in range(count)]
    sampler = explorer.Sampler(temperature=1.0)
    explorer.generate(lm, ["a"] * len(kinds), kinds, sampler, 24)  # Machines, and machine code.
    gc.collect()
    before, began = peak(), time.process_time()
    texts = explorer.generate(lm, ["Once"] * count, wanted, sampler, 24)
    seconds, grown = time.process_time() - began, peak() - before
    tokens = sum(len(text.tokens) for text in texts)
    done = sum(text.finished for text, one in zip(texts, wanted, strict=True) if one is not None)
    return {
        "sequences": count,
        "finished": done / sum(one is not None for one in wanted),
        "tokens": tokens,
        "ms": 1e3 * seconds / count,
        "us_token": 1e6 * seconds / tokens,
        "mb": grown,
        "kb": 1024 * grown / count,
    }


def kernel(kind: str) -> Row:
    """A thousand sessions in one kernel: equal, of a hundred kinds, or all different."""
    import explorer
    from explorer.decoding.models.embedded import EMBEDDED
    from explorer.tokens.shared import machines_in_use

    different = {"equal": 1, "a hundred": 100, "all different": 1000}[kind]
    vocabulary = explorer.Vocabulary.from_file(EMBEDDED["tiny"])

    def constraint(k: int) -> Any:
        schema = {
            "type": "object",
            "properties": {"id": {"const": k}, "name": {"type": "string"}},
            "required": ["id", "name"],
            "additionalProperties": False,
        }
        return explorer.json_schema(schema)

    held = [explorer.Session.from_ids(vocabulary, constraint(-1), [])]
    gc.collect()
    tracemalloc.start()
    began = time.process_time()
    held = [
        explorer.Session.from_ids(vocabulary, constraint(k % different), []) for k in range(1000)
    ]
    masks = [session.allowed().nbytes for session in held]
    seconds = time.process_time() - began
    gc.collect()
    size, machines = tracemalloc.get_traced_memory()[0], machines_in_use()
    held.clear()
    del masks
    gc.collect()
    left = tracemalloc.get_traced_memory()[0]
    return {"kind": kind, "machines": machines, "mb": size / 2**20, "kb": size / 1024 / 1000,
            "ms": seconds, "left": left / 2**20}  # fmt: skip


def long(kind: str, count: int) -> Row:
    """A run of so many tokens: its time and memory for each token."""
    import torch

    import explorer
    from explorer.decoding.models.model import Reading

    class Constant:
        name = "constant"
        vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab", b"c"], eos_ids=[4])
        logits = torch.tensor([0.1, 0.4, 0.2, 0.3, -9.0])

        def encode_prompt(self, prompt: object) -> tuple[int, ...]:
            return ()

        def read(self, tokens: object) -> Reading:
            return Reading(self.logits)

    star = explorer.regex("[abc]*")
    lm = Constant()

    def ids() -> object:
        return explorer.Session.from_ids(lm.vocabulary, star, [k % 4 for k in range(count)])

    def trace() -> object:
        return ids().trace  # type: ignore[attr-defined]

    def session() -> object:
        made = explorer.Session(lm, star, sampler=explorer.Sampler(1.0), logits_bytes=2_000_000)
        for k in range(count):
            made.step(token=k % 4)
        return made

    def generate() -> object:
        return explorer.generate(lm, "", star, explorer.Sampler(0.0), count, masking_budget=False)

    work: dict[str, Callable[[], object]] = {
        "from_ids": ids, "from_ids and trace": trace, "Session.step": session, "generate": generate,
    }  # fmt: skip
    star.accepts("abc")
    explorer.Session.from_ids(lm.vocabulary, star, [0, 1]).trace.steps  # noqa: B018 - Warms up.
    before, began = peak(), time.process_time()
    kept = work[kind]()
    seconds, grown = time.process_time() - began, peak() - before
    del kept
    return {"kind": kind, "tokens": count, "us": 1e6 * seconds / count,
            "kb": 1024 * grown / count}  # fmt: skip


MEASURES: Final[dict[str, Callable[..., Row]]] = {"batch": batch, "kernel": kernel, "long": long}


def alone(name: str, *words: object) -> Row:
    """Measure a row in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.capacity", "--row", json.dumps([name, *words])],
        capture_output=True, text=True, cwd=ROOT, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    row: Row = json.loads(done.stdout.splitlines()[-1])
    print(name, *words, row, flush=True)
    return row


def page(
    batches: list[Row], kernels: list[Row], runs: list[Row], loads: tuple[float, float]
) -> str:
    """The page of the tables."""
    lines = [
        "# Capacity: how much fits",
        "",
        "Measured by `python -m benchmarks.capacity --write`, each row in a process of its own, "
        f"on {os.cpu_count()} CPU cores; the machine's load was {loads[0]:.1f} at the start and "
        f"{loads[1]:.1f} at the end. Times are CPU time of the process, all threads together.",
        "",
        "## Thousands of sequences",
        "",
        "`generate` on the embedded model `tiny` (4,000 tokens), at most 24 tokens each, "
        "temperature 1, log-probabilities of every token; ten constraints in turn (three "
        "patterns, a choice, two JSON Schemas, a grammar that recurses, a template, a canonical "
        "pattern, and none). *Complete* is the part of the constrained texts that ended in time. "
        "*Memory* is what the process's peak grew by over a batch of ten: the model's keys and "
        "values and its logits are in it.",
        "",
        "| sequences | complete | tokens | CPU ms per sequence | µs per token | memory | "
        "per sequence |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['sequences']:,} | {row['finished']:.1%} | {row['tokens']:,} | {row['ms']:.1f} | "
        f"{row['us_token']:,.0f} | {row['mb']:,.0f} MB | {row['kb']:,.0f} kB |"
        for row in batches
    ]
    lines += [
        "",
        "## A thousand explorers in one kernel",
        "",
        "A thousand sessions, each with a JSON Schema of its own making over 4,000 tokens; the "
        "schemas are equal, of a hundred kinds, or all different. *Memory* is `tracemalloc`'s, "
        "after the mask of each session was asked for, and *left* is what is still there when all "
        "sessions are gone: caches, which are bounded.",
        "",
        "| constraints | machines | memory | per session | CPU s | left |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['kind']} | {row['machines']:,} | {row['mb']:,.1f} MB | {row['kb']:,.1f} kB | "
        f"{row['ms']:.1f} | {row['left']:.1f} MB |"
        for row in kernels
    ]
    lines += [
        "",
        "## Runs of 100,000 tokens",
        "",
        "`[abc]*` over five tokens and a model that costs nothing, so that all time and memory is "
        "ours. `Session.step` keeps 2 MB of logits. Memory is the growth of the process's peak.",
        "",
        "| what | tokens | µs per token | kB per token |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| `{row['kind']}` | {row['tokens']:,} | {row['us']:,.0f} | {row['kb']:.2f} |"
        for row in runs
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure, print and, with ``--write``, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        name, *words = json.loads(arguments.row)
        print(json.dumps(MEASURES[name](*words)))
        return
    first = os.getloadavg()[0]
    kernels = [alone("kernel", kind) for kind in ("equal", "a hundred", "all different")]
    runs = [
        alone("long", kind, count)
        for kind in ("from_ids", "from_ids and trace", "Session.step", "generate")
        for count in (1_000, 10_000, 100_000)
    ]
    batches = [alone("batch", count) for count in (10, 1_000, 4_000)]
    text = page(batches, kernels, runs, (first, os.getloadavg()[0]))
    print(text)
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
