"""The JSON Schema test suite and the real schemas, from the folder beside the tokenizers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


def data_folder() -> Path | None:
    """The folder of the corpora, if this machine has them."""
    given = os.environ.get("EXPLORER_TOKENIZERS")
    folder = Path(given).parent if given else None
    return folder if folder is not None and (folder / "json-schema-test-suite").is_dir() else None


needs_data = pytest.mark.skipif(
    data_folder() is None,
    reason="EXPLORER_TOKENIZERS names no folder with schema corpora beside it",
)


@dataclass(frozen=True)
class Group:
    """A schema with instances.

    Args:
        name: The file and the description.
        schema: The schema.
        tests: Pairs of an instance and whether it is valid.
    """

    name: str
    schema: Any
    tests: tuple[tuple[Any, bool], ...]


def suite(under: str = "draft2020-12") -> Iterator[Group]:
    """The groups of the test suite in a folder, files in order."""
    folder = data_folder()
    for path in (
        sorted((folder / "json-schema-test-suite" / under).glob("*.json")) if folder else ()
    ):
        for group in json.loads(path.read_bytes()):
            tests = tuple((test["data"], test["valid"]) for test in group["tests"])
            yield Group(f"{path.stem}: {group['description']}", group["schema"], tests)


def remotes() -> dict[str, Any]:
    """The schemas that the suite serves at an address of its own."""
    folder = data_folder()
    if folder is None:
        return {}
    root = folder / "json-schema-test-suite" / "remotes"
    return {
        f"http://localhost:1234/{path.relative_to(root).as_posix()}": json.loads(path.read_bytes())
        for path in root.rglob("*.json")
    }


def real() -> Iterator[Group]:
    """Real and hand-written schemas with instances."""
    folder = data_folder()
    for path in sorted((folder / "json-schemas").glob("*.json")) if folder else ():
        case = json.loads(path.read_bytes())
        tests = tuple((test["data"], test["valid"]) for test in case["tests"])
        yield Group(path.stem, case["schema"], tests)


def depth(value: Any) -> int:
    """The depth to which arrays and objects nest in a value."""
    below: list[Any] | None = None
    if isinstance(value, dict):
        below = list(value.values())
    elif isinstance(value, list):
        below = value
    return 0 if below is None else 1 + max(map(depth, below), default=0)
