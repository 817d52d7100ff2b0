"""Masks beside the logits: ours, and the bitmask path of the peers, and the floor under both.

    python -m benchmarks.device [--quick] [--json FILE]

What is timed is one step's masking of a batch, in place, from states to masked logits:

- *explorer*: `DeviceMasks.mask_`. Tables are on the device; the states are too.
- *xgrammar*, *llguidance*: each row's bitmask is filled on the CPU (with all threads that the
  library takes), copied to the device, and applied there by the library's own kernel.
- *floor*: negating the same logits in place, an elementwise kernel that reads and writes each once.

Also ours: the *reference* in plain torch, and the whole step, which draws and advances as well.
Rows stand at different places of one text, so that their masks differ. Before anything is timed,
all engines must have masked alike.

Without a CUDA device everything runs on the CPU, in batches of 1 and 16, and the result says so:
there, no copy is in the peers' path, and ours is the path of kept rows.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llguidance
import llguidance.torch as llguidance_torch
import torch
import xgrammar

import explorer
from benchmarks.constraints import CASES, JSON_TEXT
from benchmarks.engines import Greedy, make
from benchmarks.measure import interleaved
from benchmarks.vocabularies import plain, sentencepiece_32k, tekken_131k
from explorer.decoding.sampling import reference
from explorer.decoding.sampling.reference import Rows
from explorer.decoding.sampling.sampler import Sampler
from explorer.tokens.masks.device import DeviceMasks
from explorer.vocabulary import Vocabulary

JSON_OBJECT = CASES[-1]


class Compiled:
    """One vocabulary and one constraint in all engines."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        tokens = plain(vocabulary)
        self.ids = Greedy(tokens)(JSON_TEXT)
        self.dfa = explorer.compile(explorer.regex(JSON_OBJECT.pattern), vocabulary)
        self.xgrammar = make("xgrammar", tokens).compile(JSON_OBJECT.pattern)
        self.llguidance = make("llguidance", tokens).compile(JSON_OBJECT.pattern)


class Setup:
    """A batch of rows along one text, in all engines."""

    def __init__(self, compiled: Compiled, batch: int, device: str) -> None:
        self.ids, self.dfa = compiled.ids, compiled.dfa
        self.width, self.device = len(self.dfa.vocabulary), device
        walk = self.dfa.walk(self.ids)
        places = [b * 7 % len(self.ids) for b in range(batch)]
        self.masks = DeviceMasks([self.dfa], device=device)
        self.states = torch.tensor([walk[place] for place in places], device=device)
        self.rows = Rows.start(self.states.tolist(), [0] * batch, list(range(batch)), device=device)

        self.xg_matchers, self.ll_matchers = [], []
        for place in places:
            matcher = xgrammar.GrammarMatcher(compiled.xgrammar)
            other = compiled.llguidance.deep_copy()
            for token in self.ids[:place]:
                matcher.accept_token(token)
                other.consume_token(token)
            self.xg_matchers.append(matcher)
            self.ll_matchers.append(other)
        self.xg_batch = xgrammar.BatchGrammarMatcher()
        self.ll_executor = llguidance.LLExecutor()
        pinned = device == "cuda"
        words = (batch, -(-self.width // 32))
        self.xg_bits = torch.full(words, -1, dtype=torch.int32, pin_memory=pinned)
        self.ll_bits = torch.full(words, -1, dtype=torch.int32, pin_memory=pinned)

    def explorer(self, logits: torch.Tensor) -> None:
        self.masks.mask_(logits, self.states)

    def reference(self, logits: torch.Tensor) -> None:
        self.masks.mask_reference_(logits, self.states)

    def xgrammar(self, logits: torch.Tensor) -> None:
        self.xg_batch.batch_fill_next_token_bitmask(self.xg_matchers, self.xg_bits)
        bits = self.xg_bits.to(self.device, non_blocking=True)
        xgrammar.apply_token_bitmask_inplace(logits, bits)

    def llguidance(self, logits: torch.Tensor) -> None:
        pairs = [(matcher, b) for b, matcher in enumerate(self.ll_matchers)]
        llguidance_torch.fill_next_token_bitmask_par(self.ll_executor, pairs, self.ll_bits)
        bits = self.ll_bits.to(self.device, non_blocking=True)
        llguidance_torch.apply_token_bitmask_inplace(logits, bits)

    def floor(self, logits: torch.Tensor) -> None:
        logits.neg_()

    def step(self, logits: torch.Tensor) -> None:
        reference.reference_step(self.masks, Sampler(0.8), logits, self._start(), 0)

    def _start(self) -> Rows:
        self.rows.states.copy_(self.states)
        return self.rows


def tasks(setup: Setup) -> dict[str, Callable[[torch.Tensor], None]]:
    return {
        "floor": setup.floor,
        "explorer": setup.explorer,
        "xgrammar": setup.xgrammar,
        "llguidance": setup.llguidance,
        "explorer, reference": setup.reference,
        "explorer, whole step": setup.step,
    }


def check_alike(setup: Setup, batch: int) -> None:
    """All engines mask the same tokens, EOS and ids that are not text aside.

    Where only one text can follow, llguidance allows the one token that its tokenizer would write
    for it (see `benchmarks.languages`).
    """
    masked: dict[str, torch.Tensor] = {}
    for name in ("explorer", "reference", "xgrammar", "llguidance"):
        logits = torch.zeros(batch, setup.width, device=setup.device)
        getattr(setup, name)(logits)
        masked[name] = logits > -torch.inf
    text = [token for token, data in enumerate(setup.dfa.vocabulary.tokens) if data]
    for name, allowed in masked.items():
        for theirs, ours in zip(allowed[:, text], masked["explorer"][:, text], strict=True):
            narrowed = name == "llguidance" and theirs.sum() == 1 and not (theirs & ~ours).any()
            if not (narrowed or torch.equal(theirs, ours)):
                raise SystemExit(f"{name} masks other tokens than explorer")


def measure(device: str, *, quick: bool) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    for size, vocabulary in (("32k", sentencepiece_32k()), ("131k", tekken_131k())):
        compiled = Compiled(vocabulary)
        for batch in (1, 64, 1024) if device == "cuda" else (1, 16):
            setup = Setup(compiled, batch, device)
            check_alike(setup, batch)
            logits = torch.randn(batch, setup.width, device=device).to(dtype)

            def timed(
                task: Callable[[torch.Tensor], None], logits: torch.Tensor = logits
            ) -> Callable[[], None]:
                def once() -> None:
                    task(logits)
                    if device == "cuda":
                        torch.cuda.synchronize()

                return once

            times = interleaved(
                {name: timed(task) for name, task in tasks(setup).items()},
                repeats=5 if quick else 51,
                warm_up=3,
            )
            results.append({"vocabulary": size, "batch": batch, "dtype": str(dtype), **times})
            print(
                f"|V| {size}, batch {batch}, {dtype}: "
                + ", ".join(f"{name} {1e3 * t['median']:,.0f} µs" for name, t in times.items()),
                file=sys.stderr,
                flush=True,
            )
    return results


def first_and_later_visits() -> dict[str, float]:
    """Microseconds of one CPU mask at 131,072 tokens: a state's first visit, and later ones.

    Medians over 200 states, each visited once and then 20 times more.
    """
    dfa = explorer.compile(explorer.regex(JSON_OBJECT.pattern), tekken_131k())
    logits = torch.zeros(1, len(dfa.vocabulary))
    masks = DeviceMasks([dfa])
    masks.mask_(logits, torch.tensor([explorer.DONE]))  # Compiles the loops.
    first: list[float] = []
    later: list[float] = []
    for number in range(min(200, dfa.num_states)):
        state = torch.tensor([number])
        for times in (first, *[later] * 20):
            began = time.perf_counter()
            masks.mask_(logits, state)
            times.append(1e6 * (time.perf_counter() - began))
    return {"first visit": statistics.median(first), "visited": statistics.median(later)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="five rounds instead of 51")
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        print(
            "No CUDA device: everything runs on the CPU, in small batches.",
            file=sys.stderr,
        )
    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor()
    report = {
        "device": device,
        "name": name,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "one row on the CPU, µs": first_and_later_visits(),
        "milliseconds": measure(device, quick=arguments.quick),
    }
    text = json.dumps(report, indent=1, ensure_ascii=False)
    if arguments.json is not None:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    print(text if arguments.json is None else f"written: {arguments.json}")


if __name__ == "__main__":
    main()
