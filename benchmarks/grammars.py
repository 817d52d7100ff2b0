"""Grammars beside llguidance and xgrammar: text to first mask, then the mask per step.

``python -m benchmarks.grammars`` writes ``docs/benchmarks/grammars.json`` and ``.md``; ``--quick``
prints. One process, one thread, Tekken's 131,072 tokens. llguidance reads each grammar in its own
notation; xgrammar the same GBNF, but for JSON its built-in one, as its masks of that GBNF take
57 ms each. Each text is cut to `MOST_TOKENS`. *Cold* is a machine that has read nothing; *warm*
one that has read the same texts before. Times are CPU time of the process; a step (the token taken)
is counted apart. Masks are compared token by token with llguidance's.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import llguidance
import numpy as np
import xgrammar

import explorer
from benchmarks.engines import Greedy, Tokens
from benchmarks.grammar_cases import Case, cases
from benchmarks.vocabularies import plain, tekken_131k
from explorer.tokens.lazy import LazyMachine
from explorer.witnesses.engines.llguidance_ import LLGuidance
from explorer.witnesses.engines.xgrammar_ import XGrammar

MOST_TOKENS: Final = 1_500
ROUNDS: Final = 7
RESULTS: Final = Path(__file__).parents[1] / "docs" / "benchmarks" / "grammars.json"
TABLE: Final = RESULTS.with_suffix(".md")

Seconds = tuple[list[float], list[float]]
"""Of each mask, and of each step."""


def timed(mask: Callable[[], object], step: Callable[[int], object], ids: Sequence[int]) -> Seconds:
    """The seconds of each mask and step."""
    masks: list[float] = []
    steps: list[float] = []
    for token in ids:
        begin = time.process_time()
        mask()
        middle = time.process_time()
        step(token)
        masks.append(middle - begin)
        steps.append(time.process_time() - middle)
    return masks, steps


def fresh_machine(case: Case, vocabulary: explorer.Vocabulary) -> LazyMachine:
    """Our machine, made anew from the text; the comment keeps any cache away."""
    text = f"{case.gbnf}# {time.perf_counter_ns()}\n"
    return explorer.compile(explorer.grammar(text), vocabulary, lazy=True)


def read_by_ours(machine: LazyMachine, ids: Sequence[int]) -> Seconds:
    """The seconds of each mask and step."""
    state = machine.start

    def step(token: int) -> None:
        nonlocal state
        after = machine.step(state, token)
        if after is None:
            raise ValueError(f"token {token} is not allowed")
        state = after

    return timed(lambda: machine.mask(state), step, ids)


def figures(read: Sequence[Seconds]) -> dict[str, float]:
    """Microseconds."""
    mask = 1e6 * np.array([m for masks, _ in read for m in masks])
    step = 1e6 * np.array([s for _, steps in read for s in steps])
    shares = {f"mask {p}": float(np.percentile(mask, p)) for p in (50, 95, 99)}
    return {**shares, "mask most": float(mask.max()), "step 50": float(np.median(step))}


class Bench:
    """The engines over one vocabulary."""

    def __init__(self) -> None:
        self.vocabulary = tekken_131k()
        tokens: Tokens = plain(self.vocabulary)
        self.greedy = Greedy(tokens)
        self.llg, self.xgr = LLGuidance(tokens), XGrammar(tokens)
        self.bitmask: Any = xgrammar.allocate_token_bitmask(1, self.xgr.size)

    def llguidance_fresh(self, case: Case) -> llguidance.LLMatcher:
        """llguidance's matcher, made anew."""
        grammar = llguidance.LLMatcher.grammar_from_lark(case.lark)
        matcher = llguidance.LLMatcher(self.llg.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def xgrammar_fresh(self, case: Case) -> xgrammar.CompiledGrammar:
        """xgrammar's grammar, made anew."""
        if case.builtin:
            return self.xgr.compiler.compile_builtin_json_grammar()
        return self.xgr.compiler.compile_grammar(case.gbnf)

    def first_masks(self, case: Case) -> dict[str, float]:
        """Milliseconds from text to first mask, the lowest of some rounds."""

        def ours() -> None:
            machine = fresh_machine(case, self.vocabulary)
            machine.mask(machine.start)

        def theirs() -> None:
            matcher = xgrammar.GrammarMatcher(self.xgrammar_fresh(case))
            matcher.fill_next_token_bitmask(self.bitmask)

        ways: dict[str, Callable[[], object]] = {
            "ours": ours,
            "llguidance": lambda: self.llguidance_fresh(case).compute_bitmask(),
            "xgrammar": theirs,
        }
        found: dict[str, float] = {}
        for name, way in ways.items():
            for _ in range(ROUNDS):
                begin = time.process_time()
                way()
                spent = 1e3 * (time.process_time() - begin)
                found[name] = min(spent, found.get(name, spent))
        return found

    def measured(self, case: Case) -> dict[str, Any]:
        """All figures of one grammar."""
        texts = [self.greedy(text)[:MOST_TOKENS] for text in case.texts]
        found: dict[str, Any] = {
            "tokens": sum(map(len, texts)), "first mask, ms": self.first_masks(case)
        }  # fmt: skip
        machine, compiled = fresh_machine(case, self.vocabulary), self.xgrammar_fresh(case)
        matcher = self.llguidance_fresh(case)
        for heat in ("cold", "warm"):
            read = [read_by_ours(machine, ids) for ids in texts]
            guided: list[Seconds] = []
            for ids in texts:
                matcher.reset()
                guided.append(timed(matcher.compute_bitmask, matcher.consume_token, ids))
            others: list[Seconds] = []
            for ids in texts:
                reader = xgrammar.GrammarMatcher(compiled)

                def fill(reader: xgrammar.GrammarMatcher = reader) -> object:
                    return reader.fill_next_token_bitmask(self.bitmask)

                others.append(timed(fill, reader.accept_token, ids))
            found[heat] = {
                "ours": figures(read),
                "llguidance": figures(guided),
                "xgrammar": figures(others),
            }
        found["states met"] = machine.num_states
        found["differing masks"] = self.differing(case, machine, texts)
        return found

    def differing(self, case: Case, machine: LazyMachine, texts: Sequence[Sequence[int]]) -> int:
        """The number of our masks that differ from llguidance's."""
        count = 0
        for ids in texts:
            matcher, state = self.llguidance_fresh(case), machine.start
            for token in ids:
                theirs = np.frombuffer(matcher.compute_bitmask(), np.uint32)
                mine = machine.mask(state)  # Theirs are padded.
                count += not np.array_equal(theirs[: len(mine)], mine)
                matcher.consume_token(token)
                after = machine.step(state, token)
                state = machine.start if after is None else after
        return count


def page(results: dict[str, Any]) -> str:
    """The results as a page."""
    lines = [
        "# Grammars beside llguidance and xgrammar", "",
        "Written by `python -m benchmarks.grammars`; how it is measured stands there. Times "
        f"of the processor; the load was {results['load']:.1f} on {results['cores']} cores.",
        "All read the same language. xgrammar has no lexer and follows every way to read a text, "
        "of which such grammars have many; its built-in JSON does not.", "",
    ]  # fmt: skip
    engines = ("ours", "llguidance", "xgrammar")
    for name, found in results["grammars"].items():
        first = found["first mask, ms"]
        lines += [
            f"## {name}", "",
            f"{found['tokens']:,} tokens; {found['differing masks']:,} masks differ "
            f"from llguidance's; {found['states met']:,} states met. Text to first mask, ms: "
            + ", ".join(f"{engine} {first[engine]:.1f}" for engine in engines) + ".", "",
            "| µs | | median | 95 % | 99 % | most | a step |", "|---|---|---:|---:|---:|---:|---:|",
        ]  # fmt: skip
        for heat in ("cold", "warm"):
            for engine in engines:
                row = found[heat][engine]
                cells = (row[k] for k in ("mask 50", "mask 95", "mask 99", "mask most", "step 50"))
                shown = " | ".join(f"{cell:,.1f}" for cell in cells)
                lines.append(f"| {heat} | {engine} | {shown} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="print, do not write")
    quick: bool = parser.parse_args().quick
    bench = Bench()
    found = {case.name: bench.measured(case) for case in cases()}
    load = max(os.getloadavg()[:2])
    results = {"load": load, "cores": os.cpu_count(), "grammars": found}
    if quick:
        print(page(results))
    else:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        TABLE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
