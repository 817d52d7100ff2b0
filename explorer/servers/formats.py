"""The formats of logs: a table of paths into the response.

A format is a row: the keys by which its logs are known, and the paths of the text, the tokens, the
calls and the reason for the end. `runs_in` reads every row in the same way. A log of no known
format is an error that lists the evidence of each; errors of a server and answers without a choice
are named as such.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final, cast

from explorer.arguments import shown
from explorer.servers.log import (
    RECORD_AGAIN,
    LogPlace,
    ServerLog,
    is_text,
    parsed,
    setting_in,
    text_of_parts,
)
from explorer.servers.phases import demanded_tools, tools_of, unknown_parser, unparsed_call
from explorer.servers.request import RequestedConstraint, engine_of, requested_of, stops_of
from explorer.servers.run import REFUSED, ServedToken, ServerRun
from explorer.servers.settings import server_of
from explorer.servers.tables import table


@dataclass(frozen=True, slots=True)
class LogFormat:
    """The format in which one kind of server writes its runs, as paths.

    A path is below an answer, or below the request or the response with ``request:`` or
    ``response:`` before it (`LogPlace.every`); of several the first with a value counts.

    Args:
        name: The name of the format.
        marks: The paths that a response of this format has: those of one entry, with spaces
            between.
        answers: The paths of the answers in a response, which may be one itself.
        content: The paths of the text: a text, or a list of parts, with reasoning and calls.
        reasoning, calls, refusal: The paths of the reasoning, the calls, and a refusal.
        ids, texts, data, log_probs: The paths of the id, text, bytes and log-probability of each
            token: lists, one entry for a token.
        finish: The paths of the reason for the end.
        stop: The keys of the stop that ended it; null there means the end of text.
        told: The paths of a message of the server on the end.
        echo: The path of the request where the response repeats it; for logs without a request.
        prompt: The paths of the prompt.
    """

    name: str
    marks: tuple[str, ...]
    answers: tuple[str, ...] = ("",)
    content: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    log_probs: tuple[str, ...] = ()
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


def runs_in(log: ServerLog) -> Iterator[ServerRun]:
    """The runs of a log: one for each answer, or for each of its calls.

    Raises:
        DamagedFile: The answer is an error of the server or has no choice, no format recognises
            it, or a value does not conform to the format.
    """
    first, place = log.first(), log.response
    is_error = first.has("error") or first.find("object").value == "error"
    if is_error and not first.has("choices"):
        told = first.find("error.message", "error", "message") or first
        raise place.error(f"is an error of the server: {shown(told.value)}.", _LEAVE_OUT)
    known = (row for row in FORMATS if any(all(map(first.has, x.split())) for x in row.marks))
    row = next(known, None)
    if row is None and first.names("choices"):
        raise place.error("has no choice that can be read.", _NO_CHOICE)
    if row is None:
        marks = [" or ".join(x.replace(" ", " and ") for x in row.marks) for row in FORMATS]
        looked = "; ".join(map(": ".join, zip(format_names(), marks, strict=True)))
        raise place.error(f"is not of a known format. Looked for: {looked}.", _ENVELOPE)
    server = server_of(log)
    for number, response in enumerate(log.answers()):
        several = isinstance(place.value, list)
        request = _request_of(log.request, number) if several else log.request
        if not request and row.echo:
            request = response.one(row.echo)
        for answer in (answer for path in row.answers for answer in response.every(path)):
            yield from _runs_of(_LoggedAnswer(row, request, response, answer), server)


_LEAVE_OUT: Final = "Leave this document out: nothing was written that could be explained."
_NO_CHOICE: Final = "Record the response with its choices, or leave this document out."
_ENVELOPE: Final = (
    'Write {"request": ..., "response": ...} with the bodies as they were sent; docs/servers.md '
    "has an example of each format."
)


def _request_of(request: LogPlace, number: int) -> LogPlace:
    """The request as it applies to one of several texts: each may have its own values."""
    held = dict(request.mapping()) if request else {}
    for key in ("text", "sampling_params", "input_ids"):
        own = cast("list[object]", value) if isinstance(value := held.get(key), list) else []
        if own and not isinstance(own[0], int):
            held[key] = own[number] if number < len(own) else None
    return replace(request, value=held or None)


@dataclass(frozen=True, slots=True)
class _LoggedAnswer:
    """One answer of a log, read by the paths of a format."""

    row: LogFormat
    request: LogPlace
    response: LogPlace
    answer: LogPlace

    def every(self, *paths: str) -> list[LogPlace]:
        """The values at some paths."""
        bases = {"request": self.request, "response": self.response, "": self.answer}
        split = (path.rpartition(":") for path in paths)
        return [
            place for side, _, rest in split if bases[side] for place in bases[side].every(rest)
        ]

    def one(self, paths: tuple[str, ...]) -> LogPlace:
        """The first value at one of some paths; a missing one where there is none."""
        places = self.every(*paths)
        return next(filter(None, places), (*places, LogPlace(self.answer.file, "", None))[0])

    def column(self, paths: tuple[str, ...], count: int | None = None) -> list[LogPlace]:
        """The values of each token at the paths; those of a second path must be the same.

        Args:
            count: The number of tokens, where it is known.
        """
        lists = [places for path in paths if any(places := self.every(path))]
        for first, other in ((lists[0], each) for each in lists[1:]):
            for one, two in zip(first, other, strict=False):
                if one.value != two.value:
                    raise one.wrong(f"{shown(two.value)}, as {two.path} is")
        places = lists[0] if lists else [LogPlace("", "", None)] * (count or 0)
        if count not in (None, len(places)):
            holder = replace(places[0], path=places[0].path.rpartition("[")[0])
            raise holder.error(
                f"has {len(places)} values, not {count}, as many as there are tokens.", RECORD_AGAIN
            )
        return places


def _runs_of(read: _LoggedAnswer, server: str) -> Iterator[ServerRun]:
    row, request, answer = read.row, read.request, read.answer
    requested = requested_of(request, server)
    kinds = [_parts(read.one((path,))) for path in row.content]
    parts = next((each for each in kinds if each != _AnswerParts()), _AnswerParts())
    reasoning = text_of_parts(read.one(row.reasoning)) + parts.reasoning
    stops = [read.one((key,)) for key in row.stop if answer.names(key)]
    told, model = read.one(row.told).optional_text(), read.response.find("model")
    base = ServerRun(
        place=answer.file, format=row.name, prompt=_prompt(read.one(row.prompt)),
        model=(model or setting_in(request, "model")).optional_text(),
        finish=read.one(row.finish).optional_text(), requested=requested,
        stops=stops_of(request, stops), stop_named=bool(stops), reasoning=reasoning or None,
        server=server, request=request,
        notes=(f"The server says: {shown(told)}.",) if told else (),
    )  # fmt: skip
    if calls := [*parts.calls, *filter(None, read.every(*row.calls))]:
        if parts.text and requested is not None:
            yield replace(base, text=parts.text)
        elif parts.text:
            said = f"Nothing constrains the text beside the call, {shown(parts.text)}."
            base = replace(base, notes=(*base.notes, said))
        yield from (_call(base, call) for call in calls)
        return
    refused = parts.text if base.finish in REFUSED else None
    refusal = parts.refusal or read.one(row.refusal).optional_text() or refused
    if refusal and parts.text in (None, "", refused):
        said = "The answer is a refusal, about which no constraint of the request speaks."
        yield replace(base, text=refusal, requested=None, elsewhere=said, notes=(*base.notes, said))
        return
    tokens, text = _tokens(read), parts.text
    if text and setting_in(request, "echo").value is True and text.startswith(str(base.prompt)):
        size = len(str(base.prompt))  # The request asked for the prompt to be repeated.
        ends = accumulate(len(token.text or "") for token in tokens)
        tokens = tuple(each for each, end in zip(tokens, ends, strict=True) if end > size)
        text = text[size:]
    elsewhere = "" if requested else unknown_parser(request) or unparsed_call(request, text or "")
    yield replace(base, text=text, tokens=tokens, elsewhere=elsewhere)


def _prompt(place: LogPlace) -> str | tuple[dict[str, str], ...] | None:
    """A prompt's text, or its messages without parts that are not text."""
    if not place or isinstance(place.value, str):
        return place.optional_text()
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
        kind = "text" if is_text(part) else part.at("type").value
        inner = _AnswerParts()
        if kind == "text":
            inner = _AnswerParts(text_of_parts(replace(part, value=[part.value])))
        elif kind == "message":
            inner = _parts(part.at("content"))
        elif kind in ("reasoning", "thinking", "reasoning_content"):
            keys = ("content", "summary", "thinking", "text", "reasoning")
            inner = _AnswerParts(reasoning="".join(text_of_parts(part.at(key)) for key in keys))
        elif kind in ("tool_use", "function_call", "tool_call", "custom_tool_call"):
            inner = _AnswerParts(calls=(part,))
        elif kind == "refusal":
            inner = _AnswerParts(refusal=part.at("refusal").text())
        texts = [text for text in (made.text, inner.text) if text is not None]
        made = _AnswerParts(
            "".join(texts) if texts else None, made.reasoning + inner.reasoning,
            made.calls + inner.calls, made.refusal + inner.refusal,
        )  # fmt: skip
    return made


def _call(base: ServerRun, call: LogPlace) -> ServerRun:
    """The run of a call: its arguments under the parameters of its tool, if they are
    constrained."""
    function = call.one("function", "custom") or call
    name, given = function.at("name").text(), function.one("arguments", "input", "parameters")
    as_object = isinstance(given.value, dict)
    text = json.dumps(given.value, ensure_ascii=False) if as_object else given.optional_text() or ""
    said = [f"The answer is a call of the tool {shown(name)}."]
    run = replace(base, text=text, reasoning=None, call=name, requested=None)
    tools, demanded = tools_of(base.request), demanded_tools(base.request)
    tool = next((tool for tool in tools if tool.at("name").value == name), call)
    is_demanded = demanded is not None and name in (demanded or (name,))
    wanted, elsewhere = None, ""
    if tools and tool is call:
        names = [tool.at("name").value for tool in tools]
        elsewhere = f"There is no tool {shown(name)}; the tools are {', '.join(map(str, names))}."
        place = LogPlace(base.request.file, "request.tools", names)
        wanted = None if demanded is None else RequestedConstraint(place, "choice")
        run = replace(run, text=name)
    elif tools and (grammar := tool.one("format.definition", "format.grammar.definition")):
        syntax = tool.one("format.syntax", "format.grammar.syntax").value
        wanted = RequestedConstraint(grammar, "regex" if syntax == "regex" else "grammar")
    elif tools and (tool.at("strict").value is True or is_demanded):
        parameters = tool.one("parameters", "input_schema")
        parameters = parameters or replace(parameters, value={"type": "object"})
        engine = engine_of(base.request, base.server, parameters.value)
        wanted = RequestedConstraint(parameters, "json", engine=engine)
        said.append(f"Its arguments are held against {parameters.path}.")
        inner = parsed(text)
        if isinstance(inner, str) and isinstance(parsed(inner), dict):
            said.append("They are a JSON text inside a JSON string: the server encoded them twice.")
        if as_object:
            said.append("The log has them as an object; they were judged as json.dumps writes it.")
    else:
        elsewhere = f"{said[0]} {_UNCONSTRAINED}"
    notes = (*run.notes, elsewhere or " ".join(said))
    return replace(run, requested=wanted, elsewhere=elsewhere, notes=notes)


_UNCONSTRAINED: Final = (
    "The request does not constrain its arguments: it neither names the tool in tool_choice nor "
    "demands a call nor says that it is strict, and its other constraints speak about the text."
)

_ID_TEXT: Final = re.compile(r"token_id:(0|[1-9][0-9]{0,9})")
"""The text that vLLM writes for a token with ``return_tokens_as_token_ids``."""


def _tokens(read: _LoggedAnswer) -> tuple[ServedToken, ...]:
    """The tokens of an answer, from the columns of its format."""
    row = read.row
    count = max(len(read.column(row.ids)), len(read.column(row.texts)))
    columns = [read.column(paths, count) for paths in (row.ids, row.texts, row.data, row.log_probs)]
    tokens: list[ServedToken] = []
    for token, text, data, number in zip(*columns, strict=True):
        shown_text = text.optional_text()
        mark = _ID_TEXT.fullmatch(shown_text or "")
        known = token.token_id() if token else int(mark[1]) if mark else None
        written = (None, None) if mark else (shown_text, data.data())
        tokens.append(ServedToken(known, *written, number.log_prob()))
    return tuple(tokens)
