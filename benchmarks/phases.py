"""First and later masks of a request with eight tools, beside xgrammar and llguidance.

    python -m benchmarks.phases [RUNS]

Tekken, 131,072 ids. llguidance reads no structural tags of xgrammar; it is given its own, with the
same trigger, beginnings, schemas and ends. *First*: from the text of the request to the first mask,
nothing kept from before.
*Later*: the median and the slowest mask of a conversation, each state for the first time.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import explorer
from benchmarks.vocabularies import tekken_131k
from tests.languages.tools.conversations import TEXT, Talk, closed, cut, tool

WHERE = {"enum": ["home", "work", "away"]}
EIGHT = [
    tool(f"{verb}_{thing}", closed(
        ["name", "where"], name=TEXT, where=WHERE,
        notes={"type": "array", "items": TEXT}, sure={"type": "boolean"},
        to=closed(["kind"], kind={"enum": [thing, verb]}, text=TEXT)))
    for verb, thing in [("get", "weather"), ("get", "time"), ("send", "mail"), ("send", "letter"),
                        ("find", "flight"), ("find", "hotel"), ("book", "flight"), ("book", "room")]
]  # fmt: skip
STYLE = "qwen_3"

Fill = Callable[[int | None], np.ndarray]


def ours(tag: str) -> Callable[[], Fill]:
    """Masks of this engine."""
    vocabulary = tekken_131k()

    def first() -> Fill:
        machine = explorer.compile(explorer.structural_tag(tag), vocabulary, lazy=True)
        state = [machine.start]

        def fill(token: int | None) -> np.ndarray:
            if token is not None:
                after = machine.step(state[0], token)
                assert after is not None
                state[0] = after
            return machine.mask(state[0])

        return fill

    return first


def xgrammars(tag: str) -> Callable[[], Fill]:
    """Masks of xgrammar."""
    xgrammar: Any = __import__("xgrammar")
    vocabulary = tekken_131k()
    info = xgrammar.TokenizerInfo(
        [data or b"" for data in vocabulary.tokens], xgrammar.VocabType.RAW,
        vocab_size=len(vocabulary), stop_token_ids=list(vocabulary.eos_ids),
    )  # fmt: skip
    bits = xgrammar.allocate_token_bitmask(1, len(vocabulary))

    def first() -> Fill:
        compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        matcher = xgrammar.GrammarMatcher(compiler.compile_structural_tag(tag))

        def fill(token: int | None) -> np.ndarray:
            if token is not None:
                assert matcher.accept_token(token)
            matcher.fill_next_token_bitmask(bits)
            return bits.numpy()

        return fill

    return first


def llguidances(tag: str) -> Callable[[], Fill]:
    """Masks of llguidance, of the same language in its notation."""
    llguidance: Any = __import__("llguidance")
    numpy_masks: Any = __import__("llguidance.numpy", fromlist=["x"])
    vocabulary = tekken_131k()
    (end,) = vocabulary.eos_ids[:1]

    alone = {data[0]: k for k, data in enumerate(vocabulary.tokens) if data and len(data) == 1}

    class Tokens:
        eos_token_id = end
        bos_token_id = None

        def __init__(self) -> None:
            self.tokens = [data or b"\xff<x>" for data in vocabulary.tokens]
            self.special_token_ids = [k for k, d in enumerate(vocabulary.tokens) if d is None]

        def __call__(self, text: bytes | str) -> list[int]:
            data = text.encode() if isinstance(text, str) else text
            return [alone[byte] for byte in data]

    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokens()))
    text = llguidance.StructTag.to_grammar([
        llguidance.StructTag(
            trigger="<tool_call>\n", begin=each["begin"], grammar=each["content"]["json_schema"],
            end=each["end"],
        )
        for each in json.loads(tag)["format"]["tags"]
    ])  # fmt: skip

    def first() -> Fill:
        matcher = llguidance.LLMatcher(tokenizer, text)
        bits = numpy_masks.allocate_token_bitmask(1, tokenizer.vocab_size)

        def fill(token: int | None) -> np.ndarray:
            if token is not None:
                assert matcher.consume_token(token), matcher.get_error()
            numpy_masks.fill_next_token_bitmask(matcher, bits, 0)
            assert not matcher.get_error(), matcher.get_error()[:600]
            return bits

        return fill

    return first


def conversations(tag: str, count: int) -> Iterator[list[int]]:
    """Ids of conversations with calls."""
    talk = Talk(3)
    whole: Any = __import__("xgrammar").StructuralTag.from_json(tag).model_dump(mode="json")
    for text in iter(lambda: talk.text(whole["format"]), None):
        if not count:
            return
        if "\\u" not in text:  # llguidance writes no such escape.
            count -= 1
            yield cut(text, tekken_131k(), random.Random(1))


def main() -> None:
    """Print a line for each engine."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    source: Any = explorer.tools(EIGHT, style=STYLE).source
    tag = source.tag
    ids = list(conversations(tag, 6))
    engines = {"explorer": ours, "xgrammar": xgrammars, "llguidance": llguidances}
    ready = {name: engine(tag) for name, engine in engines.items()}
    for first in ready.values():
        first()(None)  # Libraries are loaded, code is compiled.
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    later: dict[str, list[float]] = {name: [] for name in engines}
    for turn in range(runs):
        for name, first in ready.items():
            gc.collect()
            start = time.process_time()
            fill = first()
            fill(None)
            seconds[name].append(time.process_time() - start)
            for tokens in ids[turn % len(ids) :][:1]:
                for token in tokens:
                    start = time.perf_counter()
                    fill(token)
                    later[name].append(time.perf_counter() - start)
    for name in engines:
        masks = sorted(later[name])
        print(
            f"{name:11} first {1e3 * min(seconds[name]):8.2f} ms  "
            f"later median {1e6 * masks[len(masks) // 2]:8.1f} µs  "
            f"p99 {1e3 * masks[int(len(masks) * 0.99)]:7.2f} ms  "
            f"sum {1e3 * sum(masks):8.1f} ms of {len(masks)} masks"
        )


if __name__ == "__main__":
    main()
