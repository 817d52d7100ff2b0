"""A grammar of JSON beside llguidance and xgrammar: text to first mask, then the mask per step.

``python -m tests.bench.grammars``: one process, one thread, Tekken's 131,072 tokens, the GBNF that
ships. llguidance reads the same grammar in its own notation; xgrammar its built-in JSON, as its
masks of this GBNF take 57 ms each. The documents are the notebooks of this project and a synthetic
one, each cut to `MOST_TOKENS`. *Cold* is a machine that has read
nothing; *warm* one that has read the same documents before. Times are CPU time of the process, in
microseconds per mask; a step (the token taken) is counted apart. Masks are compared token by token.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import llguidance
import numpy as np
import xgrammar

import explorer
from explorer.automata.grammar.shipped import shipped_text
from explorer.tokens.lazy import LazyMachine
from tests.bench.engines import Greedy, Tokens
from tests.bench.engines.llguidance_ import LLGuidance
from tests.bench.engines.xgrammar_ import XGrammar
from tests.bench.vocabularies import plain, tekken_131k

MOST_TOKENS: Final = 1_500
ROUNDS: Final = 7
ROOT: Final = Path(__file__).resolve().parents[2]

LARK: Final = r"""start: ws value
value: (object | array | STRING | NUMBER | "true" | "false" | "null") ws
object: "{" ws (member ("," ws member)*)? "}"
member: STRING ws ":" ws value
array: "[" ws (value ("," ws value)*)? "]"
STRING: /"([^"\\\x00-\x1F]|\\(["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/
ws: /[ \t\n\r]*/
"""


def documents() -> list[str]:
    """JSON that people and programs wrote."""
    made = [{"id": k, "tags": ["a", "b"], "note": f'no. {k}: "quoted"\n', "in": [[k], {"x": None}]}
            for k in range(40)]  # fmt: skip
    found = [path.read_text("utf-8") for path in sorted((ROOT / "notebooks").glob("*.ipynb"))[:3]]
    return [json.dumps(made, indent=1), json.dumps(made), *found]


def timed(mask: Callable[[], object], step: Callable[[int], object], ids: list[int]) -> tuple[
    list[float], list[float]
]:  # fmt: skip
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


def fresh_machine(vocabulary: explorer.Vocabulary) -> LazyMachine:
    """Our machine, made anew from the text; the comment keeps any cache away."""
    text = f"{shipped_text('json')}# {time.perf_counter_ns()}\n"
    return explorer.compile(explorer.grammar(text), vocabulary, lazy=True)


def read_by_ours(machine: LazyMachine, ids: list[int]) -> tuple[list[float], list[float]]:
    """The seconds of each mask and step."""
    state = machine.start

    def step(token: int) -> None:
        nonlocal state
        after = machine.step(state, token)
        if after is None:
            raise ValueError(f"token {token} is not allowed")
        state = after

    return timed(lambda: machine.mask(state), step, ids)


def shown(name: str, masks: list[float], steps: list[float]) -> None:
    """One line of the report."""
    mask, step = 1e6 * np.array(masks), 1e6 * np.array(steps)
    tail = np.percentile(mask, 99)
    print(
        f"  {name:16} mask median {np.median(mask):7.1f}  99% {tail:8.1f}  most {mask.max():9.1f}"
        f"   step median {np.median(step):6.1f} µs"
    )


def main() -> None:
    """Measure, compare, print."""
    vocabulary = tekken_131k()
    tokens: Tokens = plain(vocabulary)
    greedy = Greedy(tokens)
    texts = [greedy(document)[:MOST_TOKENS] for document in documents()]
    llg, xgr = LLGuidance(tokens), XGrammar(tokens)

    def llguidance_fresh() -> llguidance.LLMatcher:
        grammar = llguidance.LLMatcher.grammar_from_lark(LARK)
        return llguidance.LLMatcher(llg.tokenizer, grammar, log_level=0)

    def xgrammar_fresh() -> xgrammar.CompiledGrammar:
        return xgr.compiler.compile_builtin_json_grammar()

    bitmask = xgrammar.allocate_token_bitmask(1, xgr.size)
    first: dict[str, list[float]] = {"ours": [], "llguidance": [], "xgrammar": []}
    for _ in range(ROUNDS):
        begin = time.process_time()
        machine = fresh_machine(vocabulary)
        machine.mask(machine.start)
        first["ours"].append(time.process_time() - begin)
        begin = time.process_time()
        llguidance_fresh().compute_bitmask()
        first["llguidance"].append(time.process_time() - begin)
        begin = time.process_time()
        xgrammar.GrammarMatcher(xgrammar_fresh()).fill_next_token_bitmask(bitmask)
        first["xgrammar"].append(time.process_time() - begin)
    print("Text to first mask, milliseconds, lowest of", ROUNDS)
    print("  " + ", ".join(f"{name} {1e3 * min(each):.2f}" for name, each in first.items()))

    machine, compiled = fresh_machine(vocabulary), xgrammar_fresh()
    for heat in ("cold", "warm"):
        print(f"{heat}: {sum(map(len, texts)):,} tokens of {len(texts)} documents")
        mine = [read_by_ours(machine, ids) for ids in texts]
        shown("ours", [m for each, _ in mine for m in each], [s for _, each in mine for s in each])
        matcher = llguidance_fresh()
        theirs: list[tuple[list[float], list[float]]] = []
        for ids in texts:
            matcher.reset()
            theirs.append(timed(matcher.compute_bitmask, matcher.consume_token, ids))
        shown("llguidance", [m for e, _ in theirs for m in e], [s for _, e in theirs for s in e])
        theirs = []
        for ids in texts:
            reader = xgrammar.GrammarMatcher(compiled)
            theirs.append(
                timed(lambda r=reader: r.fill_next_token_bitmask(bitmask), reader.accept_token, ids)
            )
        shown("xgrammar", [m for e, _ in theirs for m in e], [s for _, e in theirs for s in e])

    differing = asked = 0
    for ids in texts:
        matcher, state = llguidance_fresh(), machine.start
        for token in ids:
            theirs_words = np.frombuffer(matcher.compute_bitmask(), np.uint32)
            mine_words = machine.mask(state)  # Theirs are padded.
            differing += not np.array_equal(theirs_words[: len(mine_words)], mine_words)
            asked += 1
            matcher.consume_token(token)
            after = machine.step(state, token)
            state = machine.start if after is None else after
    print(f"Masks that differ from llguidance's: {differing} of {asked:,}")


if __name__ == "__main__":
    main()
