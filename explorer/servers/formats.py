"""The formats of logs: a table of paths into the response.

A format is a row of ``formats`` in `tables.json`. Each of its keys has paths, of which the first
with a value counts. A path is below an answer, or below the request or the response with
``request:`` or ``response:`` before it (`LogPlace.every`).

``marks``: the paths that a response of this format has, those of one entry with spaces between;
``answers``: the answers in a response; ``content``: the text, or a list of parts, which may hold
reasoning and calls; ``reasoning``, ``calls``, ``refusal``; ``ids``, ``texts``, ``data``,
``log_probs``: lists, one entry for a token; ``finish``: the reason for the end; ``stop``: the stop
that ended it, null for the end of text; ``told``: a message of the server on the end; ``echo``: the
request where the response repeats it, for logs without one; ``prompt``.

A log of no known format is an error that lists the evidence of each; errors of a server and answers
without a choice are named as such.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, zip_longest
from typing import Final

from explorer.arguments import shown
from explorer.servers.log import RECORD_AGAIN, LogPlace, ServerLog, parsed, setting_in
from explorer.servers.request import (
    RequestedConstraint,
    demanded_tools,
    engine_of,
    requested_of,
    stops_of,
    tools_of,
    unknown_parser,
    unparsed_call,
)
from explorer.servers.run import ENDINGS, ServedToken, ServerRun
from explorer.servers.tables import sentence, server_of, table

FORMATS: Final = table("formats", dict[str, dict[str, tuple[str, ...]]])
"""The formats by name; a log is read by the first that recognises it."""

# The kind of each part of an answer, by its type; an empty kind is that of the whole answer.
_PARTS: Final = table("parts", dict[str, str])

# The keys of a part that hold a text, or further parts.
_PART_KEYS: Final = table("part_keys", tuple[str, ...])


def runs_in(log: ServerLog) -> Iterator[ServerRun]:
    """The runs of a log: one for each answer, or for each of its calls.

    Raises:
        DamagedFile: The answer is an error of the server or has no choice, no format recognises
            it, or a value does not conform to the format.
    """
    first, place = log.first(), log.response
    is_error = first.find("error") or first.find("object").value == "error"
    if is_error and not first.find("choices"):
        told = first.find("error.message", "error", "message") or first
        raise place.error(f"is an error of the server: {shown(told.value)}.", _LEAVE_OUT)
    marked = (
        name for name, row in FORMATS.items()
        if any(all(map(first.find, mark.split())) for mark in row["marks"])
    )  # fmt: skip
    name = next(marked, "")
    if not name and first.names("choices"):
        raise place.error("has no choice that can be read.", _LEAVE_OUT)
    if not name:
        looked = "; ".join(f"{name}: {' or '.join(FORMATS[name]['marks'])}" for name in FORMATS)
        raise place.error(f"is not of a known format. Looked for: {looked}.", _ENVELOPE)
    for response in log.answers():
        read = _LoggedAnswer(name, log.request, response, response)
        if not log.request:
            read = replace(read, request=read.one("echo"))
        for answer in read.every("answers"):
            yield from _runs_of(replace(read, answer=answer), server_of(log))


_LEAVE_OUT: Final = "Leave this document out: nothing was written that could be explained."
_ENVELOPE: Final = (
    'Write {"request": ..., "response": ...} with the bodies as they were sent; docs/servers.md '
    "has an example of each format."
)


@dataclass(frozen=True, slots=True)
class _LoggedAnswer:
    """One answer of a log, read by the paths of a format."""

    format: str
    request: LogPlace
    response: LogPlace
    answer: LogPlace

    def at(self, path: str) -> list[LogPlace]:
        """The values at a path."""
        side, _, rest = path.rpartition(":")
        base = {"request": self.request, "response": self.response, "": self.answer}[side]
        return base.every(rest) if base else []

    def every(self, key: str) -> list[LogPlace]:
        """The values at the paths of a key of the format."""
        paths = FORMATS[self.format].get(key, ())
        return [place for path in paths for place in self.at(path)]

    def one(self, key: str) -> LogPlace:
        """The first of them; a missing one where there is none."""
        places = self.every(key)
        return next(filter(None, places), (*places, LogPlace(self.answer.file, key, None))[0])

    def column(self, key: str) -> list[LogPlace]:
        """The values of each token at the paths of a key; those of a second path must be the
        same."""
        paths = FORMATS[self.format].get(key, ())
        first, *others = [places for path in paths if any(places := self.at(path))] or [[]]
        for one, two in (pair for other in others for pair in zip(first, other, strict=False)):
            if one.value != two.value:
                raise one.wrong(f"{shown(two.value)}, as {two.path} is")
        return first


def _runs_of(read: _LoggedAnswer, server: str) -> Iterator[ServerRun]:
    request, answer = read.request, read.answer
    requested, parts = requested_of(request, server), dict[str, list[LogPlace]]()
    for kind in ("content", "reasoning", "refusal"):
        for named, part in _parts(read.one(kind), kind):
            parts.setdefault(named, []).append(part)
    calls = [*parts.pop("calls", []), *filter(None, read.every("calls"))]
    texts = {kind: "".join(map(LogPlace.text, each)) for kind, each in parts.items()}
    text, reasoning = texts.get("content"), texts.get("reasoning")
    ended_by = [path for path in FORMATS[read.format].get("stop", ()) if answer.names(path)]
    stops = [place for path in ended_by for place in read.at(path)]
    told, model = read.one("told").optional_text(), read.response.find("model")
    base = ServerRun(
        place=answer.file, format=read.format, prompt=_prompt(read.one("prompt")),
        model=(model or setting_in(request, "model")).optional_text(),
        finish=read.one("finish").optional_text(), requested=requested,
        stops=stops_of(request, stops), stop_named=bool(stops), reasoning=reasoning or None,
        server=server, request=request,
        notes=(f"The server says: {shown(told)}.",) if told else (),
    )  # fmt: skip
    if calls:
        if text and requested is not None:
            yield replace(base, text=text)
        elif text:
            said = f"Nothing constrains the text beside the call, {shown(text)}."
            base = replace(base, notes=(*base.notes, said))
        yield from (_call(base, call) for call in calls)
        return
    refused = text if base.finish in ENDINGS["refused"] else None
    if (refusal := texts.get("refusal") or refused) and text in (None, "", refused):
        said = sentence("refusal")
        yield replace(base, text=refusal, requested=None, elsewhere=said, notes=(*base.notes, said))
        return
    tokens = _tokens(read)
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
    if not turns or not all(turn.find("role") for turn in turns):
        return None
    said: list[dict[str, str]] = []
    for turn in turns:
        texts = (part.text() for kind, part in _parts(turn.at("content"), "") if not kind)
        said.append({"role": turn.at("role").text(), "content": "".join(texts)})
    return tuple(said)


def _parts(place: LogPlace, kind: str) -> Iterator[tuple[str, LogPlace]]:
    """The parts of an answer, or of one kind of part: texts, and calls as they are."""
    if not isinstance(place.value, list):
        yield from [(kind, place)] if place else []
        return
    for part in place.entries():
        if isinstance(part.value, str):
            yield kind, part
        elif (named := _PARTS.get(str(part.at("type").value))) == "calls":
            yield named, part
        elif named is not None:
            for key in _PART_KEYS:
                yield from _parts(part.at(key), named or kind)


def _call(base: ServerRun, call: LogPlace) -> ServerRun:
    """The run of a call: its arguments under the parameters of its tool, if they are
    constrained."""
    function = call.one("function", "custom") or call
    given = function.one("arguments", "partial_json", "input", "parameters")
    name = function.at("name").text()
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
        elsewhere = f"{said[0]} {sentence('unconstrained')}"
    notes = (*run.notes, elsewhere or " ".join(said))
    return replace(run, requested=wanted, elsewhere=elsewhere, notes=notes)


# The text that vLLM writes for a token with ``return_tokens_as_token_ids``.
_ID_TEXT: Final = re.compile(r"token_id:(0|[1-9][0-9]{0,9})")


def _tokens(read: _LoggedAnswer) -> tuple[ServedToken, ...]:
    """The tokens of an answer, from the columns of its format."""
    columns = [read.column(key) for key in ("ids", "texts", "data", "log_probs")]
    count = max(map(len, columns[:2]))
    for places in columns:
        if len(places) not in (0, count):
            holder = replace(places[0], path=places[0].path.rpartition("[")[0])
            said = f"has {len(places)} values, not {count}, as many as there are tokens."
            raise holder.error(said, RECORD_AGAIN)
    tokens: list[ServedToken] = []
    for token, text, data, number in zip_longest(*columns, fillvalue=LogPlace("", "", None)):
        shown_text = text.optional_text()
        mark = _ID_TEXT.fullmatch(shown_text or "")
        known = token.token_id() if token else int(mark[1]) if mark else None
        written = (None, None) if mark else (shown_text, data.data())
        tokens.append(ServedToken(known, *written, number.log_prob()))
    return tuple(tokens)
