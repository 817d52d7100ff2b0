"""The growth of the time of a compile: with the vocabulary, and with the states.

Two families of constraints for the states, because they stress different things: a *counted
repeat*, where every state allows tens of thousands of tokens, and a *choice among words*, where
most states allow a handful. outlines-core stands beside ours where its table (one entry per state
and token) fits and the last size took less than a second; otherwise the column stays empty.
"""

from __future__ import annotations

import random
from typing import Any, Final

import explorer
from benchmarks.constraints import CASES
from benchmarks.engines import Tokens, make
from benchmarks.measure import interleaved
from benchmarks.vocabularies import plain, resized, tekken_131k

SIZES: Final = (4_000, 8_000, 16_000, 32_000, 65_000, 131_000, 200_000)
STATES: Final = (10, 100, 1_000, 10_000)
MOST_ENTRIES: Final = 8_000_000
MOST_MILLISECONDS: Final = 1_000


def counted(states: int) -> str:
    """``n`` letters or fewer: a machine of about ``n`` states."""
    return f"[a-z]{{1,{states - 1}}}"


def words(states: int) -> str:
    """A choice among random words: a machine of about ``n`` states."""
    draw = random.Random(states)
    prefixes: set[str] = {""}
    chosen: list[str] = []
    # The words' ends are shared in the minimal machine, the more so the more words there are.
    nodes = states * (states / 3) ** 0.125
    while len(prefixes) < nodes:
        word = "".join(draw.choice("etaoinshrdlu") for _ in range(draw.randint(3, 9)))
        chosen.append(word)
        prefixes.update(word[:k] for k in range(len(word) + 1))
    return "|".join(sorted(set(chosen)))


def vocabulary_rows(repeats: int) -> list[dict[str, Any]]:
    """The JSON object on ever larger vocabularies."""
    rows: list[dict[str, Any]] = []
    pattern = CASES[-1].pattern
    for size in SIZES:
        tokens = plain(resized(size))
        engines = {name: make(name, tokens) for name in ("explorer", "outlines-core")}
        times = interleaved(
            {name: _compiling(engine, pattern) for name, engine in engines.items()},
            repeats=repeats,
        )
        classes = engines["explorer"].compile(pattern).num_classes
        rows.append(
            {
                "tokens": size,
                "token_classes": classes,
                **{name: spent["median"] for name, spent in times.items()},
            }
        )
    return rows


def _compiling(engine: Any, pattern: str) -> Any:
    return lambda: engine.compile(pattern)


def state_rows(repeats: int) -> list[dict[str, Any]]:
    """Two families of constraints on the 131k vocabulary."""
    rows: list[dict[str, Any]] = []
    vocabulary = tekken_131k()
    tokens: Tokens = plain(vocabulary)
    engines = {name: make(name, tokens) for name in ("explorer", "outlines-core")}
    for family, pattern_of in (("counted repeat", counted), ("choice among words", words)):
        theirs: float | None = 0.0
        for states in STATES:
            pattern = pattern_of(states)
            machine = explorer.compile(explorer.regex(pattern), vocabulary)
            # The entries that a table of one per (state, token) has, from our own rows.
            sizes = [len(ids) for ids in machine.tokens_of_class]
            entries = sum(
                int(machine.class_row(state) @ sizes) for state in range(machine.num_states)
            )
            chosen = ["explorer"]
            if entries <= MOST_ENTRIES and theirs is not None and theirs <= MOST_MILLISECONDS:
                chosen.append("outlines-core")
            times = interleaved(
                {name: _compiling(engines[name], pattern) for name in chosen}, repeats=repeats
            )
            theirs = times["outlines-core"]["median"] if len(chosen) > 1 else None
            rows.append(
                {
                    "family": family,
                    "states": machine.num_states,
                    "token_classes": machine.num_classes,
                    "entries": entries,
                    "kilobytes": round(machine.nbytes / 1024),
                    "explorer": times["explorer"]["median"],
                    "outlines-core": theirs,
                }
            )
    return rows
