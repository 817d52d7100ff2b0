"""One step after a compile: the ids that may come next, and on over the first of them.

As Koo, Liu and He 2024 measure it (C.3): the valid tokens of the start state as a vector, then the
state after the first one. And one step of a decoder: a mask, applied to a row of logits on the CPU,
by our own loop and by xgrammar's, which takes our words as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import xgrammar

import explorer
from benchmarks.constraints import CASES
from benchmarks.engines import Engine
from benchmarks.measure import interleaved, prepared
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import ids

Part = tuple[Callable[[], Any], Callable[[Any], object]]


def ours(machine: TokenMachine) -> int | None:
    """A step of a token machine."""
    following = ids(machine.mask(machine.start))
    return machine.step(machine.start, int(following[0]))


def theirs(index: Any) -> int | None:
    """A step of outlines-core's index."""
    start = index.get_initial_state()
    following = np.array(index.get_allowed_tokens(start), np.int32)
    return index.get_next_state(start, int(following[0]))


def step_rows(engines: dict[str, Engine], repeats: int) -> dict[str, Any]:
    """A first step and a step from a visited state, for the engines that can be asked for ids."""
    steps = {"explorer": ours, "explorer, lazy": ours, "outlines-core": theirs}
    rows: dict[str, Any] = {}
    for case in CASES:
        first: dict[str, Part] = {}
        again: dict[str, Callable[[], object]] = {}
        for name, step in steps.items():
            engine = engines[name]
            first[name] = (lambda e=engine, p=case.pattern: e.compile(p), step)
            compiled = engine.compile(case.pattern)
            again[name] = lambda c=compiled, s=step: s(c)
        rows[case.name] = {
            "first": prepared(first, repeats=repeats),
            "again": interleaved(again, repeats=repeats),
        }
    return rows


def apply_rows(engines: dict[str, Engine], repeats: int) -> dict[str, Any]:
    """The mask of a visited start state, applied to 131,072 float32 logits on the CPU."""
    rows: dict[str, Any] = {}
    grammar: Any = engines["xgrammar"]
    for case in CASES:
        machine = engines["explorer"].compile(case.pattern)
        masks = explorer.DeviceMasks([machine])
        states = torch.zeros(1, dtype=torch.int64)
        width = len(machine.vocabulary)
        logits = torch.zeros(1, width)
        matcher = xgrammar.GrammarMatcher(grammar.compile(case.pattern))
        bitmask = xgrammar.allocate_token_bitmask(1, width)

        def words(machine: TokenMachine = machine, logits: torch.Tensor = logits) -> None:
            packed = torch.from_numpy(np.array(machine.mask(machine.start)).view(np.int32))
            xgrammar.apply_token_bitmask_inplace(logits, packed[None])

        def filled(
            matcher: Any = matcher, bitmask: Any = bitmask, logits: torch.Tensor = logits
        ) -> None:
            matcher.fill_next_token_bitmask(bitmask)
            xgrammar.apply_token_bitmask_inplace(logits, bitmask)

        tasks: dict[str, Callable[[], object]] = {
            "explorer": lambda m=masks, o=logits, s=states: m.mask_(o, s),
            "explorer's words, applied by xgrammar": words,
            "xgrammar": filled,
        }
        words()
        same = torch.zeros(1, width)
        words(machine, same)
        other = masks.mask_(torch.zeros(1, width), states)
        if not torch.equal(same, other):
            raise AssertionError(f"{case.name}: xgrammar reads our words differently")
        rows[case.name] = interleaved(tasks, repeats=repeats)
    return rows
