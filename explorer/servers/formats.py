"""The formats of logs: a table of paths into the response.

A format is a row: the keys by which its logs are known, and the paths of the text, the tokens, the
calls and the reason for the end. `runs_in` reads every row in the same way. A log of no known
format is an error that lists the evidence of each; errors of a server and answers without a choice
are named as such.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, cast

from explorer.arguments import shown
from explorer.errors import DamagedFile
from explorer.servers.log import TEXT_PARTS, LogPlace, ServerLog, parsed, text_of_parts
from explorer.servers.phases import demanded_tools, tools_of, unknown_parser, unparsed_call
from explorer.servers.request import RequestedConstraint, engine_of, requested_of
from explorer.servers.run import REFUSED, ServedToken, ServerRun, stops_of
from explorer.servers.settings import server_of
from explorer.servers.tables import table


@dataclass(frozen=True, slots=True)
class LoggedColumns:
    """The paths of what a format says of each token: each gives a list, one entry for a token.

    Args:
        ids, texts, data, log_probs: Its id, text, bytes and log-probability.
    """

    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    data: str = ""
    log_probs: str = ""


@dataclass(frozen=True, slots=True)
class LogFormat:
    """The format in which one kind of server writes its runs, as paths.

    A path is below an answer, or below the request or the response with ``request:`` or
    ``response:`` before it (`LogPlace.every`).

    Args:
        name: The name of the format.
        looked_for: The evidence that identifies a log of this format, as a noun phrase.
        marks: The paths that a response of this format has: those of one entry, with spaces
            between.
        answers: The path of the answers in a response; empty where it is one itself.
        further: The path of further answers below an answer.
        content: The paths of the text: a text, or a list of parts, with reasoning and calls.
        reasoning: The paths of the reasoning.
        calls, refusal: The paths of the calls, and of a refusal.
        tokens: The tokens.
        finish: The paths of the reason for the end.
        stop: The keys of the stop that ended it; null there means the end of text.
        told: The paths of a message of the server on the end.
        echo: The path of the request where the response repeats it; for logs without a request.
        prompt: The paths of the prompt.
    """

    name: str
    looked_for: str
    marks: tuple[str, ...]
    answers: str = ""
    further: str = ""
    content: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    tokens: LoggedColumns = field(default=LoggedColumns())
    finish: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    echo: str = ""
    prompt: tuple[str, ...] = ("request:messages", "request:prompt", "request:input")


FORMATS: Final = table("formats", tuple[LogFormat, ...])
"""The formats; a log is read by the first that recognises it."""


def format_names() -> tuple[str, ...]:
    """The names of the formats."""
    return tuple(known.name for known in FORMATS)


def format_of(log: ServerLog) -> LogFormat:
    """The format of a log.

    Raises:
        DamagedFile: No format recognises it.
    """
    first = log.first()
    for known in FORMATS:
        if any(all(map(first.has, mark.split())) for mark in known.marks):
            return known
    unread = unread_answer(log)
    if unread is not None:
        raise unread
    looked = "; ".join(f"{known.name}: {known.looked_for}" for known in FORMATS)
    place = log.response
    raise DamagedFile(
        f"{place.file}: {place.path or 'the document'} is not of a known format. "
        f"Looked for: {looked}.",
        remedy='Write {"request": ..., "response": ...} with the bodies as they were sent; '
        "docs/servers.md has an example of each format.",
        evidence={"file": place.file, "place": place.path, "formats": list(format_names())},
    )


# --- reading a row ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _AnswerReader:
    """One answer of a log, read by the paths of a format."""

    row: LogFormat
    request: LogPlace
    response: LogPlace
    answer: LogPlace

    def every(self, path: str) -> list[LogPlace]:
        side, _, rest = path.rpartition(":")
        base = {"request": self.request, "response": self.response}.get(side, self.answer)
        return base.every(rest) if base and path else []

    def one(self, paths: tuple[str, ...]) -> LogPlace:
        places = [place for path in paths for place in self.every(path)]
        missing = places[0] if places else LogPlace(self.answer.file, "".join(paths[:1]), None)
        return next(filter(None, places), missing)


def runs_in(row: LogFormat, log: ServerLog) -> tuple[ServerRun, ...]:
    """The runs of a log of a format: one for each answer, or for each of its calls.

    Raises:
        DamagedFile: A value does not conform to the format.
    """
    several = isinstance(log.response.value, list)
    server = server_of(log)
    runs: list[ServerRun] = []
    for number, response in enumerate(log.answers()):
        request = _request_of(log, number) if several else log.request
        answers = response.every(row.answers) if row.answers else [response]
        for answer in answers:
            runs += _runs_of(_AnswerReader(row, request, response, answer), log, server)
            for other in answer.every(row.further) if row.further else ():
                held = {**other.mapping(), "details": other.value}
                again = LogPlace(other.file, other.path, held)
                runs += _runs_of(_AnswerReader(row, request, response, again), log, server)
    return tuple(runs)


def _request_of(log: ServerLog, number: int) -> LogPlace:
    """The request as it applies to one of several texts: each may have its own values."""
    if not log.request:
        return log.request
    held = dict(log.request.mapping())
    for key in ("text", "sampling_params", "input_ids"):
        value = held.get(key)
        own = cast("list[object]", value) if isinstance(value, list) else []
        if own and not isinstance(own[0], int):
            held[key] = own[number] if number < len(own) else None
    return LogPlace(log.request.file, log.request.path, held)


def _runs_of(read: _AnswerReader, log: ServerLog, server: str) -> Iterator[ServerRun]:
    row, request, answer = read.row, read.request, read.answer
    if not request and row.echo:
        request = read.one((row.echo,))
    requested = requested_of(request, server)
    parts = _parts(read.one(row.content)) if row.content else _AnswerParts()
    reasoning = (
        "".join(filter(None, (text_of_parts(read.one(row.reasoning)), parts.reasoning))) or None
    )
    named = [
        place for key in row.stop for place in read.every(key) if _is_given(place, answer, key)
    ]
    prompt = read.one(row.prompt)
    base = ServerRun(
        place=answer.file, format=row.name, model=log.model(), prompt=_prompt(prompt),
        finish=read.one(row.finish).optional_text(), requested=requested,
        stops=stops_of(request, named[0] if named else None),
        reasoning=reasoning, server=server, request=request,
    )  # fmt: skip
    if message := read.one(row.told).optional_text():
        base = replace(base, notes=(*base.notes, f"The server says: {shown(message)}."))
    calls = [*parts.calls, *(call for path in row.calls for call in read.every(path) if call)]
    if calls:
        if parts.text and requested is not None:
            yield replace(base, text=parts.text)
        elif parts.text:
            said = f"Nothing constrains the text beside the call, {shown(parts.text)}."
            base = replace(base, notes=(*base.notes, said))
        yield from (_call(base, call) for call in calls)
        return
    refused = parts.text if base.finish in REFUSED else None
    told = parts.refusal or read.one(row.refusal).optional_text() or refused
    if told and parts.text in (None, "", refused):
        said = "The answer is a refusal, about which no constraint of the request speaks."
        yield replace(base, text=told, requested=None, elsewhere=said, notes=(*base.notes, said))
        return
    tokens, text = _tokens(read), parts.text
    if row.name == "OpenAI completions" and request and request.at("echo").value is True:
        tokens, text = _without_echo(tokens, text or "", base.prompt)
    elsewhere = "" if requested else unknown_parser(request) or unparsed_call(request, text or "")
    if text is None and not tokens and not reasoning and row.content:
        said = f"The answer has no text: {read.one(row.content).path} is null."
        base, elsewhere = replace(base, notes=(*base.notes, said)), elsewhere or said
    yield replace(base, text=text, tokens=tokens, elsewhere=elsewhere)


def _is_given(place: LogPlace, answer: LogPlace, path: str) -> bool:
    """Whether a key stands in the answer, be it with null."""
    owner, _, key = path.rpartition(".")
    held = answer.one(owner).value if owner and answer.has(owner) else answer.value
    return bool(place) or (isinstance(held, dict) and key in held)


def _prompt(place: LogPlace) -> str | tuple[dict[str, str], ...] | None:
    """A prompt's text, or its messages without parts that are not text."""
    if not place or isinstance(place.value, str):
        return cast("str | None", place.value)
    turns = place.entries("a text, or a list of messages")
    if not turns or not all(turn.has("role") for turn in turns):
        return None
    return tuple(
        {"role": turn.at("role").text(), "content": text_of_parts(turn.at("content"))}
        for turn in turns
    )


@dataclass(frozen=True, slots=True)
class _AnswerParts:
    """An answer's parts, put together by what they are."""

    text: str | None = None
    reasoning: str = ""
    calls: tuple[LogPlace, ...] = ()
    refusal: str = ""


def _parts(place: LogPlace) -> _AnswerParts:
    """The parts of an answer that is a text or a list of parts."""
    if not place or isinstance(place.value, str):
        return _AnswerParts(place.optional_text())
    made = _AnswerParts()
    for part in place.entries("a text, or a list of parts"):
        kind = "text" if isinstance(part.value, str) else part.at("type").value
        if kind in TEXT_PARTS:
            text = text_of_parts(LogPlace(part.file, part.path, [part.value]))
            made = replace(made, text=(made.text or "") + text)
        elif kind == "message":
            inner = _parts(part.at("content"))
            text = None if inner.text is None else (made.text or "") + inner.text
            made = replace(made, text=text, refusal=made.refusal + inner.refusal)
        elif kind in ("reasoning", "thinking", "reasoning_content"):
            keys = ("content", "summary", "thinking", "text", "reasoning")
            thought = "".join(text_of_parts(part.at(key)) for key in keys)
            made = replace(made, reasoning=made.reasoning + thought)
        elif kind in ("tool_use", "function_call", "tool_call", "custom_tool_call"):
            made = replace(made, calls=(*made.calls, part))
        elif kind == "refusal":
            made = replace(made, refusal=part.at("refusal").text())
    return made


def _call(base: ServerRun, call: LogPlace) -> ServerRun:
    """The run of a call: its arguments under the parameters of its tool, if they are
    constrained."""
    function = call.one("function", "custom") or call
    name = function.at("name").text()
    given = function.one("arguments", "input", "parameters")
    notes: tuple[str, ...] = ()
    if isinstance(given.value, dict):
        text = json.dumps(given.mapping(), ensure_ascii=False)
        notes = (
            "The log has the arguments as an object; they were judged as json.dumps writes it.",
        )
    else:
        text = given.optional_text() or ""
    run = replace(base, text=text, reasoning=None, call=name)
    what = f"The answer is a call of the tool {shown(name)}"
    tools, demanded = tools_of(base.request), demanded_tools(base.request)
    names = [tool.at("name").value for tool in tools]
    if tools and name not in names:
        said = f"There is no tool {shown(name)}; the tools are {', '.join(map(str, names))}."
        place = LogPlace(base.request.file, "request.tools", names)
        wanted = None if demanded is None else RequestedConstraint(place, "choice")
        return replace(run, text=name, requested=wanted, elsewhere=said, notes=(*run.notes, said))
    for tool in tools:
        strict = tool.at("strict").value is True
        parameters = tool.one("parameters", "input_schema")
        followed = strict or demanded == () or name in (demanded or ())
        grammar = tool.one("format.definition", "format.grammar.definition")
        if tool.at("name").value == name and grammar:
            syntax = tool.one("format.syntax", "format.grammar.syntax").value
            wanted = RequestedConstraint(grammar, "regex" if syntax == "regex" else "grammar")
            return replace(run, requested=wanted, notes=(*run.notes, f"{what}."))
        if tool.at("name").value == name and followed:
            if not parameters:
                parameters = replace(parameters, value={"type": "object"})
            said = f"{what}; its arguments are held against {parameters.path}."
            if _is_encoded_twice(text):
                said += " They are a JSON text inside a JSON string: the server encoded them twice."
            engine = engine_of(base.request, base.server, parameters.value)
            wanted = RequestedConstraint(parameters, "json", engine=engine)
            return replace(run, requested=wanted, notes=(*run.notes, said, *notes))
    said = (
        f"{what}, whose arguments the request does not constrain: it neither names the tool in "
        "tool_choice nor demands a call nor says that it is strict, and its other constraints "
        "speak about the text."
    )
    return replace(run, requested=None, elsewhere=said, notes=(*run.notes, said))


def _is_encoded_twice(text: str) -> bool:
    inner = parsed(text)
    return isinstance(inner, str) and isinstance(parsed(inner), dict)


_UNLIKELY: Final = -9999.0
"""The number that OpenAI and vLLM write in place of an unreported log-probability."""

_ID_TEXT: Final = re.compile(r"token_id:(0|[1-9][0-9]{0,9})")
"""The text that vLLM writes for a token with ``return_tokens_as_token_ids``."""


def _tokens(read: _AnswerReader) -> tuple[ServedToken, ...]:
    """The tokens of an answer, from the columns of its format."""
    row = read.row.tokens
    ids = _column(read, *row.ids)
    texts = [each.optional_text() for each in _column(read, *row.texts)]
    count = max(len(ids), len(texts))
    named = [None if text is None else _ID_TEXT.fullmatch(text) for text in texts]
    if ids and texts and len(ids) != len(texts):
        path = next(path for path in row.ids if read.every(path))
        raise read.one((path.removesuffix("[]"),)).wrong(
            f"a list of {len(texts)} ids, as many as there are log-probabilities"
        )

    def column(path: str, what: str) -> list[LogPlace | None]:
        places: list[LogPlace | None] = [*read.every(path)]
        if places and len(places) != count:
            place = read.one((path.split("[]")[0],))
            raise place.wrong(f"a list of {count} {what}, one for each token")
        return places + [None] * (count - len(places))

    numbers, data = column(row.log_probs, "log-probabilities"), column(row.data, "lists of bytes")
    tokens: list[ServedToken] = []
    for k in range(count):
        mark = named[k] if texts else None
        token = ids[k].token_id() if ids else int(mark[1]) if mark else None
        number, given = numbers[k], data[k]
        tokens.append(
            ServedToken(
                token,
                None if mark or not texts else texts[k],
                None if mark or given is None else given.data(),
                None if number is None else _log_prob(number),
            )
        )
    return tuple(tokens)


def _column(read: _AnswerReader, *paths: str) -> list[LogPlace]:
    """The entries at the first path that has some; those of another path must be the same."""
    places = [entries for path in paths if path and (entries := read.every(path)) and any(entries)]
    for entry in places[0] if places and len(places) > 1 else ():
        entry.token_id()
    if len(places) > 1 and [each.value for each in places[0]] != [each.value for each in places[1]]:
        other = next(path for path in paths[::-1] if read.every(path)).removesuffix("[]")
        raise read.one((other,)).wrong(f"the ids that {places[0][0].path.rpartition('[')[0]} has")
    return places[0] if places else []


def _log_prob(place: LogPlace) -> float | None:
    """A log-probability; ``None`` for the number that stands for an unreported one."""
    number = place.log_prob()
    return None if number is not None and -math.inf < number <= _UNLIKELY else number


def _without_echo(
    tokens: tuple[ServedToken, ...], text: str, prompt: object
) -> tuple[tuple[ServedToken, ...], str]:
    """A completion without the prompt that the request asked to be repeated."""
    if not isinstance(prompt, str) or not text.startswith(prompt):
        return tokens, text
    at, kept = 0, list[ServedToken]()
    for token in tokens:
        at += len(token.text or "")
        if at > len(prompt):
            kept.append(token)
    return tuple(kept), text[len(prompt) :]


# --- answers that are not runs ----------------------------------------------------------------

_LEAVE_OUT: Final = "Leave this document out: nothing was written that could be explained."
_NO_CHOICE: Final = "Record the response with its choices, or leave this document out."


def unread_answer(log: ServerLog) -> DamagedFile | None:
    """The error for a recognised answer that is not read; ``None`` for any other."""
    first = log.first()
    if not isinstance(first.value, dict):
        return None
    if (error := server_error(log)) is not None:
        return error
    if "choices" in first.mapping() and first.at("choices").value in (None, []):
        return _refused(log.response, "has no choice: its list of choices is empty", _NO_CHOICE)
    return None


def server_error(log: ServerLog) -> DamagedFile | None:
    """The error for an answer that reports a failure of the server; ``None`` for any other."""
    first = log.first()
    is_error = first.has("error") or (first.has("object") and first.at("object").value == "error")
    if not is_error or first.has("choices"):
        return None
    paths = ("error.message", "error", "message")
    told = next((first.one(path) for path in paths if first.has(path)), first)
    return _refused(log.response, f"is an error of the server: {shown(told.value)}", _LEAVE_OUT)


def failed_answer(log: ServerLog, error: DamagedFile) -> ServerRun:
    """The run of a request that failed on the server.

    Args:
        error: The error from `server_error`.
    """
    place = log.response.path or "the document"
    said = error.message.removeprefix(f"{log.response.file}: {place} ")
    model = log.asked("model").value
    known = model if isinstance(model, str) else None
    return ServerRun(log.response.file, "an error", known, failed=f"The answer {said}")


def unread_run(where: str, error: DamagedFile) -> ServerRun:
    """The run of a document that could not be read.

    Args:
        where: The name of the log, with the document's line if it has several.
    """
    said = error.message.removeprefix(f"{where}: ")
    return ServerRun(where, "an error", failed=f"It cannot be read: {said}")


def _refused(place: LogPlace, what: str, remedy: str) -> DamagedFile:
    return DamagedFile(
        f"{place.file}: {place.path or 'the document'} {what}.",
        remedy=remedy,
        evidence={"file": place.file, "place": place.path},
    )
