"""From a file to runs: JSON or one JSON document per line, sizes bounded before they are read.

A document is one log or a list of logs. A file that holds several documents, one per line, is read
line by line, and an error names the line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, cast

from explorer.arguments import file_path, shown
from explorer.errors import DamagedFile
from explorer.files import file_errors, parse_json
from explorer.servers.formats import LogFormat, format_of, stream_of_events
from explorer.servers.log import ServerLog
from explorer.servers.openai import CHAT, COMPLETIONS
from explorer.servers.place import LogPlace
from explorer.servers.recorded import RECORDED
from explorer.servers.run import ServerRun
from explorer.servers.sglang import SGLANG
from explorer.servers.tgi import TGI

SHIPPED_FORMATS: Final[tuple[LogFormat, ...]] = (RECORDED, CHAT, COMPLETIONS, SGLANG, TGI)
"""The formats that are known without anybody registering one."""

MOST_BYTES: Final = 2**28
"""How large a log may be."""

MOST_RUNS: Final = 100_000
"""How many runs are read of one file."""

MOST_TOKENS: Final = 2**20
"""How many tokens a run may have."""


MOST_CHARACTERS: Final = 2**22
"""How many characters the text of a run may have."""


def read_runs(path: str | os.PathLike[str]) -> tuple[ServerRun, ...]:
    """The runs that a file holds.

    Args:
        path: JSON, or JSON Lines: each document a log ``{"request": ..., "response": ...}``, a
            response alone, or a list of those. See ``docs/servers.md``.

    Raises:
        FileError: The file cannot be read.
        DamagedFile: It is too large, is not JSON, is of no known format, or holds a value that is
            not possible; the place is named.
    """
    where = file_path("path", path)
    with file_errors(where), open(where, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    return runs_of(data, where.name)


def runs_of(data: bytes, file: str = "the log") -> tuple[ServerRun, ...]:
    """The runs that the bytes of a file hold.

    Args:
        data: The content of the file.
        file: Its name, for messages.

    Raises:
        DamagedFile: As in `read_runs`.
    """
    if len(data) > MOST_BYTES:
        raise DamagedFile(
            f"{file} has more than {MOST_BYTES:,} bytes.",
            remedy="Split it: a file of JSON Lines can be cut between any two lines.",
            evidence={"file": file, "place": "", "limit": MOST_BYTES},
        )
    runs: list[ServerRun] = []
    for document in _documents(data, file):
        log = ServerLog.of(document)
        for run in format_of(log).runs(log):
            if len(run.tokens) > MOST_TOKENS:
                raise DamagedFile(
                    f"{run.place} has {len(run.tokens):,} tokens; {MOST_TOKENS:,} are read.",
                    remedy="Cut the run.",
                    evidence={"file": file, "place": document.path, "limit": MOST_TOKENS},
                )
            if len(run.text or "") > MOST_CHARACTERS:
                raise DamagedFile(
                    f"{run.place} has a text of {len(run.text or ''):,} characters; "
                    f"{MOST_CHARACTERS:,} are read.",
                    remedy="Cut the run.",
                    evidence={"file": file, "place": document.path, "limit": MOST_CHARACTERS},
                )
            runs.append(run)
        if len(runs) > MOST_RUNS:
            raise DamagedFile(
                f"{file} holds more than {MOST_RUNS:,} runs.",
                remedy="Split it.",
                evidence={"file": file, "place": document.path, "limit": MOST_RUNS},
            )
    if not runs:
        raise DamagedFile(
            f"{file} holds no run.",
            remedy="Give a log with at least one response.",
            evidence={"file": file, "place": ""},
        )
    if len(runs) == 1:
        return tuple(runs)
    return tuple(replace(run, place=f"{run.place}, run {k}") for k, run in enumerate(runs))


def _documents(data: bytes, file: str) -> Iterator[LogPlace]:
    """The documents of a file, entries of lists one by one."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    stream = stream_of_events(data, file)
    if stream is not None:
        raise stream
    try:
        whole = parse_json(data)
    except json.JSONDecodeError as error:
        # Only what follows a whole document can be the next of several.
        if error.msg != "Extra data" or b"\n" not in data.strip():
            raise _not_json(error, file) from error
    except ValueError as error:
        if b"\n" not in data.strip():
            raise _not_json(error, file) from error
    else:
        yield from _entries(LogPlace(file, "", whole))
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            name = f"{file}, line {number}"
            try:
                value = parse_json(line)
            except ValueError as error:
                raise _not_json(error, name) from error
            yield from _entries(LogPlace(name, "", value))


def _entries(document: LogPlace) -> Iterator[LogPlace]:
    value = document.value
    if isinstance(value, list) and not _is_response(cast("list[object]", value)):
        yield from document.entries()
    else:
        yield document


def _is_response(entries: list[object]) -> bool:
    """Whether a list is one response, as those of TGI are."""
    return len(entries) == 1 and isinstance(entries[0], dict) and "generated_text" in entries[0]


def _not_json(error: ValueError, file: str) -> DamagedFile:
    place, reason, what = "", str(error), "JSON that can be read"
    if isinstance(error, json.JSONDecodeError):
        place, reason = f"line {error.lineno}, column {error.colno}", error.msg
        what = "JSON"
    elif isinstance(error, UnicodeDecodeError):
        place, reason, what = f"byte {error.start}", "it is not UTF-8", "JSON"
    where = f" at {place}" if place else ""
    return DamagedFile(
        f"{file} is not {what}{where}: {reason[:200]}.",
        remedy="Write one JSON document, or one on each line.",
        evidence={"file": file, "place": place, "reason": shown(reason)},
    )
