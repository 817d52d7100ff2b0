"""A sweep at 1, 2 and 4 workers, beside what `explorer.sweeps.plan` says, for `docs/sweeps.md`.

    python -m benchmarks.sweeps --write

The workers are processes that are warm: models are open and constraints are compiled, which is S of
the model and paid for once. Each figure is the rate of one sweep, with the CPU time of the workers
beside its wall time, because the machine may be busy with other things.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

import torch

import explorer
from explorer.sweeps.places import OnExecutor
from explorer.sweeps.plan import SweepPlan, plan

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "sweeps.md"
PERSON: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 10},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
MOST: Final = 24
BATCH: Final = 16


def prompts(count: int, tag: str) -> list[str]:
    return [
        f"{'Person ' * (1 + k % 5)}{tag}{k} is {20 + k % 60} years old. JSON: "
        for k in range(count)
    ]


def constraints() -> dict[str, explorer.Constraint]:
    return {"person": explorer.json_schema(PERSON), "age": explorer.regex("[0-9]{1,3} years")}


def measured(workers: int, rows: int) -> tuple[float, float]:
    """Wall and CPU seconds a row, of warm workers."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=one_thread) as pool:
        place = OnExecutor(pool, workers)
        before = 0.0
        at = 0.0
        for turn, count in (("w", 8 * BATCH), ("m", rows // 2)):
            before, at = cpu(pool, workers), time.perf_counter()
            explorer.sweep(
                prompts(count, turn), constraints(), "tiny", where=place, max_tokens=MOST,
                batch_size=BATCH,
            )  # fmt: skip
        wall = time.perf_counter() - at
        return wall / rows, (cpu(pool, workers) - before) / rows


def one_thread() -> None:
    torch.set_num_threads(1)


def own_cpu(_: int) -> tuple[int, float]:
    time.sleep(0.2)  # So that no process answers for another.
    used = resource.getrusage(resource.RUSAGE_SELF)
    return os.getpid(), used.ru_utime + used.ru_stime


def cpu(pool: ProcessPoolExecutor, workers: int) -> float:
    return sum(dict(pool.map(own_cpu, range(4 * workers))).values())


def table(made: SweepPlan, found: dict[int, tuple[float, float]]) -> str:
    load = os.getloadavg()[0]
    lines = [
        f"Measured on {os.cpu_count()} cores at load {load:.1f}; model `tiny`, batches of {BATCH}, "
        f"at most {MOST} tokens, one thread a worker.",
        "",
        "| workers | rows a second | CPU ms a row | beside 1 worker |",
        "|---|---|---|---|",
    ]
    for workers, (wall, used) in found.items():
        ratio = found[1][0] / wall
        lines.append(f"| {workers} | {1 / wall:.1f} | {1000 * used:.1f} | {ratio:.2f} × |")
    lines += ["", "```text", str(made), "```"]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="into docs/sweeps.md")
    parser.add_argument("--rows", type=int, default=256)
    options = parser.parse_args()
    torch.set_num_threads(1)
    made = plan(prompts(32, "p"), constraints(), "tiny", max_tokens=MOST, batch_size=BATCH)
    found = {workers: measured(workers, options.rows) for workers in (1, 2, 4)}
    text = table(made, found)
    print(text)
    if options.write:
        page = PAGE.read_text("utf-8")
        marks = "<!-- measured -->\n", "<!-- /measured -->"
        pattern = f"(?s){marks[0]}.*?{marks[1]}"
        PAGE.write_text(re.sub(pattern, lambda _: f"{marks[0]}{text}\n{marks[1]}", page), "utf-8")


if __name__ == "__main__":
    main()
