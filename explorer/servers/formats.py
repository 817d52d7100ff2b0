"""The formats of logs: one protocol and one registry.

A format recognises its own logs by their content, and names the evidence that it looks for. A log
of no known format is an error that lists this evidence for each; streams, errors of a server and
answers without a choice are named as such.
"""

from __future__ import annotations

from typing import Final, Protocol, cast, runtime_checkable

from explorer.arguments import shown, whole_text, wrong
from explorer.errors import DamagedFile, ExplorerError
from explorer.servers.log import LogPlace, ServerLog
from explorer.servers.run import ServerRun


@runtime_checkable
class LogFormat(Protocol):
    """The format in which one kind of server writes its runs."""

    @property
    def name(self) -> str:
        """The name of the format."""
        ...

    @property
    def looked_for(self) -> str:
        """The evidence that identifies a log of this format, as a noun phrase."""
        ...

    def is_own(self, log: ServerLog) -> bool:
        """Whether a log holds that evidence; never raises.

        Args:
            log: Any log.
        """
        ...

    def runs(self, log: ServerLog) -> tuple[ServerRun, ...]:
        """The runs of a log of this format.

        Args:
            log: One for which `is_own` holds.

        Raises:
            DamagedFile: A value does not conform to the format.
        """
        ...


_FORMATS: Final[dict[str, LogFormat]] = {}


def register_format(made: LogFormat) -> LogFormat:
    """Register a format. A log is read by the first format that recognises it.

    Args:
        made: The format.

    Raises:
        ExplorerError: The name is taken, or the object is not a format.
    """
    if isinstance(made, type) or not isinstance(made, LogFormat):  # pyright: ignore[reportUnnecessaryIsInstance]
        remedy = "Give an object with name, looked_for, is_own and runs; docs/servers.md."
        raise wrong("made", made, "a format of logs", remedy=remedy)
    whole_text("The format's name", made.name)
    whole_text("What the format looks for", made.looked_for)
    other = _FORMATS.get(made.name)
    if other is not None and type(other) is not type(made):
        raise ExplorerError(
            f"A format {made.name!r} is registered already.", remedy="Give it another name."
        )
    _FORMATS[made.name] = made
    return made


def format_names() -> tuple[str, ...]:
    """The names of the registered formats."""
    return tuple(_FORMATS)


def format_of(log: ServerLog) -> LogFormat:
    """The format of a log.

    Raises:
        DamagedFile: No format recognises it.
    """
    for known in _FORMATS.values():
        if known.is_own(log):
            return known
    unread = unread_answer(log)
    if unread is not None:
        raise unread
    looked = "; ".join(f"{known.name}: {known.looked_for}" for known in _FORMATS.values())
    place = log.response
    raise DamagedFile(
        f"{place.file}: {place.path or 'the document'} is not of a known format. "
        f"Looked for: {looked}.",
        remedy='Write {"request": ..., "response": ...} with the bodies as they were sent; '
        "docs/servers.md has an example of each format.",
        evidence={"file": place.file, "place": place.path, "formats": list(_FORMATS)},
    )


# --- answers that are recognised but not read -------------------------------------------------

_STREAM: Final = (
    "Keep the whole response: ask without `stream`, or put the chunks together (OpenAI's Python "
    "library does: `client.chat.completions.stream(...).get_final_completion()`)."
)
_LEAVE_OUT: Final = "Leave this document out: nothing was written that could be explained."
_NO_CHOICE: Final = "Record the response with its choices, or leave this document out."
_RESPONSES: Final = "Ask by the chat completions interface, or write the run as one of its logs."


def stream_of_events(data: bytes, file: str) -> DamagedFile | None:
    """The error for a file of server-sent events; ``None`` for any other."""
    if not data.lstrip().startswith((b"data:", b"event:")):
        return None
    return DamagedFile(
        f"{file} is a stream of server-sent events, not a response in one piece.",
        remedy=_STREAM,
        evidence={"file": file, "place": "", "what": "stream"},
    )


def unread_answer(log: ServerLog) -> DamagedFile | None:
    """The error for a recognised answer that is not read; ``None`` for any other."""
    place, first = log.response, log.first()
    if not isinstance(first, dict):
        return None
    answer = cast("dict[str, object]", first)
    kind = answer.get("object")
    choices = answer.get("choices")
    one = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
    if (isinstance(kind, str) and kind.endswith(".chunk")) or _has(one, "delta"):
        return _refused(place, "is a chunk of a stream, not a response in one piece", _STREAM)
    if (error := server_error(log)) is not None:
        return error
    if kind == "response":
        what = "is an answer of OpenAI's Responses interface, which is not read"
        return _refused(place, what, _RESPONSES)
    if "choices" in answer and (choices is None or choices == []):
        return _refused(place, "has no choice: its list of choices is empty", _NO_CHOICE)
    return None


def server_error(log: ServerLog) -> DamagedFile | None:
    """The error for an answer that reports a failure of the server; ``None`` for any other."""
    first = log.first()
    answer = cast("dict[str, object]", first) if isinstance(first, dict) else {}
    said = answer.get("error")
    if said is None or "choices" in answer:
        return None
    if isinstance(said, dict):
        said = cast("dict[str, object]", said).get("message") or cast("object", said)
    return _refused(log.response, f"is an error of the server: {shown(said)}", _LEAVE_OUT)


def failed_answer(log: ServerLog, error: DamagedFile) -> ServerRun:
    """The run of a request that failed on the server.

    Args:
        error: The error from `server_error`.
    """
    place = log.response.path or "the document"
    said = error.message.removeprefix(f"{log.response.file}: {place} ")
    model = log.asked("model").value
    return _failed(log.response.file, f"The answer {said}", model if type(model) is str else None)


def unread_run(where: str, error: DamagedFile) -> ServerRun:
    """The run of a document that could not be read.

    Args:
        where: The name of the log, with the document's line if it has several.
    """
    said = error.message.removeprefix(f"{where}: ")
    return _failed(where, f"It cannot be read: {said}")


def _failed(where: str, why: str, model: str | None = None) -> ServerRun:
    return ServerRun(
        place=where, format="an error", model=model, prompt=None, prompt_ids=None, tokens=(),
        text=None, finish=None, requested=None, failed=why,
    )  # fmt: skip


def _has(value: object, key: str) -> bool:
    return isinstance(value, dict) and key in value


def _refused(place: LogPlace, what: str, remedy: str) -> DamagedFile:
    return DamagedFile(
        f"{place.file}: {place.path or 'the document'} {what}.",
        remedy=remedy,
        evidence={"file": place.file, "place": place.path},
    )
