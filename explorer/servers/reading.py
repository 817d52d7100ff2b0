"""From a file to runs: JSON or one JSON document per line, within limits on its size.

A document is one log or a list of logs. A file with several documents, one per line, is read line
by line, and an error names the line. Among several logs, one that cannot be read, or that the
server answered with an error, becomes a run without an answer (`ServerRun.failed`), and the others
are read all the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from explorer.arguments import file_path, whole_text, wrong
from explorer.errors import DamagedFile, ExplorerError
from explorer.files import file_errors, parse_json
from explorer.servers.formats import runs_in
from explorer.servers.log import LogPlace, ServerLog
from explorer.servers.run import ServerRun
from explorer.servers.streams import documents_of_events, documents_of_log, joined

MOST_BYTES: Final = 2**28
"""The most bytes of a log."""

MOST_TOKENS: Final = 2**20
"""The most tokens of a run."""

MOST_CHARACTERS: Final = 2**22
"""The most characters of the text of a run."""

Document = Mapping[str, object] | Sequence[object]
"""A log in the form of `json.loads`, or a list of logs."""


def read_runs(path: str | os.PathLike[str]) -> tuple[ServerRun, ...]:
    """The runs in a file.

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


def runs_of(data: bytes | str | Document, file: str = "the log") -> tuple[ServerRun, ...]:
    """The runs in a log, or in the content of a file of logs.

    Args:
        data: The content of a file; or one log or several in the form of `json.loads`, such as
            ``{"request": ..., "response": ...}``.
        file: Its name, for messages.

    Raises:
        DamagedFile: As in `read_runs`.
        ExplorerError: The argument has another type, or holds values that JSON cannot.

    Example:
        >>> answer = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
        >>> request = {"structured_outputs": {"choice": ["yes", "no"]}}
        >>> runs_of({"request": request, "response": answer})
        (ServerRun('the log', OpenAI chat completions, a text, finish='stop'),)
    """
    file = whole_text("file", file)
    data = _content(data)
    _bound(len(data), MOST_BYTES, "bytes", LogPlace(file, "", None))
    runs, failed = list[ServerRun](), list[DamagedFile]()
    for document in _documents(data, file):
        try:
            if isinstance(document.value, DamagedFile):
                raise document.value
            for run in runs_in(joined(ServerLog.of(document))):
                _bound(len(run.tokens), MOST_TOKENS, "tokens", document)
                _bound(len(run.text or ""), MOST_CHARACTERS, "characters", document)
                runs.append(run)
        except DamagedFile as error:
            failed.append(error)
            said = error.message.removeprefix(f"{document.file}: ")
            failure = f"It cannot be read: {said}"
            runs.append(ServerRun(document.file, "an error", failed=failure))
    if not runs:
        raise LogPlace(file, "", None).error("holds no run.", "Give a log with a response.")
    if len(failed) == len(runs):
        raise failed[0]
    if len(runs) == 1:
        return tuple(runs)
    return tuple(replace(run, place=f"{run.place}, run {k}") for k, run in enumerate(runs))


def _bound(size: int, most: int, what: str, place: LogPlace) -> None:
    """Refuse a log over a limit."""
    if size > most:
        remedy = "Split it: a file of JSON Lines can be cut between any two lines."
        raise place.error(f"has more {what} than are read: {most:,} are read.", remedy)


def _content(given: object) -> bytes:
    """The content of a file; for a parsed log its JSON."""
    if isinstance(given, str):
        return whole_text("data", given).encode()
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(cast("bytes", given))
    if not isinstance(given, Mapping | list | tuple):
        raise wrong("data", given, "the content of a log", remedy=_CONTENT)
    try:
        return json.dumps(given).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ExplorerError(f"data is not JSON: {str(error)[:200]}.", remedy=_CONTENT) from error


_CONTENT: Final = (
    "Give the bytes of a file of logs, or a log as json.loads gives it; read_runs(path) reads a "
    "file."
)


def _documents(data: bytes, file: str) -> Iterator[LogPlace]:
    """The documents of a file, entries of lists one by one; for an unreadable line its error."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if pieces := documents_of_events(data) or documents_of_log(data):
        names = [file] if len(pieces) == 1 else [f"{file}, {k}" for k in range(len(pieces))]
        yield from (LogPlace(name, "", each) for name, each in zip(names, pieces, strict=True))
        return
    documents = [_document(data, file)]
    if isinstance(error := documents[0].value, DamagedFile):
        # A single document over several lines has no line that is a document by itself.
        lines = [(k, line) for k, line in enumerate(data.split(b"\n"), 1) if line.strip()]
        documents = [_document(line, f"{file}, line {k}") for k, line in lines]
        if len(lines) < 2 or not any(isinstance(each.value, dict | list) for each in documents):
            raise error
    for document in documents:
        value = document.value
        yield from document.entries() if isinstance(value, list) else [document]


def _document(data: bytes, file: str) -> LogPlace:
    """A document; for one that cannot be read, the value is the error."""
    place, remedy = LogPlace(file, "", None), "Write one JSON document, or one on each line."
    try:
        return replace(place, value=parse_json(data, constant=float))
    except json.JSONDecodeError as error:
        said = f"at line {error.lineno}, column {error.colno}: {error.msg}"
    except UnicodeDecodeError as error:
        said = f"at byte {error.start}: it is not UTF-8"
    except ValueError as error:
        said = f"that can be read: {str(error)[:200]}"
    return replace(place, value=place.error(f"is not JSON {said}.", remedy))
