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

from explorer.arguments import file_path, shown, whole_text, wrong
from explorer.errors import DamagedFile, ExplorerError
from explorer.files import file_errors, parse_json
from explorer.servers.formats import (
    failed_answer,
    format_of,
    runs_in,
    server_error,
    unread_run,
)
from explorer.servers.log import LogPlace, ServerLog
from explorer.servers.run import ServerRun
from explorer.servers.streams import documents_of_events, documents_of_log, joined

MOST_BYTES: Final = 2**28
"""The most bytes of a log."""

MOST_RUNS: Final = 100_000
"""The most runs that one file may have."""

MOST_TOKENS: Final = 2**20
"""The most tokens of a run."""


MOST_CHARACTERS: Final = 2**22
"""The most characters of the text of a run."""


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
    if len(data) > MOST_BYTES:
        remedy = "Split it: a file of JSON Lines can be cut between any two lines."
        message = f"{file} has more than {MOST_BYTES:,} bytes."
        raise _too_much(message, MOST_BYTES, remedy, LogPlace(file, "", None))
    runs: list[ServerRun] = []
    failed: list[DamagedFile] = []  # Errors of servers, and unreadable documents.
    unread = 0
    odd = b"NaN" in data or b"Infinity" in data
    for document, fault in _documents(data, file):
        try:
            if fault is not None:
                raise fault
            if odd:
                document.check_numbers()
            log = joined(ServerLog.of(document))
            if (error := server_error(log)) is not None:
                failed.append(error)
                runs.append(failed_answer(log, error))
            else:
                runs += _bounded(runs_in(format_of(log), log), document)
        except DamagedFile as error:
            failed.append(error)
            unread += 1
            runs.append(unread_run(document.file, error))
        if len(runs) > MOST_RUNS:
            at = LogPlace(file, document.path, None)
            message = f"{file} holds more than {MOST_RUNS:,} runs."
            raise _too_much(message, MOST_RUNS, "Split it.", at)
    if not runs:
        raise DamagedFile(
            f"{file} holds no run.",
            remedy="Give a log with at least one response.",
            evidence={"file": file, "place": ""},
        )
    if unread == len(runs) or (failed and len(runs) == 1):
        raise failed[0]
    if len(runs) == 1:
        return tuple(runs)
    return tuple(replace(run, place=f"{run.place}, run {k}") for k, run in enumerate(runs))


def _bounded(runs: tuple[ServerRun, ...], document: LogPlace) -> tuple[ServerRun, ...]:
    """The runs of a document, checked not to be too long."""
    for run in runs:
        if len(run.tokens) > MOST_TOKENS:
            message = f"{run.place} has {len(run.tokens):,} tokens; {MOST_TOKENS:,} are read."
            raise _too_much(message, MOST_TOKENS, "Cut the run.", document)
        if len(run.text or "") > MOST_CHARACTERS:
            has = f"{run.place} has a text of {len(run.text or ''):,} characters;"
            message = f"{has} {MOST_CHARACTERS:,} are read."
            raise _too_much(message, MOST_CHARACTERS, "Cut the run.", document)
    return runs


def _too_much(message: str, limit: int, remedy: str, place: LogPlace) -> DamagedFile:
    """The error for a log over a limit."""
    evidence = {"file": place.file, "place": place.path, "limit": limit}
    return DamagedFile(message, remedy=remedy, evidence=evidence)


Document = Mapping[str, object] | Sequence[object]
"""A log in the form of `json.loads`, or a list of logs."""


def _content(given: object) -> bytes:
    """The content of a file; for a parsed log its JSON."""
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(cast("bytes", given))
    if isinstance(given, str):
        return whole_text("data", given).encode()
    if not isinstance(given, Mapping | list | tuple):
        raise wrong("data", given, "the content of a log", remedy=_CONTENT)
    try:
        return json.dumps(given).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ExplorerError(
            f"data holds what JSON cannot: {str(error)[:200]}.",
            remedy=_CONTENT,
            evidence={"reason": str(error)[:200]},
        ) from error


_CONTENT: Final = (
    "Give the bytes of a file of logs, or a log as json.loads gives it; read_runs(path) reads a "
    "file."
)


def _documents(data: bytes, file: str) -> Iterator[tuple[LogPlace, DamagedFile | None]]:
    """The documents of a file, entries of lists one by one; or the error of an unreadable line."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    for documents in (documents_of_events(data), documents_of_log(data)):
        if documents:
            names = [file if len(documents) == 1 else f"{file}, {k}" for k in range(len(documents))]
            yield from (
                (LogPlace(name, "", each), None)
                for name, each in zip(names, documents, strict=True)
            )
            return
    try:
        whole = parse_json(data, constant=float)
    except ValueError as error:
        # A single document over several lines has no line that is a document by itself.
        if b"\n" not in data.strip() or not any(map(_is_document, data.split(b"\n"))):
            raise _not_json(error, file) from error
    else:
        yield from _entries(LogPlace(file, "", whole))
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            name = f"{file}, line {number}"
            try:
                value = parse_json(line, constant=float)
            except ValueError as error:
                yield LogPlace(name, "", None), _not_json(error, name, number)
            else:
                yield from _entries(LogPlace(name, "", value))


def _is_document(line: bytes) -> bool:
    """Whether a line is a JSON object or list."""
    if not line.lstrip().startswith((b"{", b"[")):
        return False
    try:
        parse_json(line, constant=float)
    except ValueError:
        return False
    return True


def _entries(document: LogPlace) -> Iterator[tuple[LogPlace, None]]:
    value = document.value
    if isinstance(value, list) and not _is_response(cast("list[object]", value)):
        yield from ((entry, None) for entry in document.entries())
    else:
        yield document, None


def _is_response(entries: list[object]) -> bool:
    """Whether a list is one response, as TGI's are."""
    return len(entries) == 1 and isinstance(entries[0], dict) and "generated_text" in entries[0]


def _not_json(error: ValueError, file: str, line: int | None = None) -> DamagedFile:
    """The error for a file that is not JSON, or for one line of it."""
    place, reason, what = "", str(error), "JSON that can be read"
    if isinstance(error, json.JSONDecodeError):
        place = f"column {error.colno}"
        place = f"line {error.lineno}, {place}" if line is None else place
        reason, what = error.msg, "JSON"
    elif isinstance(error, UnicodeDecodeError):
        place, reason, what = f"byte {error.start}", "it is not UTF-8", "JSON"
    where = f" at {place}" if place else ""
    subject = file if line is None else f"{file}: it"
    return DamagedFile(
        f"{subject} is not {what}{where}: {reason[:200]}.",
        remedy="Write one JSON document, or one on each line.",
        evidence={"file": file, "place": place, "reason": shown(reason)},
    )
