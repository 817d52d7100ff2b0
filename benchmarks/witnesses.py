"""``python -m benchmarks.witnesses``: what other engines at the same state cost.

Wall-clock seconds and milliseconds, beside the load; the figures of decision 71.
"""

from __future__ import annotations

import os
import statistics
import time

import explorer
from benchmarks.vocabularies import tekken_131k
from explorer import Vocabulary
from explorer.witnesses.engines import ENGINES
from explorer.witnesses.messages import Answer, Statement
from explorer.witnesses.process import EngineProcess
from explorer.witnesses.witness import witness_of

PATTERN = r'"[^"\\]*", [0-9]{1,3}'
TEXT = '"hello world, this is'
PATTERNS = (PATTERN, r"[a-z]+: \d+\.")
SINGLE = Vocabulary.from_bytes([bytes([byte]) for byte in range(256)], eos_ids=[256])


def of_engine(name: str, vocabulary: Vocabulary, tokens: tuple[int, ...]) -> str:
    """Start-up and a state of one engine.

    Args:
        name: The engine.
        vocabulary: The tokens.
        tokens: A prefix.
    """
    starts: list[float] = []
    loads: list[float] = []
    states: list[float] = []
    for _ in range(3):
        process = EngineProcess(name)
        began = time.perf_counter()
        process.masks(Statement("regex", "a"), SINGLE, ())
        started = time.perf_counter()
        process.masks(Statement("regex", "a"), vocabulary, ())
        starts.append(started - began)
        loads.append(time.perf_counter() - started)
        if len(starts) == 3:
            for k in range(200):
                began = time.perf_counter()
                said = process.masks(
                    Statement("regex", PATTERN), vocabulary, tokens[: 1 + k % len(tokens)]
                )
                states.append(1e3 * (time.perf_counter() - began))
                if not isinstance(said, Answer):
                    raise ValueError(said)
        process.close()
    return (
        f"{name}: start {min(starts):.2f} s, vocabulary {min(loads):.2f} s, "
        f"a state {statistics.median(states):.2f} ms (fastest {min(states):.2f})"
    )


def main() -> None:
    """Measure and print."""
    print(f"load {os.getloadavg()[0]:.1f}")
    vocabulary = tekken_131k()
    tokens = vocabulary.encode(TEXT) or ()
    for name in ENGINES:
        print(of_engine(name, vocabulary, tokens))
    constraint = explorer.regex(PATTERN)
    machine = explorer.compile(constraint, vocabulary, lazy=True)
    witness_of(machine, constraint, tokens, tuple(ENGINES), 10)
    times: list[float] = []
    for k in range(20):
        began = time.perf_counter()
        witness_of(machine, constraint, tokens[: 1 + k % len(tokens)], tuple(ENGINES), 10)
        times.append(1e3 * (time.perf_counter() - began))
    print(f"a witness that agrees: {statistics.median(times):.0f} ms")
    for pattern in PATTERNS:
        for tokenizer in (vocabulary, SINGLE):
            found = explorer.disagreements(explorer.regex(pattern), tokenizer, 8)
            print(
                f"{pattern}, {len(tokenizer):,} tokens: {found.states_per_second:,.0f} states a "
                f"second, {len(found.differences)} differences"
            )


if __name__ == "__main__":
    main()
