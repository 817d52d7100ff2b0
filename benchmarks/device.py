"""A constrained step on a GPU beside the model alone, torch's own sampling, and the peers.

    python -m benchmarks.device [--quick] [--json FILE]

Five tables, each with seconds of its own (`SECONDS`, four minutes together); what does not fit is a
dash. On a CUDA device they are written to `docs/benchmarks/device.json` and `device.md`, with the
name of the card, unless ``--json`` names another file. Elsewhere, and with ``--quick``, small forms
of them run in less than a minute and are printed.

- *launches*: one launch sequence, captured in a graph and replayed over logits that rotate: masks
  and whole draws here, the same samplers of torch without a mask, xgrammar's kernel with words that
  are on the device already, and the floor, an elementwise kernel over the same logits.
- *steps*: a step of a model of 1.24 billion random weights, replayed: alone, and with mask, draw,
  advance and log-probabilities.
- *texts*: milliseconds a step of `explorer.generate` and of `generate` of transformers.
- *processors*: a step of a logits processor on the device, with the wait for it.
- *stored masks*: the share of masks of machines without a table that were on the device already.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import transformers
import xgrammar
from xgrammar.contrib.hf import LogitsProcessor as XGrammarProcessor

import explorer
from benchmarks.constraints import CASES
from benchmarks.engines import make
from benchmarks.processors import USER, LLGuidance, walks
from benchmarks.tables import figure, table
from benchmarks.visit_cases import SCHEMAS
from benchmarks.vocabularies import plain, tekken_131k
from explorer import Sampler
from explorer.decoding.batches.constrained_batch import ConstrainedBatch
from explorer.decoding.batches.processor import ConstraintLogitsProcessor
from explorer.decoding.batches.token_by_token import DrawnColumns
from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.models.replayed import Replayed
from explorer.decoding.sampling.reference import Rows, reference_step
from explorer.decoding.sampling.sampler import Drawing
from explorer.tokens.masks.device import DeviceMasks

RESULTS: Final = Path(__file__).parents[1] / "docs" / "benchmarks" / "device.json"
SECONDS: Final = {
    "launches": 60, "steps": 50, "texts": 70, "processors": 25, "stored masks": 25,
}  # fmt: skip
SMALL: Final = 5
"""Seconds for each table in its small form."""

CUDA: Final = torch.cuda.is_available()
DEVICE: Final = "cuda" if CUDA else "cpu"
JSON_OBJECT: Final = CASES[-1].pattern
SAMPLERS: Final = {
    "greedy": Sampler(0.0),
    "temperature 0.8": Sampler(0.8),
    "top-k 50": Sampler(0.8, top_k=50),
    "top-p 0.9": Sampler(0.8, top_p=0.9),
    "min-p 0.05": Sampler(0.8, min_p=0.05),
}
PAGE_TEXT: Final = """# On a GPU

Written by `python -m benchmarks.device` from `device.json`, on one {device}, torch {torch}; its
docstring says how each table is measured. 131,072 ids; a dash was not measured.
{note}
"""
TITLES: Final = {
    "launches": "Microseconds in a graph, bfloat16; torch's own samplers have no mask.",
    "steps": "Milliseconds a step of 1.24 billion weights, bfloat16, under the schema of a user.",
    "texts": "Milliseconds a step of whole texts, the same model and schema.",
    "processors": "Microseconds a step of a logits processor, logits on the device.",
    "stored masks": "Masks of lazy machines along 16 texts, and the share sent before.",
}

Row = dict[str, Any]
Cells = Iterator[tuple[str, Callable[[], float]]]


def wait() -> None:
    if CUDA:
        torch.cuda.synchronize()


def replayed(tasks: list[Callable[[], object]], repeats: int = 30) -> float:
    """Microseconds of each of some launch sequences, captured one after the other in a graph."""
    for task in tasks:
        task()
    if not CUDA:
        return 1e3 * called(tasks[0], 5)
    wait()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for task in tasks:
            task()
    times: list[float] = []
    for _ in range(repeats):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        graph.replay()
        after.record()
        wait()
        times.append(1e3 * before.elapsed_time(after) / len(tasks))
    return statistics.median(times)


def called(task: Callable[[], object], repeats: int) -> float:
    """Milliseconds of a call from Python, with the wait for the device."""
    times: list[float] = []
    for _ in range(repeats):
        wait()
        began = time.perf_counter()
        task()
        wait()
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


def filled(row: Row, cells: Cells, until: float) -> Row:
    """A row with its figures, as far as there is time; an engine that fails has none."""
    for name, measure in cells:
        row[name] = None
        if time.monotonic() < until:
            try:
                row[name] = measure()
            except Exception as error:  # Of a peer, or of a card that is too small.
                print(f"{row} {name}: {error!r:.120}", file=sys.stderr)
    print({key: figure(v) if isinstance(v, float) else v for key, v in row.items()}, flush=True)
    return row


def launches(small: bool, until: float) -> Iterator[Row]:
    vocabulary = tekken_131k()
    machine = explorer.compile(explorer.regex(JSON_OBJECT), vocabulary)
    texts, width = walks(machine, 20), len(vocabulary)
    masks = DeviceMasks([machine], device=DEVICE)
    for batch in (1, 4) if small else (1, 8, 64, 256, 1024):
        count = 1 if small else max(2, min(16, (512 << 20) // (batch * width * 2)))
        kind = torch.bfloat16 if CUDA else torch.float32
        logits = [torch.randn(batch, width, device=DEVICE).to(kind) for _ in range(count)]
        ways = [machine.walk(texts[b % 20]) for b in range(batch)]
        places = [way[b % (len(way) - 1)] for b, way in enumerate(ways)]
        states = torch.tensor(places, device=DEVICE)
        rows = Rows.start(places, [0] * batch, list(range(batch)), device=DEVICE)
        words = torch.full((batch, -(-width // 32)), -1, dtype=torch.int32, device=DEVICE)

        def each(
            task: Callable[[torch.Tensor], object], some: list[torch.Tensor] = logits
        ) -> Callable[[], float]:
            return lambda: replayed([lambda given=given: task(given) for given in some])

        def drawn(
            sampler: Sampler, rows: Rows = rows, states: torch.Tensor = states
        ) -> Callable[[torch.Tensor], object]:
            def draw(given: torch.Tensor) -> None:
                reference_step(masks, sampler, given, rows, 0)
                rows.states.copy_(states)

            return draw

        def cells(
            states: torch.Tensor = states, words: torch.Tensor = words, each: Any = each
        ) -> Cells:
            yield "copy of the logits", each(lambda given: given.neg_())
            yield "`mask_`", each(lambda given: masks.mask_(given, states))
            apply = xgrammar.apply_token_bitmask_inplace
            yield "xgrammar's kernel", each(lambda given: apply(given, words))
            for name, sampler in SAMPLERS.items():
                yield f"mask, {name}", each(drawn(sampler))
            for name, draw in TORCH.items():
                yield f"torch, {name}", each(draw)

        yield filled({"rows": batch}, cells(), until)


def _top_k(logits: torch.Tensor) -> torch.Tensor:
    values, ids = torch.topk(logits.float(), 50)
    return ids.gather(1, torch.multinomial(torch.softmax(values / 0.8, -1), 1))


def _top_p(logits: torch.Tensor) -> torch.Tensor:
    ranked, ids = torch.sort(logits.float() / 0.8, descending=True)
    mass = torch.softmax(ranked, -1)
    mass = torch.where(mass.cumsum(-1) - mass > 0.9, 0, mass)
    return ids.gather(1, torch.multinomial(mass, 1))


TORCH: Final[dict[str, Callable[[torch.Tensor], object]]] = {
    "greedy": lambda logits: logits.argmax(-1),
    "temperature 0.8": lambda given: torch.multinomial(torch.softmax(given.float() / 0.8, -1), 1),
    "top-k 50": _top_k,
    "top-p 0.9": _top_p,
}


def model(small: bool) -> HuggingFaceModel:
    """A Llama of random weights: 1.24 billion, or a few."""
    vocabulary = tekken_131k()
    sizes = (64, 128, 2, 4, 4) if small else (2048, 8192, 16, 32, 8)
    names = (
        "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads",
    )  # fmt: skip
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary), max_position_embeddings=4096, tie_word_embeddings=True,
        **dict(zip(names, sizes, strict=True)),
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.device(DEVICE):
        network: Any = transformers.LlamaForCausalLM(config)
    network = network.to(torch.bfloat16 if CUDA else torch.float32).eval()
    end = vocabulary.eos_ids[0]
    network.generation_config.eos_token_id = network.generation_config.pad_token_id = end
    return HuggingFaceModel(network, types.SimpleNamespace(), "random", vocabulary)


def prompts(batch: int) -> list[list[int]]:
    return [[1, 1000 + k, 2000, 3000] for k in range(batch)]


def steps(small: bool, until: float) -> Iterator[Row]:
    lm = model(small)
    machine = explorer.compile(explorer.json_schema(USER), lm.vocabulary)
    repeats = 6 if small else 40

    def alone(batch: int) -> float:
        reading = lm.static.opened(prompts(batch), 64)
        tokens = torch.full((batch,), 5000, device=DEVICE)
        for _ in range(4):
            reading.step(tokens)
        return called(lambda: reading.step(tokens), repeats)

    def launched(batch: int) -> float:
        reading = lm.batch(prompts(batch))
        tokens = torch.full((batch,), 5000, device=DEVICE)
        return called(lambda: reading.step(tokens), repeats // 2)

    def with_draw(batch: int, sampler: Sampler, log_probs: bool) -> float:
        rows = ConstrainedBatch(
            [machine] * batch, lm.vocabulary, Drawing(sampler, 0, 64, False), streams=None,
            device=DEVICE,
        )  # fmt: skip
        reading = lm.static.opened(prompts(batch), 64)
        columns = DrawnColumns(reading, rows, 64, log_probs)
        draw = Replayed(columns.draw, torch.device(DEVICE))

        def step() -> None:
            draw()
            reading.step(columns.following)

        for _ in range(4):
            step()
        took = called(step, repeats)
        rows.masks.check()
        return took

    for batch in (1, 2) if small else (1, 16, 64, 256):

        def cells(batch: int = batch) -> Cells:
            yield "model, one by one", lambda: launched(batch)
            yield "model", lambda: alone(batch)
            for name, sampler in SAMPLERS.items():
                yield name, lambda sampler=sampler: with_draw(batch, sampler, False)
            yield "greedy, log-probabilities", lambda: with_draw(batch, Sampler(0.0), True)

        yield filled({"rows": batch}, cells(), until)


def texts(small: bool, until: float) -> Iterator[Row]:
    lm = model(small)
    schema = explorer.json_schema(USER)
    machine = explorer.compile(schema, lm.vocabulary)
    lazy = explorer.compile(schema, lm.vocabulary, lazy=True)
    most = 8 if small else 96
    compiler: Any = make("xgrammar", plain(lm.vocabulary))
    stored = compiler.compiler.compile_json_schema(
        json.dumps(USER), any_whitespace=False, separators=(",", ":")
    )

    def ours(batch: int, constraint: Any, log_probs: bool = False) -> float:
        def once() -> int:
            written = explorer.generate(
                lm, prompts(batch), constraint, Sampler(0.8), most, masking_budget=False,
                log_probs=log_probs,
            )  # fmt: skip
            return max(len(text.tokens) for text in written)

        return called(once, 1 if small else 2) / once()

    def theirs(batch: int, processors: Callable[[], list[Any]], **more: Any) -> float:
        ids = torch.tensor(prompts(batch), device=DEVICE)

        def once() -> int:
            torch.manual_seed(0)
            written = lm.model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=0.8,
                top_k=0, max_new_tokens=most, logits_processor=processors(), **more,
            )  # fmt: skip
            return written.shape[1] - ids.shape[1]

        once()
        return called(once, 1 if small else 2) / once()

    for batch in (1, 2) if small else (1, 16, 64):

        def cells(batch: int = batch) -> Cells:
            yield "explorer, free", lambda: ours(batch, None)
            yield "explorer, schema", lambda: ours(batch, machine)
            yield "explorer, schema, log-probabilities", lambda: ours(batch, machine, True)
            yield "explorer, schema, lazy", lambda: ours(batch, lazy)
            yield "transformers, free", lambda: theirs(batch, list)
            own = [
                lambda: [ConstraintLogitsProcessor(machine)],
                lambda: [XGrammarProcessor(stored)],
            ]
            yield "transformers, our processor", lambda: theirs(batch, own[0])
            yield "transformers, xgrammar's", lambda: theirs(batch, own[1])
            if CUDA:  # There transformers compiles the step of a static cache.
                static = {"cache_implementation": "static"}
                yield "transformers, static, free", lambda: theirs(batch, list, **static)
                yield "transformers, static, ours", lambda: theirs(batch, own[0], **static)

        yield filled({"rows": batch}, cells(), until)


def processors(small: bool, until: float) -> Iterator[Row]:
    vocabulary = tekken_131k()
    tokens = plain(vocabulary)
    engines = make("xgrammar", tokens), make("llguidance", tokens)
    machine = explorer.compile(explorer.regex(JSON_OBJECT), vocabulary)
    lazy = explorer.compile(explorer.regex(JSON_OBJECT), vocabulary, lazy=True)
    theirs, other = (engine.compile(JSON_OBJECT) for engine in engines)
    drawn = walks(machine, 32)

    def along(maker: Callable[[], Any], batch: int) -> float:
        spent: list[float] = []
        length = min(map(len, drawn[:batch]))
        end = vocabulary.eos_ids[0]
        ids = torch.tensor([[end] * 4 + row[:length] for row in drawn[:batch]], device=DEVICE)
        logits = torch.randn(batch, len(vocabulary), device=DEVICE)
        for turn in range(2 if small else 4):
            processor = maker()
            for place in range(4, 5 + length):
                scores = logits.clone()
                took = called(lambda: processor(ids[:, :place], scores), 1)  # noqa: B023
                spent += [1e3 * took] * (turn > 0)
        return statistics.median(spent)

    for batch in (1, 4) if small else (1, 8, 32):

        def cells(batch: int = batch) -> Cells:
            yield "explorer", lambda: along(lambda: ConstraintLogitsProcessor(machine), batch)
            yield "explorer, lazy", lambda: along(lambda: ConstraintLogitsProcessor(lazy), batch)
            yield "xgrammar", lambda: along(lambda: XGrammarProcessor(theirs), batch)
            if not CUDA:  # Its own kernel takes words that are on the device.
                yield (
                    "llguidance",
                    lambda: along(lambda: LLGuidance(other, batch, len(vocabulary)), batch),
                )

        yield filled({"rows": batch}, cells(), until)


def stored_masks(small: bool, until: float) -> Iterator[Row]:
    vocabulary = tekken_131k()
    for name, schema in list(SCHEMAS.items())[: 4 if small else None]:
        if time.monotonic() > until:
            return
        machine = explorer.compile(explorer.json_schema(schema), vocabulary, lazy=True)
        masks = DeviceMasks([machine])
        ways = [_way(machine, seed, 60 if small else 120) for seed in range(16)]
        begun = 0
        for place in range(max(map(len, ways))):
            states = torch.tensor([way[place] for way in ways if place < len(way)])
            masks.stored.places(masks.packed_rows(states))
            if place == 19:
                begun = masks.stored.sent
        stored = masks.stored
        row: Row = {"schema": name, "masks": stored.asked, "sent": stored.sent}
        row["of them in the first 20 steps"] = begun
        row["known"] = f"{1 - stored.sent / stored.asked:.1%}"
        print(row, flush=True)
        yield row


def _way(machine: Any, seed: int, most: int) -> list[int]:
    """The states along a text that is drawn among short tokens of printable ASCII."""
    short = np.array([
        data is not None and len(data) <= 8 and data.isascii() and data.decode().isprintable()
        for data in machine.vocabulary.tokens
    ])  # fmt: skip
    draw, ways = random.Random(seed), [machine.start]
    for _ in range(most):
        allowed = np.flatnonzero(machine.allowed(ways[-1]) & short)
        if not len(allowed):
            break
        ways.append(machine.step(ways[-1], int(draw.choice(allowed))))
    return ways


TABLES: Final = {
    "launches": launches, "steps": steps, "texts": texts, "processors": processors,
    "stored masks": stored_masks,
}  # fmt: skip


def page(report: dict[str, Any]) -> str:
    """The page of the tables."""
    parts = [PAGE_TEXT.format(**{"note": "", **report})]
    for name, title in TITLES.items():
        rows: list[Row] = report.get(name, [])
        heads = list(dict.fromkeys(head for row in rows for head in row))
        if rows:
            parts.append(f"## {name.capitalize()}\n\n{title}\n")
            parts.append(table(heads, [[_cell(row.get(head)) for head in heads] for row in rows]))
            parts.append("")
    return "\n".join(parts)


def _cell(value: Any) -> str:
    return figure(value) if value is None or isinstance(value, float) else f"{value}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small forms of the tables, printed")
    parser.add_argument("--json", type=Path, help="write the figures there, and the page beside")
    arguments = parser.parse_args()
    small = arguments.quick or not CUDA
    if not CUDA:
        print("No CUDA device: small forms of the tables, on the CPU.", file=sys.stderr)
    report: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if CUDA else "CPU", "torch": torch.__version__,
    }  # fmt: skip
    path = arguments.json or (None if small else RESULTS)
    for name, rows in TABLES.items():
        print(f"== {name}", flush=True)
        until = time.monotonic() + (SMALL if small else SECONDS[name])
        report[name] = list(rows(small, until))
        if path is not None:
            path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")
            path.with_suffix(".md").write_text(page(report), "utf-8")


if __name__ == "__main__":
    main()
