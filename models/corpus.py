"""The corpus of the tiny model: a seeded stream of short documents, split by held-out keys.

Document *i* depends on the seed and on *i* alone, so any part of the stream can be made again
without the rest. Nothing is read from anywhere: the templates are in `exchanges` and `records`,
the facts in `facts`. The 180,000 documents of the
shipped model take about five seconds and are 14 MB.

The split holds out whole *keys* (a wording together with the facts in it), 4% of them, so the
held-out perplexity measures combinations that the model has not seen, while each fact is in
training in other wordings. `LESSON_KEYS` are never held out.

Run it to look at the text::

    python -m models.corpus --seed 0 --documents 20 --out -
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from models import exchanges, records
from models.documents import END_OF_TEXT, START, Document, Exchange, chat, written

Template = Callable[[random.Random], Exchange | Document]

MIX: Final[tuple[tuple[Template, int], ...]] = (
    (exchanges.capital, 16),
    (exchanges.capital_statement, 6),
    (exchanges.colour, 5),
    (exchanges.colour_statement, 2),
    (exchanges.arithmetic, 12),
    (exchanges.calendar, 8),
    (exchanges.night_train, 3),
    (exchanges.opening_hours, 3),
    (exchanges.sentiment, 3),
    (exchanges.listing, 5),
    (exchanges.translation, 3),
    (exchanges.sentence, 7),
    (records.json_request, 16),
    (records.call, 6),
    (records.address, 4),
    (records.timestamp, 3),
    (records.link, 1),
)
"""The templates and their shares, in parts of the sum."""

DOCUMENTS: Final = 180_000
"""The number of documents in the stream of the shipped model."""

HELD_OUT_SHARE: Final = 25
"""One key of this many is held out."""

LESSON_KEYS: Final = frozenset(
    (*(f"capital/{template}/France" for template in (0, 3, "s0")), "roman/s0/17")
)
"""Combinations that lessons rely on; they are always in training."""


def document(seed: int, index: int, mix: tuple[tuple[Template, int], ...] = MIX) -> Document:
    """Document ``index`` of the stream of ``seed``.

    Args:
        seed: Any integer; the shipped model uses 0.
        index: From 0.
        mix: The templates and their shares.

    Returns:
        The document; the same on every machine and in every run.

    Example:
        >>> document(0, 5) == document(0, 5), document(0, 5) == document(0, 6)
        (True, False)
    """
    # A string seed goes through SHA-512, so neighbouring indices are unrelated.
    rng = random.Random(f"{seed}/{index}")
    templates, weights = zip(*mix, strict=True)
    made = rng.choices(templates, weights)[0](rng)
    if isinstance(made, Document):
        return made
    if rng.random() < 0.06:
        # A conversation of two turns; held out if its first turn is.
        second = rng.choice((exchanges.capital, exchanges.colour, exchanges.arithmetic))(rng)
        if not is_held_out(second.key):
            return Document(made.kind, made.key, chat(made, second))
    return written(rng, made)


def is_held_out(key: str) -> bool:
    """Whether documents with this key are kept for measuring.

    Example:
        >>> is_held_out("capital/0/France")
        False
    """
    if key in LESSON_KEYS:
        return False
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % HELD_OUT_SHARE == 0


def stream(
    seed: int, count: int, mix: tuple[tuple[Template, int], ...] = MIX
) -> Iterator[Document]:
    """The first ``count`` documents of the stream, both parts of the split."""
    return (document(seed, index, mix) for index in range(count))


def split(documents: Iterable[Document]) -> tuple[list[Document], list[Document]]:
    """The documents for training and those held out, each in the order of the stream."""
    kept: list[Document] = []
    held_out: list[Document] = []
    for made in documents:
        (held_out if is_held_out(made.key) else kept).append(made)
    return kept, held_out


def fingerprint(documents: Iterable[Document]) -> str:
    """SHA-256 over the texts, in hexadecimal: the same corpus has the same fingerprint."""
    digest = hashlib.sha256()
    for made in documents:
        digest.update(made.text.encode() + b"\0")
    return digest.hexdigest()


def main(arguments: list[str] | None = None) -> int:
    """The command line; see the module docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m models.corpus", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--out", default="-", help="a file, or - for standard output")
    options = parser.parse_args(arguments)
    lines = (
        f"{START}{made.text}{END_OF_TEXT}\n" for made in stream(options.seed, options.documents)
    )
    if options.out == "-":
        sys.stdout.writelines(lines)
    else:
        with Path(options.out).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
