"""A witness as text: a row for each engine, and a line for each group of differences."""

from __future__ import annotations

import textwrap

import numpy as np

from explorer.analysis.characters.display import show_text
from explorer.errors import display_width
from explorer.vocabulary import Vocabulary
from explorer.witnesses.answers import OURS, Disagreement, Testimony, Witness

WIDTH = 100
"""Columns of a terminal."""

EXAMPLES = 4
"""Tokens that a group names."""

_UNANSWERED = {
    "time": "did not answer in time", "process": "its process ended", "import": "not at hand",
}  # fmt: skip
"""By the stage at which an engine did not answer: what a table says, if it did not refuse."""


def table_of_witness(witness: Witness) -> str:
    """A witness as text.

    Args:
        witness: The value.
    """
    prefix = show_text(witness.text) if witness.prefix else "nothing"
    count = f"{len(witness.prefix)} token{'s' if len(witness.prefix) != 1 else ''}"
    text = " ".join(witness.statement.text.split())
    text = text if len(text) <= 70 else f"{text[:69]}…"
    lines = [f"{witness.statement.kind} {text}", f"after {prefix} ({count})", ""]
    lines += aligned([("engine", "version", "allows", "differs", "")] + [
        _row(witness, each) for each in witness.testimonies
    ])  # fmt: skip
    for each in witness.testimonies:
        if each.refused:
            lines += textwrap.wrap(
                f"{each.engine}: {' '.join(each.refused.split())}", WIDTH,
                initial_indent="  ", subsequent_indent="    ",
            )  # fmt: skip
    for each in witness.disagreements:
        lines += ["", *lines_of_group(each, witness.vocabulary)]
    return "\n".join(lines)


def _row(witness: Witness, said: Testimony) -> tuple[str, ...]:
    mine = [each for each in witness.disagreements if each.engine == said.engine]
    if said.mask is None:
        why = _UNANSWERED.get(said.stage, "refuses")
        if not said.refused:
            many = "token" if said.followed == 1 else "tokens"
            why = f"leaves the prefix after {said.followed} {many}"
        return said.engine, said.version, "–", "–", why
    allowed = f"{int(np.count_nonzero(said.mask)):,}"
    if said.engine == OURS:
        return said.engine, said.version, allowed, "", ""
    counts: dict[str, int] = {}
    for each in mine:
        counts[each.kind] = counts.get(each.kind, 0) + len(each.tokens)
    classes = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
    return said.engine, said.version, allowed, f"{sum(counts.values()):,}", classes


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows as lines whose columns stand below each other.

    Args:
        rows: The cells.
    """
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - display_width(cell))
            for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def lines_of_group(each: Disagreement, vocabulary: Vocabulary) -> list[str]:
    """A group of differences as lines.

    Args:
        each: The group.
        vocabulary: The tokens.
    """
    verb = "allows" if each.allows else "masks"
    named = ", ".join(name_of_token(vocabulary, int(token)) for token in each.tokens[:EXAMPLES])
    more = len(each.tokens) - EXAMPLES
    if more > 0:
        named += f" and {more:,} more"
    head = f"[{each.kind}] {each.engine} {verb} {named}: {each.sentence}"
    lines = textwrap.wrap(head, WIDTH, subsequent_indent="  ")
    for name, value in each.evidence.items():
        lines += textwrap.wrap(
            f"{name}: {value}", WIDTH, initial_indent="  - ", subsequent_indent="    "
        )
    return lines


def name_of_token(vocabulary: Vocabulary, token: int) -> str:
    """A token in a sentence.

    Args:
        vocabulary: The tokens.
        token: The id.
    """
    data = vocabulary.tokens[token]
    if data is None:
        return vocabulary.special.get(token, f"id {token}")
    return show_text(data)
