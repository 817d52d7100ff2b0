"""Two small traces, a run and a run from elsewhere that was rejected, and places in their files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import explorer
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.trace import Trace, from_json
from explorer.decoding.trace.writing import checksum
from tests.decoding.models import hash_model

PATTERNS = ["((foo)+d|yes|no|é)(, ((foo)+d|yes|no|é|[12]{1,9}))*", "é{1,3}", "[a-z]{2,9}", "no"]


def example() -> Trace:
    made = Session(
        hash_model(), explorer.regex(PATTERNS[0]), "hi", sampler=Sampler(1.0, top_k=4), seed=5,
        max_tokens=9,
    )  # fmt: skip
    made.step()
    made.step(token=int(made.allowed().nonzero()[0][-1]))
    return made.run()


def finding() -> Trace:
    constraint = explorer.regex(PATTERNS[0])
    return Session.from_ids(
        hash_model().vocabulary, constraint, [2, 0, 7, 1], [-1, -2, -3, -4]
    ).trace


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every value in a document."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from places(entry, (*path, key))
    elif isinstance(value, list):
        for k, entry in enumerate(value):
            yield from places(entry, (*path, k))


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def shown(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def load(document: Any) -> Trace:
    """Read a document whose checksum was made anew, so that only its values are in question."""
    return from_json(json.dumps({**document, "sha256": checksum(document)}).encode(), "run.json")
