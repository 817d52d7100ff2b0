"""From a file to runs: JSON, one JSON document per line, a stream or a text log, within limits on
its size.

A document is one log or a list of logs. A file with several documents, one per line, is read line
by line, and an error names the line. Among several logs, one that cannot be read, or that the
server answered with an error, becomes a run without an answer (`ServerRun.failed`), and the others
are read all the same.

A stream comes as server-sent events, as a line of JSON for each piece, or as a list of pieces. Each
piece is read as the part of a response that it adds, and the parts are merged. vLLM and SGLang also
print requests and responses as text, in the notation of Python; such text is parsed and never
evaluated.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any, Final, cast

from explorer.arguments import file_path, whole_text, wrong
from explorer.errors import DamagedFile, ExplorerError
from explorer.files import file_errors, parse_json
from explorer.servers.formats import runs_in
from explorer.servers.log import LogPlace, ServerLog, parsed
from explorer.servers.run import ServerRun
from explorer.servers.tables import table

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
            said = f"It cannot be read: {error.message.removeprefix(f'{document.file}: ')}"
            runs.append(ServerRun(document.file, "an error", failed=said))
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


# --- streams ----------------------------------------------------------------------------------

_Object = dict[str, Any]

# The keys whose texts come in pieces.
_TEXTS: Final = table("texts_in_pieces", frozenset[str])

# The pieces by type: the member that a piece adds, the list that it is added to (empty for the
# response itself), and the type of the entry whose text it continues (empty for an entry).
_PIECES: Final = table("pieces", dict[str, tuple[str, str, str]])

# The longest line of a text log that is read.
_LONGEST_LINE: Final = 2**20


def joined(log: ServerLog) -> ServerLog:
    """The same log with the pieces of a stream put together; any other log as it is."""
    place = log.response
    if isinstance(place.value, str):  # The body of the response as it was sent.
        documents = documents_of_events(place.value.encode())
        whole = documents[0] if documents else parsed(place.value)
        log = replace(log, response=replace(place, value=whole or place.value))
    pieces = [each for each in log.answers() if isinstance(each.value, dict)]
    if not pieces or not _is_piece(pieces[0]):
        return log
    return replace(log, response=replace(place, value=_joined([p.mapping() for p in pieces])))


def _is_piece(place: LogPlace) -> bool:
    """Whether a value is a piece of a stream."""
    kind, first = str(place.find("type").value), place.find("choices[0]")
    owners = (first, place.find("meta_info"))
    return (
        str(place.find("object").value).endswith(".chunk")
        or kind.startswith(("response.", "message_", "content_block"))
        or first.names("delta")
        or any(owner.names("finish_reason") and not owner.find("finish_reason") for owner in owners
               if not owner.names("message"))
        or place.find("done").value is False
        or (bool(place.find("token.id")) and place.names("generated_text"))
        or (place.find("stop").value is False and place.names("content"))
    )  # fmt: skip


def _joined(pieces: list[_Object]) -> _Object:
    """A response from its pieces."""
    for piece in pieces:
        if piece.get("type") in ("response.completed", "response.incomplete"):
            return _member(piece, "response")
    texts = [str(piece.get("text", "")) for piece in pieces]
    repeats = all(later.startswith(before) for before, later in pairwise(texts))
    if repeats and all("meta_info" in piece for piece in pieces):
        return pieces[-1]  # SGLang sends the whole text so far.
    return reduce(lambda whole, piece: _added(whole, _part(piece), ""), pieces, {})


def _part(piece: _Object) -> _Object:
    """The part of a response that a piece adds."""
    kind, at = str(piece.get("type")), {"index": piece.get("index", piece.get("output_index", 0))}
    whole = {"object": "response", "status": "incomplete"} if kind.startswith("response.") else {}
    if kind in _PIECES:
        key, where, owner = _PIECES[kind]
        part = {"type": owner, key: piece.get("delta", "")} if owner else _member(piece, key)
        return whole | ({where: [part | at]} if where else part)
    if whole or kind in ("message_stop", "content_block_stop", "ping"):
        return whole
    if isinstance(piece.get("token"), dict):  # TGI's.
        return piece | {"details": _member(piece, "details") | {"tokens": [piece["token"]]}}
    listed = cast("list[Any]", piece["choices"]) if isinstance(piece.get("choices"), list) else []
    for choice in (cast("_Object", each) for each in listed if isinstance(each, dict)):
        if "delta" in choice:
            choice["message"] = choice.pop("delta")
    return piece


def _added(before: Any, more: Any, key: str) -> Any:
    """A value with what a later piece adds to it."""
    if more is None or before is None:
        return before if more is None else more
    if isinstance(before, dict) and isinstance(more, dict):
        held, new = cast("_Object", before), cast("_Object", more)
        return held | {name: _added(held.get(name), new[name], name) for name in new}
    if isinstance(before, list) and isinstance(more, list):
        listed: list[Any] = [*before]
        for entry in cast("list[Any]", more):
            at = [k for k, each in enumerate(listed) if _index(entry) == _index(each) is not None]
            if at:
                listed[at[0]] = _added(listed[at[0]], entry, key)
            else:
                listed.append(entry)
        return listed
    if isinstance(before, str) and isinstance(more, str) and key in _TEXTS:
        return before + more
    return more


def _index(value: Any) -> object:
    return cast("_Object", value).get("index") if isinstance(value, dict) else None


def _member(owner: Any, key: str) -> _Object:
    """A member that is an object; else an empty one."""
    value = cast("_Object", owner).get(key) if isinstance(owner, dict) else None
    return cast("_Object", value) if isinstance(value, dict) else {}


def documents_of_events(data: bytes) -> list[object]:
    """The documents of a file that is a stream; empty for any other file."""
    parts = [line.strip() for line in data.split(b"\n") if line.strip()]
    if data.lstrip().startswith((b"data:", b"event:", b":")):
        parts = [part[5:].strip() for part in parts if part.startswith(b"data:")]
    elif not parts or not _is_piece(LogPlace("", "", _object(parts[0]))):
        return []
    documents, pieces = list[object](), list[_Object]()
    for part in [*parts, b"[DONE]"]:
        piece = _object(part)
        if piece is not None:
            pieces.append(piece)
        if pieces and (piece is None or piece.get("done") is True):
            documents.append(pieces if len(pieces) > 1 else pieces[0])
            pieces = []
    return documents


def _object(data: bytes) -> _Object | None:
    value = parsed(data) if data.startswith(b"{") else None
    return cast("_Object", value) if isinstance(value, dict) else None


# --- text logs --------------------------------------------------------------------------------

_TEXT: Final = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_RECEIVED: Final = re.compile(
    rf"Received request (\S+): (?:prompt: ({_TEXT}|None), )?params: (\w+\(.*\))"
)
_GENERATED: Final = re.compile(
    rf"Generated response (\S+?)(?: \(([^)]*)\))?: output: ({_TEXT}), "
    r"output_token_ids: (\[[\d, ]*\]|None), finish_reason: (\w+)"
)
_FINISHED: Final = re.compile(r"Finish: obj=(\w+\(.*\)), out=(\{.*\})")


def documents_of_log(data: bytes) -> list[object]:
    """The requests and responses in a text log of vLLM or SGLang; empty for any other file."""
    if b"Generated response " not in data and b"Finish: obj=" not in data:
        return []
    requests, pieces = dict[str, _Object](), dict[str, list[object]]()
    documents = list[object]()
    for line in data.decode(errors="replace").splitlines():
        if len(line) > _LONGEST_LINE:
            continue
        if match := _RECEIVED.search(line):
            settings = {"": _python(match[3])}
            prompt = {"prompt": _python(match[2] or "None")}
            requests[match[1]] = _member(settings, "") | prompt
        elif match := _GENERATED.search(line):
            name, kind, text, ids, finish = match.groups()
            ids = cast("list[object] | None", _python(ids))
            if kind == "streaming delta":
                pieces.setdefault(name, []).extend(ids or [])
                continue
            if finish == "streaming_complete":  # It has the text; its pieces have the tokens.
                ids, finish = pieces.pop(name, None), None
            choice = {"text": _python(text), "token_ids": ids, "finish_reason": finish}
            asked = requests.get(name) or {}
            response = {"choices": [choice]}
            documents.append({"server": "vllm", "request": asked, "response": response})
        elif match := _FINISHED.search(line):
            asked, response = _python(match[1]), _python(match[2])
            documents.append({"server": "sglang", "request": asked, "response": response})
    return documents


def _python(text: str) -> object:
    """The value of a literal, or the arguments of a call by name; ``None`` for anything else."""
    try:
        return _value_of(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _value_of(node: ast.expr) -> object:
    if isinstance(node, ast.Call):
        given = {each.arg: _value_of(each.value) for each in node.keywords if each.arg is not None}
        return {key: value for key, value in given.items() if value is not None}
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
