"""A step of a logits processor on the host, beside those of llguidance and xgrammar.

The call that `model.generate` of transformers makes at every step: ids and logits of a batch in,
masked logits out. Ours is `ConstraintLogitsProcessor`, xgrammar's its own for transformers;
llguidance has none, so its matchers are asked row by row and its own function for torch applies
the words. Both peers write into the logits that they are given; ours leaves those as they are and
gives new ones, which is counted.

Every row of a batch writes a text of its own: walks over tokens of ASCII text, 20 of them, drawn
once from what is allowed and the same for every engine. Constraints are compiled before. The first
run of the walks is not counted, so masks that an engine keeps are kept. What is measured is time of
the processor, all threads together, with torch on one thread. An engine that refuses a token of a
walk has no figure there. Also ours with a sampler, which draws too.

``python -m benchmarks.processors`` writes ``docs/benchmarks/processors.json`` and, from it,
``processors.md``; ``--quick`` prints only.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import llguidance
import llguidance.torch as llguidance_torch
import numpy as np
import torch
from xgrammar.contrib.hf import LogitsProcessor as XGrammarProcessor

import explorer
from benchmarks.constraints import CASES, SCHEMA
from benchmarks.engines import make
from benchmarks.tables import table
from benchmarks.vocabularies import plain, tekken_131k
from explorer import Sampler
from explorer.decoding.batches.processor import ConstraintLogitsProcessor
from explorer.tokens.machine import TokenMachine

RESULTS: Final = Path(__file__).parents[1] / "docs" / "benchmarks" / "processors.json"
PAGE: Final = RESULTS.with_suffix(".md")
BATCHES: Final = (1, 8, 32)
LENGTH: Final = 20
REPEATS: Final = 7
PAGE_TEXT: Final = """# A step of a logits processor

Written by `python -m benchmarks.processors` from `processors.json`; how it is measured stands
there. 131,072 tokens, float32 logits on the CPU, {rounds} rounds, a load of {load} when it began.
Microseconds of the processor for a step of the whole batch, the median over steps and rounds; in
brackets how many times ours is of the engine's. A dash: the engine refuses a token of the walks.

{masking}

With a sampler the processor draws as well and leaves one finite score in each row:

{drawing}
"""

USER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string", "maxLength": 40},
        "email": {"type": "string", "format": "email"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "active": {"type": "boolean"},
        "address": {
            "type": "object",
            "properties": {
                "street": {"type": "string"},
                "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
            },
            "required": ["street", "zip"],
            "additionalProperties": False,
        },
    },
    "required": ["id", "name", "email", "tags", "active", "address"],
    "additionalProperties": False,
}
SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "schema of a character": {**SCHEMA, "additionalProperties": False},
    "schema of a user": USER,
}
SAMPLERS: Final = {
    "greedy": Sampler(0.0),
    "temperature 0.8": Sampler(0.8),
    "top-k 50": Sampler(top_k=50),
}

Processor = Callable[[Any, Any], torch.Tensor]


class LLGuidance:
    """llguidance's matchers of a batch as a logits processor."""

    def __init__(self, compiled: llguidance.LLMatcher, batch: int, width: int) -> None:
        self._matchers = [compiled.deep_copy() for _ in range(batch)]
        self._bits = llguidance_torch.allocate_token_bitmask(batch, width)
        self._begun = False

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores, masked in place."""
        if self._begun:
            for matcher, token in zip(self._matchers, input_ids[:, -1].tolist(), strict=True):
                if not matcher.is_stopped() and not matcher.consume_token(token):
                    raise ValueError(matcher.get_error())
        self._begun = True
        for row, matcher in enumerate(self._matchers):
            llguidance_torch.fill_next_token_bitmask(matcher, self._bits, row)
        llguidance_torch.apply_token_bitmask_inplace(scores, self._bits)
        return scores


def walks(machine: TokenMachine, count: int) -> list[list[int]]:
    """Texts as ids, drawn from what is allowed among short tokens of printable ASCII."""
    vocabulary = machine.vocabulary
    short = np.array([
        data is not None and len(data) <= 8 and data.isascii() and data.decode().isprintable()
        for data in vocabulary.tokens
    ])  # fmt: skip
    found: list[list[int]] = []
    for row in range(count):
        draw, state, ids = random.Random(row), machine.start, list[int]()
        while len(ids) < LENGTH:
            allowed = np.flatnonzero(machine.allowed(state) & short)
            if not len(allowed):
                break
            ids.append(int(draw.choice(allowed)))
            state = machine.step(state, ids[-1]) or 0
        found.append(ids)
    return found


def steps(
    make_processor: Callable[[], Processor], rows: list[list[int]], logits: torch.Tensor, eos: int
) -> Iterator[float]:
    """Microseconds of each step of a batch, until the first row has written its walk."""
    processor = make_processor()
    length = min(map(len, rows))
    ids = torch.tensor([[eos] * 4 + row[:length] for row in rows])
    for place in range(4, 4 + length + 1):
        scores, before = logits.clone(), ids[:, :place]
        began = time.process_time()
        masked = processor(before, scores)
        yield 1e6 * (time.process_time() - began)
        del masked


def compiled() -> Iterator[tuple[str, TokenMachine, Any, Any]]:
    """Each constraint: its name, and as we, xgrammar and llguidance compile it."""
    vocabulary = tekken_131k()
    tokens = plain(vocabulary)
    lazy: Any = make("llguidance", tokens)
    stored: Any = make("xgrammar", tokens)
    for case in CASES:
        ours = explorer.compile(explorer.regex(case.pattern), vocabulary)
        yield case.name, ours, stored.compile(case.pattern), lazy.compile(case.pattern)
    for name, schema in SCHEMAS.items():
        ours = explorer.compile(explorer.json_schema(schema), vocabulary)
        text = json.dumps(schema)
        theirs = stored.compiler.compile_json_schema(
            text, any_whitespace=False, separators=(",", ":")
        )
        yield name, ours, theirs, lazy.compile_schema(text, "compact", False)


def drawn_steps(machine: TokenMachine, sampler: Sampler, logits: torch.Tensor) -> Iterator[float]:
    """Microseconds of each step of a batch that draws what it writes."""
    processor = ConstraintLogitsProcessor(machine, sampler=sampler)
    ids = torch.full((len(logits), 4), machine.vocabulary.eos_ids[0])
    for _ in range(LENGTH):
        scores = logits.clone()
        began = time.process_time()
        masked = processor(ids, scores)
        yield 1e6 * (time.process_time() - began)
        ids = torch.cat([ids, masked.argmax(-1, keepdim=True)], 1)


def measure(repeats: int) -> dict[str, Any]:
    """Every constraint and batch, in rounds that take turns."""
    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    width = len(tekken_131k())
    logits = torch.randn(max(BATCHES), width, generator=torch.Generator().manual_seed(0))
    masking: dict[str, Any] = {}
    drawing: dict[str, Any] = {}
    for name, ours, stored, lazy in compiled():
        rows, eos = walks(ours, max(BATCHES)), ours.vocabulary.eos_ids[0]
        for batch in BATCHES:
            makers: dict[str, Callable[[], Processor]] = {
                "explorer": lambda m=ours: ConstraintLogitsProcessor(m),
                "llguidance": lambda m=lazy, b=batch: LLGuidance(m, b, width),
                "xgrammar": lambda m=stored: XGrammarProcessor(m),
            }
            times: dict[str, list[float]] = {engine: [] for engine in makers}
            for turn in range(-1, repeats):
                for engine, maker in makers.items():
                    gc.collect()
                    try:
                        spent = list(steps(maker, rows[:batch], logits[:batch], eos))
                    except (AssertionError, ValueError):
                        continue
                    if turn >= 0:
                        times[engine] += spent
            masking.setdefault(name, {})[str(batch)] = {
                engine: statistics.median(found) if found else None
                for engine, found in times.items()
            }
        for kind, sampler in SAMPLERS.items():
            for batch in BATCHES:
                spent = [
                    microseconds
                    for turn in range(-1, max(1, repeats // 2))
                    for microseconds in drawn_steps(ours, sampler, logits[:batch])
                    if turn >= 0
                ]
                row = drawing.setdefault(name, {}).setdefault(kind, {})
                row[str(batch)] = statistics.median(spent)
    return {"load": load, "rounds": repeats, "masking": masking, "drawing": drawing}


def page(found: dict[str, Any]) -> str:
    """The tables as Markdown.

    Args:
        found: What was measured.
    """

    def beside(own: float, other: float | None) -> str:
        return "–" if other is None else f"{other:,.0f} ({own / other:.2f})"

    rows = [
        [name, batch, f"{row['explorer']:,.0f}"]
        + [beside(row["explorer"], row[engine]) for engine in ("llguidance", "xgrammar")]
        for name, batches in found["masking"].items()
        for batch, row in batches.items()
    ]
    drawn = [
        [name, kind, *(f"{row[str(batch)]:,.0f}" for batch in BATCHES)]
        for name, kinds in found["drawing"].items()
        for kind, row in kinds.items()
    ]
    return PAGE_TEXT.format(
        rounds=found["rounds"],
        load=f"{found['load']:.1f}",
        masking=table(["constraint", "rows", "explorer", "llguidance", "xgrammar"], rows),
        drawing=table(["constraint", "sampler", *(f"{batch} rows" for batch in BATCHES)], drawn),
    )


def main() -> None:
    """Measure, print, and write unless ``--quick``."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--quick", action="store_true", help="two rounds; write nothing")
    quick: bool = words.parse_args().quick
    found = measure(2 if quick else REPEATS)
    print(page(found))
    if not quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
