"""The logs of tests/data/servers, made by `tools/served_logs.py`, and what they ask."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from explorer.decoding.models.embedded import EMBEDDED
from explorer.servers import ServerRun, runs_of
from explorer.vocabulary import Vocabulary

FOLDER: Final = Path(__file__).resolve().parents[1] / "data" / "servers"
PATTERN: Final = "[A-Z][a-z]{2,8} [A-Z][a-z]{2,8}"
PERSON: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
NAMES: Final = tuple(path.name for path in sorted(FOLDER.glob("*.json*")))


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary.from_file(EMBEDDED["tiny"])


@cache
def _loaded(name: str) -> Any:
    return json.loads((FOLDER / name).read_text("utf-8"))


def log(name: str) -> Any:
    """A copy of a log, to change."""
    return copy.deepcopy(_loaded(name))


def runs(document: object, file: str = "log.json") -> tuple[ServerRun, ...]:
    return runs_of(json.dumps(document).encode(), file)


def chat(text: str, request: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    """A chat log with a text alone."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"request": request, "response": {"model": "tiny", "choices": [choice]}}
