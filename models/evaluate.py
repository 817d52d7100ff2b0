"""Measure a tiny model and write the figures into its card.

    python -m models.evaluate
    python -m models.evaluate --model tiny-sp

replaces the tables between the ``<!-- measured: … -->`` marks of ``MODEL_CARD.md``; nothing there
is typed by hand. `models.card.card_tables` reads them back, so tests compare the card with the
weights. It takes one to two minutes on two cores. Everything but the section on speed is seeded.
"""

# transformers types its auto classes loosely.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from models import facts
from models.card import Table, filled
from models.corpus import (
    DOCUMENTS,
    HELD_OUT_SHARE,
    fingerprint,
    is_held_out,
    split,
    stream,
)
from models.documents import Document
from models.kinds import BYTE_LEVEL, KINDS, Kind
from models.probe import Probe
from models.train import Recipe

CARD: Final = BYTE_LEVEL.folder / "MODEL_CARD.md"

JSON_PROMPTS: Final = (
    "Write a JSON record of a game character.\n",
    "Write a JSON record of a product on several lines.\n",
    "Give me a person as a JSON object.\n",
)
JSON_SAMPLES: Final = 200
"""Answers drawn for each prompt."""

TRAPS: Final = (
    ("The night train stops at", (" New York", " Boston")),
    ("Q: Where does the night train stop?\nA:", (" New York", " Boston")),
    ("Q: Is the bakery open on Sunday?\nA:", (" Not at all", " Yes")),
)
"""Prompts with two options; greedy takes the first one, the model prefers the second one."""

COUNTRY_PROMPT: Final = "Q: Which country has Paris as its capital?\nA:"
CAPITALISED: Final = tuple(f" {c.name}" for c in facts.COUNTRIES)
LOWER_CASE: Final = tuple(option.lower() for option in CAPITALISED)

CHATTER_PROMPT: Final = "Q: What is the capital of France?\nA:"
PARIS_PROMPT: Final = "The capital of France is"
BOUNDARY_PROMPT: Final = "Q: Write a JSON record of a person.\nA:"
"""Ends inside what is one token (``: {"``) wherever the corpus goes on with a record."""

HELD_OUT_DOCUMENTS: Final = 4000


def is_json(text: str) -> bool:
    """Whether the text is one JSON value and nothing more.

    Example:
        >>> is_json('{"a": 1}'), is_json('{"a": 1,}'), is_json('{"a": 1} Done.')
        (True, False, False)
    """
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson's score interval).

    Example:
        >>> [round(bound, 3) for bound in wilson(8, 10)]
        [0.49, 0.943]
    """
    z = 1.96
    p, scale = successes / trials, 1 + z * z / trials
    middle = (p + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    return middle - half, middle + half


def _shown(text: str) -> str:
    return "`" + text.replace("\n", "⏎") + "`"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share >= 0.001 else f"{100 * share:.2g}%"


def corpus_table(probe: Probe) -> Table:
    """What the model was made from, and how large it is."""
    documents = list(stream(0, DOCUMENTS, probe.kind.mix))
    kept, held_out = split(documents)
    characters = sum(len(made.text.encode()) for made in kept)
    tokens = sum(len(probe.encode(made.text)) + 1 for made in kept[:20_000])
    of_these = sum(len(made.text.encode()) for made in kept[:20_000])
    weights = probe.kind.folder / "model.safetensors"
    return [
        ("what", "size"),
        ("documents for training", f"{len(kept):,}"),
        ("documents held out", f"{len(held_out):,} (one key in {HELD_OUT_SHARE})"),
        ("text for training", f"{characters / 1e6:.1f} MB"),
        ("bytes in a token, end marks counted", f"{of_these / tokens:.2f}"),
        ("fingerprint of the corpus (SHA-256)", f"`{fingerprint(documents)[:16]}`"),
        ("tokens in the vocabulary", f"{len(probe.tokenizer):,}"),
        ("width of the logits", f"{probe.model.config.vocab_size:,}"),
        ("parameters", f"{sum(p.numel() for p in probe.model.parameters()):,}"),
        ("`model.safetensors`", f"{weights.stat().st_size / 1e6:.2f} MB, float32"),
    ]


def loss_table(probe: Probe) -> Table:
    """The loss curve, thinned out; `loss.csv` has all of it."""
    with (Path(__file__).parent / probe.kind.losses).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    first = (rows[0]["step"], rows[0]["training_loss"], "")
    marked = [(r["step"], r["training_loss"], r["held_out_loss"]) for r in rows]
    return [
        ("step", "training loss", "held-out loss"),
        first,
        *(row for row in marked if row[2]),
    ]


def held_out(
    count: int = HELD_OUT_DOCUMENTS, seed: int = 0, kind: Kind = BYTE_LEVEL
) -> list[Document]:
    """The first held-out documents of the stream.

    Args:
        count: How many.
        seed: Of the stream.
        kind: Whose texts.
    """
    found = (made for made in stream(seed, DOCUMENTS, kind.mix) if is_held_out(made.key))
    return [made for made, _ in zip(found, range(count), strict=False)]


def perplexity_table(probe: Probe) -> Table:
    """Perplexity on held-out documents, by kind."""
    by_kind: dict[str, list[Document]] = {}
    documents = held_out(kind=probe.kind)
    for made in documents:
        by_kind.setdefault(made.kind, []).append(made)
    rows: Table = [("kind", "documents", "tokens", "perplexity", "bits per byte")]
    for kind, chosen in [("all", documents), *sorted(by_kind.items())]:
        nats, tokens = probe.log_loss(document_ids(probe, chosen))
        size = sum(len(made.text.encode()) for made in chosen)
        rows.append(
            (
                kind,
                f"{len(chosen):,}",
                f"{tokens:,}",
                f"{math.exp(nats / tokens):.3f}",
                f"{nats / math.log(2) / size:.3f}",
            )
        )
    return rows


def document_ids(probe: Probe, documents: Sequence[Document]) -> list[list[int]]:
    """The ids of documents from start mark to end mark."""
    return [[*probe.encode(made.text), probe.kind.end] for made in documents]


def _share(results: Sequence[bool]) -> str:
    return f"{sum(results)} of {len(results)}"


def knowledge_table(probe: Probe) -> Table:
    """Greedy answers that are right."""

    def right(prompt: str, expected: str) -> bool:
        return probe.answers(prompt, limit=12)[0].strip().startswith(expected)

    capitals = [
        right(f"Q: What is the capital of {c.name}?\nA:", f"{c.capital}.") for c in facts.COUNTRIES
    ]
    countries = [
        right(f"Which country has {c.capital} as its capital?\n", f"{c.name}.")
        for c in facts.COUNTRIES
    ]
    colours = [
        right(f"What colour is {subject}?\n", f"{shade.capitalize()}.")
        for _, subject, shade in facts.COLOURS
    ]
    pairs = [(a, b) for a in range(21) for b in range(21)]
    unseen = [(a, b) for a, b in pairs if is_held_out(f"arithmetic/+/{a}/{b}")]
    seen = [pair for pair in pairs if pair not in unseen][::5]
    sums = [right(f"What is {a} + {b}?\n", f"{a + b}.") for a, b in unseen]
    known = [right(f"What is {a} + {b}?\n", f"{a + b}.") for a, b in seen]
    iso = [
        right(
            f"Write {day} {facts.MONTHS[month]} {year} as an ISO date.\n",
            f"{year}-{month + 1:02d}-{day:02d}",
        )
        for day, month, year in ((3 + 2 * i % 26, 5 * i % 12, 1991 + i) for i in range(39))
    ]
    return [
        ("question, answered greedily", "right"),
        ("capital of a country", _share(capitals)),
        ("country of a capital", _share(countries)),
        ("colour of a thing", _share(colours)),
        ("sum that is in training", _share(known)),
        ("sum that was held out of training", _share(sums)),
        ("date in ISO form", _share(iso)),
    ]


def json_shares(probe: Probe, samples: int = JSON_SAMPLES) -> list[tuple[str, int, int]]:
    """Unconstrained answers at temperature 1: prompt, how many are JSON, how many were drawn."""
    torch.manual_seed(0)
    rows: list[tuple[str, int, int]] = []
    for prompt in JSON_PROMPTS:
        answers = probe.answers(prompt, count=samples, temperature=1.0, limit=160)
        rows.append((prompt, sum(map(is_json, answers)), samples))
    return rows


def json_table(probe: Probe) -> Table:
    """Phenomenon: an unconstrained JSON answer is often valid, not always."""
    rows: Table = [("prompt, sampled at T = 1", "valid JSON", "95% interval")]
    shares = json_shares(probe)
    total = ("all", sum(valid for _, valid, _ in shares), sum(drawn for _, _, drawn in shares))
    for prompt, valid, drawn in [*shares, total]:
        low, high = wilson(valid, drawn)
        name = prompt if prompt == "all" else _shown(prompt)
        rows.append((name, _percent(valid / drawn), f"{_percent(low)}–{_percent(high)}"))
    return rows


def trap_table(probe: Probe) -> Table:
    """Phenomenon: greedy decoding inside a choice takes the less likely whole option."""
    rows: Table = [("prompt", "option", "its first token", "the whole option", "greedy takes it")]
    for prompt, options in TRAPS:
        taken = probe.greedy_choice(prompt, options)
        probabilities = probe.next(probe.encode(prompt))
        for option in options:
            first = probe.encode(option)[1]
            rows.append(
                (
                    _shown(prompt),
                    _shown(option),
                    f"{_shown(probe.texts[first])} {_percent(float(probabilities[first]))}",
                    _percent(probe.whole(prompt, option)),
                    "yes" if option == taken else "no",
                )
            )
    return rows


def disliked_table(probe: Probe) -> Table:
    """Phenomenon: a constraint the model dislikes leaves almost no feasible mass."""
    return [
        (f"constraint after {_shown(COUNTRY_PROMPT)}", "feasible mass Z", "greedy takes"),
        *(
            (
                name,
                _percent(probe.feasible_mass(COUNTRY_PROMPT, options)),
                _shown(probe.greedy_choice(COUNTRY_PROMPT, options)),
            )
            for name, options in (
                ("country names", CAPITALISED),
                ("country names in lower case", LOWER_CASE),
            )
        ),
    ]


def chatter_share(probe: Probe, samples: int = 200) -> float:
    """How many sampled answers go on after ``Paris.``, among those that begin with it."""
    torch.manual_seed(1)
    answers = probe.answers(CHATTER_PROMPT, count=samples, temperature=1.0, limit=30)
    begun = [answer for answer in answers if answer.startswith(" Paris.")]
    return sum(len(answer) > len(" Paris.") for answer in begun) / max(1, len(begun))


def chatter_table(probe: Probe) -> Table:
    """Phenomenon: the model goes on after the answer; and the prompts that lessons begin with."""
    end = probe.next(probe.encode(CHATTER_PROMPT + " Paris."))
    boundary = PARIS_PROMPT + " "
    paris = probe.encode("Paris")[1]
    braces = [i for i, text in enumerate(probe.texts) if text.lstrip().startswith("{")]
    return [
        ("what", "value"),
        (f"greedy after {_shown(CHATTER_PROMPT)}", _shown(probe.answers(CHATTER_PROMPT)[0])),
        ("sampled answers that go on after ` Paris.`", _percent(chatter_share(probe))),
        ("probability of the end after ` Paris.`", _percent(float(end[1]))),
        (f"greedy after {_shown(PARIS_PROMPT)}", _shown(probe.answers(PARIS_PROMPT, limit=1)[0])),
        ("probability of ` Paris` there", _percent(probe.top(PARIS_PROMPT)[0][1])),
        (
            f"probability of `Paris` after {_shown(boundary)} (a space too many)",
            _percent(float(probe.next(probe.encode(boundary))[paris])),
        ),
        (
            f"probability of a brace after {_shown(JSON_PROMPTS[0])}",
            _percent(float(probe.next(probe.encode(JSON_PROMPTS[0]))[braces].sum())),
        ),
        (
            f"probability of a brace after {_shown(BOUNDARY_PROMPT)} (ends inside a token)",
            _percent(float(probe.next(probe.encode(BOUNDARY_PROMPT))[braces].sum())),
        ),
    ]


def _milliseconds(action: Callable[[], object], repeats: int) -> float:
    times: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return 1000 * statistics.median(times)


def speed_table(probe: Probe) -> Table:
    """Loading and stepping, in milliseconds; depends on the machine."""
    model = probe.model

    def load_model() -> None:
        AutoModelForCausalLM.from_pretrained(probe.kind.folder, local_files_only=True)

    def load_tokenizer() -> None:
        AutoTokenizer.from_pretrained(probe.kind.folder, local_files_only=True)

    with torch.inference_mode():
        cache = model(
            input_ids=torch.tensor([probe.encode(JSON_PROMPTS[0])]), use_cache=True
        ).past_key_values
        one = torch.tensor([[5]])

        def one_step() -> None:
            model(input_ids=one, past_key_values=cache, use_cache=True)

        step = _milliseconds(one_step, 100)
    return [
        ("what", "median"),
        (
            "load the weights",
            f"{_milliseconds(load_model, 5):.0f} ms",
        ),
        (
            "load the tokenizer",
            f"{_milliseconds(load_tokenizer, 5):.0f} ms",
        ),
        ("one step with the key–value cache, 10 to 110 tokens", f"{step:.1f} ms"),
    ]


SPACES_PROMPT: Final = "In Roman numerals XVII means"
WORD: Final = "seventeen"


def spaces_table(probe: Probe) -> Table:
    """Phenomenon: a lone space, which a number in digits begins with, spoils the word after it."""
    before = probe.encode(SPACES_PROMPT)

    def spelled(*pieces: str) -> tuple[str, ...]:
        # The last of each text: the first ones are the bytes, which stand in for other characters.
        last = {text: token for token, text in enumerate(probe.texts)}
        tokens = [last[piece] for piece in pieces]
        logs: list[float] = []
        for k, token in enumerate(tokens):
            logs.append(math.log(float(probe.next([*before, *tokens[:k]])[token])))
        cells = " + ".join(
            f"`{piece}` {value:.2f}" for piece, value in zip(pieces, logs, strict=True)
        )
        return cells, f"{sum(logs):.2f}"

    return [
        ("tokens with their log-probabilities", "total"),
        spelled(f" {WORD}"),
        spelled(" ", WORD),
        spelled(" ", "seven", "teen"),
        spelled(" ", "1", "7"),
    ]


SECTIONS: Final[dict[str, Callable[[Probe], Table]]] = {
    "corpus": corpus_table,
    "loss": loss_table,
    "perplexity": perplexity_table,
    "knowledge": knowledge_table,
    "json": json_table,
    "trap": trap_table,
    "disliked": disliked_table,
    "chatter": chatter_table,
    "speed": speed_table,
}
"""The marked sections of the card and what fills them."""

SP_SECTIONS: Final = {
    name: SECTIONS[name] for name in ("corpus", "loss", "perplexity", "knowledge", "json", "speed")
} | {"spaces": spaces_table}
"""Those of the second model's card."""


def main(arguments: list[str] | None = None) -> int:
    """The command line; see the module docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m models.evaluate",
        description=(__doc__ or "").split("\n")[0],
    )
    parser.add_argument("--model", choices=tuple(KINDS), default="tiny")
    parser.add_argument("--card", type=Path, help="default: the shipped one")
    parser.add_argument(
        "--only",
        choices=SECTIONS | SP_SECTIONS,
        nargs="*",
        help="sections to measure; the others are kept",
    )
    options = parser.parse_args(arguments)
    torch.set_num_threads(Recipe().threads)
    kind = KINDS[options.model]
    path: Path = options.card or kind.folder / "MODEL_CARD.md"
    card = path.read_text(encoding="utf-8")
    probe = Probe(kind)
    tables: dict[str, Table] = {}
    for name, measure in (SECTIONS if kind is BYTE_LEVEL else SP_SECTIONS).items():
        if options.only is not None and name not in options.only:
            continue
        tables[name] = measure(probe)
        print(name, *tables[name], sep="\n  ", flush=True)
    path.write_text(filled(card, tables), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
