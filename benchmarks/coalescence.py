"""Skipped tokens and time saved by coalescence, without and with filters of the spellings.

The Pokédex of Cognetta et al. (2025, appendix C) on both embedded models. A token that is
the only one allowed is not asked for; with `canonical` there is one spelling of each text, and so
there are many more such tokens; between the two stand all spellings but those by byte tokens where
another token says the same. Each entry is drawn twice with each machine, asking at every token and
skipping. Draws are those of the unconstrained model at temperature 1 under the mask; machines and
caches are warm. Times are those of the processor, on one thread.

``python -m benchmarks.coalescence`` writes ``docs/benchmarks/coalescence.json`` and ``.md``;
``--only bytes`` measures one row of each model and keeps the others; ``--entries`` and ``--quick``
are for trying out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch

import explorer
from explorer import Sampler, generate
from explorer.decoding.batches.generate import Generation

RESULTS: Final = Path(__file__).parents[1] / "docs" / "benchmarks" / "coalescence.json"
TABLE: Final = RESULTS.with_suffix(".md")

ABILITY: Final = '"(Overgrow|Blaze|Torrent|Shield Dust|Intimidate|Levitate|Pressure|Static)"'
TYPES: Final = (
    "Bug|Dark|Dragon|Electric|Fairy|Fighting|Fire|Flying|Ghost|Grass|Ground|Ice|Normal|Poison|"
    "Psychic|Rock|Steel|Stellar|Water"
)

POKEDEX: Final = (
    r'\{"alias":"[a-z]{1,5}",'
    r'"description":"[A-Z][a-z][0-9][\w\s,.!?]{1,3}",'
    rf'"type":"({TYPES})",'
    r'"height_m":[0-9]{1,2}\.[0-9]{1},'
    r'"weight_kg":[0-9]{1,3}\.[0-9]{1},'
    r'"evolution_stage":"(Basic|Stage 1|Stage 2)",'
    r'"legendary":"(true|false)",'
    rf'"abilities":\[{ABILITY}(,{ABILITY}){{0,6}}\]\}}'
)
"""The patterns of appendix C, member by member, as one line without white space between them.

`legendary` is a text and the two sizes are numbers, as they are printed there.
"""

PROMPT: Final = "Write a JSON record of a game character on one line.\n"
SPELLINGS: Final = {
    "plain": "all",
    "bytes": "without redundant bytes",
    "canonical": "canonical",
}
"""The rows of each model."""

THEIRS: Final = ("24.5 % → 77.9 %, 26.5 % → 78.9 %", "15.7 % to 21 % less")
"""Skipped tokens of their two models without and with the filter, and the time that it saved."""


def entry(lm: Any, machine: Any, seed: int, forced: Any) -> tuple[Generation, float]:
    """One entry of the Pokédex, and how long it took in seconds."""
    # What is left of the context after the prompt.
    room = lm.max_length - len(lm.encode_prompt(PROMPT)) - 1
    began = time.process_time()
    (text,) = generate(
        lm, [PROMPT], machine, Sampler(1.0), room,
        seed=seed, masking_budget=False, forced=forced, log_probs=False,
    )  # fmt: skip
    return text, time.process_time() - began


def measured(
    name: str, entries: int, rows: Sequence[str] = tuple(SPELLINGS)
) -> dict[str, dict[str, float]]:
    """The figures of one model: for the plain and the filtered machines, in turn.

    Args:
        name: Of an embedded model.
        entries: How many entries.
        rows: The machines, by their names in `SPELLINGS`.
    """
    lm = explorer.load_model(name)
    plain = explorer.regex(POKEDEX)
    constraints = {
        "plain": plain,
        "bytes": plain.without_redundant_bytes(lm.tokenizer),
        "canonical": plain.canonical(lm.tokenizer),
    }
    machines = {row: explorer.compile(constraints[row], lm.vocabulary) for row in rows}
    names = ("tokens", "skipped", "unfinished", "step", "run")
    sums: dict[str, dict[str, float]] = {}
    for which in machines:
        sums[which] = {name: 0.0 for name in names}
    for machine in machines.values():
        for forced in ("step", "run"):
            entry(lm, machine, entries, forced)
    for seed in range(entries):
        for which, machine in machines.items():
            (step, slow), (run, fast) = (
                entry(lm, machine, seed, forced) for forced in ("step", "run")
            )
            if step != run:
                raise AssertionError(f"{name}, {which}, seed {seed}: skipping changed the text")
            row = sums[which]
            row["tokens"] += len(run.tokens)
            row["skipped"] += run.forced
            row["unfinished"] += not run.finished
            row["step"] += slow
            row["run"] += fast
    return sums


def table(results: dict[str, Any]) -> str:
    """The page of the documentation."""
    lines = [
        "# Coalescence on the Pokédex schema",
        "",
        f"{results['entries']} entries of each embedded model, drawn one at a time "
        "(`python -m benchmarks.coalescence`). A token that is the only one allowed is *skipped*: "
        "it costs no pass of its own. Times are of all entries together, skipping or asking at "
        "every token, on one thread of the processor.",
        "",
        "| model | spellings | tokens | skipped | asking, s | skipping, s | saved |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rows in results["models"].items():
        for which, row in rows.items():
            share, saved = row["skipped"] / row["tokens"], 1 - row["run"] / row["step"]
            lines.append(
                f"| `{name}` | {SPELLINGS[which]} | "
                f"{row['tokens']:,.0f} | {share:.1%} | {row['step']:.1f} | {row['run']:.1f} | "
                f"{saved:.0%} |"
            )
    first = {
        name: 1 - rows["canonical"]["run"] / rows["plain"]["run"]
        for name, rows in results["models"].items()
    }
    shown = ", ".join(f"{share:.0%} with `{name}`" for name, share in first.items())
    lines += [
        "",
        f"The filter, while skipping, takes {shown} of the time away (a negative share is time "
        f"that it costs). Cognetta et al. (2025) report {THEIRS[0]} skipped without and with it on "
        f"their two models, and {THEIRS[1]} time; their models are larger, so that a pass costs "
        "more beside a mask.",
        "",
        "Without a filter, a vocabulary with a token for every byte beside its characters forces "
        "nothing: each character can be written in two ways. That is `tiny-sp`. Without its "
        "redundant bytes a character is written in one way, but a word still in many. `tiny` has "
        "no bytes that another token says.",
        "",
        "What is skipped is decided by the mask alone, so that the texts are those of asking, draw "
        "for draw; the script stops if one differs.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coalescence")
    parser.add_argument("--entries", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="print, do not write")
    parser.add_argument("--only", choices=[*SPELLINGS], help="this row; the others stay")
    options = parser.parse_args()
    torch.set_num_threads(1)
    chosen: list[str] = [options.only] if options.only else [*SPELLINGS]
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if options.only else {"models": {}}
    if options.only and known["entries"] != options.entries:
        parser.error(f"the other rows are of {known['entries']} entries; give --entries that")
    models: dict[str, dict[str, Any]] = {}
    for name in ("tiny", "tiny-sp"):
        rows = known["models"].get(name, {}) | measured(name, options.entries, chosen)
        models[name] = {row: rows[row] for row in SPELLINGS if row in rows}
    results = {"entries": options.entries, "models": models}
    page = table(results)
    print(page)
    if not options.quick:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        TABLE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
