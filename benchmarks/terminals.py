"""Compiling a summary of paragraphs over tokens, beside the same text as an ordinary pattern.

``python -m benchmarks.terminals`` prints the table that the decisions quote and writes
``docs/benchmarks/terminals.json``. The vocabulary is Mistral's Tekken, 131,072 tokens; each time is
from the pattern's text to the finished table, or to the first mask of a lazy machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import explorer
from benchmarks.measure import interleaved
from benchmarks.vocabularies import tekken_131k
from explorer.budget import Meter

OUT = Path(__file__).parents[1] / "docs" / "benchmarks" / "terminals.json"

ROWS = {
    "paragraph tokens": r"Summary:(\n\* (?P<PARAGRAPH_TOKEN>)+){3,5}",
    "the same as text": r"Summary:(\n\* [^\n]+){3,5}",
    "text tokens": "(?P<TEXT_TOKEN>)+",
    "until a phrase": '"(?P<TEXT_UNTIL>")',
    "an image and text": "(?P<IMAGE>)(?P<TEXT_TOKEN>)*",
    "quoted text": "(?P<QUOTED_TEXT>)",
    "plain scalar": "(?P<UNQUOTED_TEXT>)",
}


def main() -> None:
    """Measure, print and write."""
    vocabulary = tekken_131k()
    rows: dict[str, dict[str, float]] = {}
    print("| pattern | byte states | token states | table, ms | first mask, lazily, ms |")
    print("|---|---:|---:|---:|---:|")
    for name, pattern in ROWS.items():

        def table(pattern: str = pattern) -> object:
            return explorer.compile(explorer.regex(pattern), vocabulary, lazy=False)

        def first_mask(pattern: str = pattern) -> object:
            machine = explorer.compile(explorer.regex(pattern), vocabulary, lazy=True)
            return machine.mask(machine.start)

        tasks: dict[str, Callable[[], object]] = {"table": table, "first mask": first_mask}
        timed = interleaved(tasks, repeats=31)
        made = explorer.compile(explorer.regex(pattern), vocabulary, lazy=False)
        states = made.constraint.for_tokens(Meter()).num_states
        rows[name] = {
            "byte_states": states,
            "token_states": made.num_states,
            "token_classes": made.num_classes,
            "table_ms": timed["table"]["median"],
            "table_fastest_ms": timed["table"]["fastest"],
            "first_mask_ms": timed["first mask"]["median"],
        }
        figures = f"{timed['table']['median']:.2f} | {timed['first mask']['median']:.2f}"
        print(f"| {name} | {states} | {made.num_states} | {figures} |", flush=True)
    OUT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
