"""A line of a scheduler's log: tokens that a server's grammar refused.

``Failed to advance FSM for request … for tokens 271`` gives no more than an id. With the tokenizer
and the request's constraint the text of the token is known; with the text before it, also the
refused token and the reason. Without the text before it, all states of the constraint are searched
for those in which the token is allowed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from explorer.alphabet import without_controls
from explorer.analysis.explaining.explanation import Explanation, explain
from explorer.analysis.places.spans import SourcePlace, live_places
from explorer.arguments import counted, file_path, instance
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.files import file_errors, parse_json
from explorer.languages.constraint import Constraint, regex
from explorer.languages.engines.reading import as_engine, engine_name
from explorer.languages.engines.source import EngineSchema
from explorer.languages.grammar.functions import grammar
from explorer.languages.phases.structural import StructuralTag
from explorer.languages.schema.reading.text import spot_of
from explorer.languages.schema.source import JsonSchema, json_schema
from explorer.servers.lines import read_line
from explorer.servers.log import LogPlace, ServerLog, parsed
from explorer.servers.phases import after_reasoning
from explorer.servers.reasoning import MARKERS, names_shown
from explorer.servers.request import MOST_FREE_DEPTH, requested_of
from explorer.servers.sentences import shown_bytes
from explorer.servers.settings import ASSUMED, SERVERS, server_of
from explorer.tokens.compile import compile as compiled
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary

MOST_STATES: Final = 4_000
MOST_TEXT: Final = 400
MOST_PLACES: Final = 6


@dataclass(frozen=True)
class PlaceOfToken:
    """A place of the constraint, and an example of the text that leads to it."""

    name: str
    example: str


@dataclass(frozen=True)
class ScheduledTokens:
    """The explanation of a line; it prints as a paragraph.

    Args:
        request: The request in the line; empty if there is none.
        ids: The tokens.
        texts: The text of each; for a control token its name.
        rejected: The number of tokens before the first refused one; ``None`` if none is refused, or
            the text before the line is not known.
        explanation: The reason for the refusal.
        allowed, refused: The places at which all tokens are allowed, and those at which one is not;
            empty where the text before is known.
        settings: Settings of a server under which it would be accepted.
        whole: Whether all states were searched.
        taken: Whether the text before is known and the constraint accepts all tokens after it.
        remarks: What the line shows by itself, as sentences.
    """

    request: str
    ids: tuple[int, ...]
    texts: tuple[str, ...]
    rejected: int | None = None
    explanation: Explanation | None = None
    allowed: tuple[PlaceOfToken, ...] = ()
    refused: tuple[PlaceOfToken, ...] = ()
    settings: tuple[str, ...] = ()
    whole: bool = True
    taken: bool = False
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(
            f"{token} is {text}" for token, text in zip(self.ids, self.texts, strict=True)
        )
        lines = [f"{shown}.", *self.remarks]
        what = str(self.ids[0]) if len(self.ids) == 1 else "The line"
        if self.explanation is not None and self.rejected is not None:
            lines.append(f"Token {self.rejected} of the line is the first that is refused.")
            lines.append(self.explanation.paragraph)
        elif self.taken:
            lines.append("The constraint takes them there.")
        else:
            seen = "" if self.whole else f" (of the first {MOST_STATES:,} states)"
            if self.allowed:
                lines.append(f"{what} is allowed{seen}: {_listed(self.allowed)}.")
            else:
                lines.append(f"{what} is allowed in no state{seen}.")
            if self.refused:
                lines.append(f"It is refused: {_listed(self.refused)}.")
        lines += [f"It would be taken {setting}." for setting in self.settings]
        return without_controls("\n".join(lines))


def explain_line(
    line: str, vocabulary: Vocabulary, constraint: Constraint | None = None,
    before: Sequence[int] | None = None, *, server: str = "", budget: Budget | None = None,
) -> ScheduledTokens:  # fmt: skip
    """Explain the tokens of a scheduler's line, and where the constraint accepts them.

    Args:
        line: ``Failed to advance FSM for request … for tokens 271``, ``Tokens not accepted: …``
            with the lines after it, and their like (`explorer.servers.lines`).
        constraint: The constraint of the request; default the one that the line names.
        before: The ids that the grammar accepted before, if they are known; default those of the
            line.
        server: The server that wrote it, for the settings that are named; default that of the line.

    Raises:
        ExplorerError: The line names no tokens, an id is outside of the vocabulary, the ids before
            are refused themselves, or there is no constraint.
    """
    instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
    read = read_line(line, vocabulary)
    if constraint is None and read.key:
        constraint = _of_key(read.key, read.form.engine)
    constraint = instance(
        "constraint", constraint, Constraint, "a constraint",
        remedy="Give --json-schema, --structural-tag, --regex, --grammar or --request.",
    )  # fmt: skip
    before = read.before if before is None else before
    for token in (*read.ids, *(before or ())):
        if not 0 <= token < len(vocabulary):
            raise ExplorerError(
                f"{token} is not an id of this vocabulary of {len(vocabulary):,}.",
                remedy="A negative id stands for a token that was not drawn yet: ask about the "
                "others." if token < 0 else
                "Give the tokenizer of the model that the server ran: --tokenizer PATH.",
            )  # fmt: skip
    server = server or read.form.server
    texts = tuple(_shown(token, vocabulary) for token in read.ids)
    remarks = (*filter(None, [read.form.note]), *_remarks(read.ids, vocabulary))
    known = ScheduledTokens(read.request, read.ids, texts, remarks=remarks)
    if before is not None:
        return _behind(known, vocabulary, constraint, tuple(before), server, budget)
    states = _TextsOfStates(constraint, budget)
    ids = read.ids
    if ids[0] in vocabulary.eos_ids:
        allowed, refused = states.where(None)
        return replace(known, allowed=allowed, refused=refused, whole=states.whole)
    pieces = [_written(token, vocabulary) for token in ids if token not in vocabulary.eos_ids]
    data = b"".join(pieces) if all(pieces) else b""
    allowed, refused = states.where(data) if data else ((), ())
    others = (
        (name, other) for name, other in _settings(constraint, ids, vocabulary, server)
        if data and _TextsOfStates(other, budget).where(data)[0]
    )  # fmt: skip
    settings = () if allowed else tuple(name for name, _ in others)
    return replace(known, allowed=allowed, refused=refused, settings=settings, whole=states.whole)


def _of_key(key: str, engine: str) -> Constraint:
    """The constraint that SGLang keeps under a key: any JSON, a schema, a grammar or a pattern."""
    if key == "$$ANY$$" or parsed(key) is not None:
        schema = '{"type": "object"}' if key == "$$ANY$$" else key
        return as_engine(json_schema(schema, whitespace="flexible", strict=False), engine)
    return grammar(key, "gbnf") if "::=" in key else regex(key)


def requested_by(
    path: str | os.PathLike[str], vocabulary: Vocabulary, engine: str | None = None
) -> tuple[Constraint | None, str]:
    """The constraint of a request in a file, and the server that it was sent to, if that shows.

    Args:
        path: The request as JSON, or a log whose request counts.
        engine: The engine that reads its schema; default the server's.

    Raises:
        DamagedFile: It is not JSON, or names a constraint that does not fit.
    """
    where = file_path("request", path)
    with file_errors(where):
        data = where.read_bytes()
    try:
        whole: object = parse_json(data, constant=float)
    except ValueError as error:
        raise LogPlace(where.name, "", str(error)).wrong("JSON") from error
    log = ServerLog.of(LogPlace(where.name, "", {"response": {}, "request": whole}))
    if log.request.has("request"):
        log = ServerLog.of(
            LogPlace(where.name, "", {"response": {}, **cast("dict[str, object]", whole)})
        )
    server = server_of(log)
    requested = requested_of(log.request, server)
    if requested is None:
        return None, server
    if engine is not None:
        requested = replace(requested, engine=engine_name(engine))
    return requested.constraint(MOST_FREE_DEPTH, vocabulary), server


def _remarks(ids: Sequence[int], vocabulary: Vocabulary) -> Iterator[str]:
    """Sentences on what some tokens show without any constraint."""
    if ids[0] == 0:
        yield (
            "0 is also what greedy choice gives where every token is masked, since the first of "
            "equal numbers is taken: as with min_tokens, which forbids the end where the "
            "constraint allows nothing else."
        )
    for k, token in enumerate(ids):
        name = vocabulary.special.get(token, "") or (vocabulary.tokens[token] or b"").decode(
            errors="replace"
        )
        mark = next((last for _, last in MARKERS if name.strip() == last), None)
        if mark is not None and len(ids) > 1:
            yield (
                f"The line crosses the end of the reasoning: {mark} (id {token}) is token {k} of "
                "the line, counted from 0. The grammar was in force before it, where the reasoning "
                "is free: it must begin after the mark."
            )


def _behind(
    known: ScheduledTokens, vocabulary: Vocabulary, constraint: Constraint,
    before: tuple[int, ...], server: str, budget: Budget | None,
) -> ScheduledTokens:  # fmt: skip
    machine = compiled(constraint, vocabulary, lazy=True, budget=budget)
    taken, state = _advanced(machine, before)
    if taken < len(before):
        raise ExplorerError(
            f"The constraint refuses token {taken} of those before, "
            f"{_shown(before[taken], vocabulary)}.",
            remedy="Give the ids that the grammar had taken, without the prompt and, where the "
            "server has a reasoning parser, without the reasoning.",
        )
    ahead, last = _advanced(machine, known.ids, state)
    if ahead == len(known.ids):
        return replace(known, taken=True)
    settings = settings_that_take(
        constraint, (*before, *known.ids), len(before) + ahead, vocabulary, server, budget
    )
    data = vocabulary.written((*before, *known.ids[:ahead]))
    why = explain(machine, last, known.ids[ahead], text=data)
    return replace(known, rejected=ahead, explanation=why, settings=settings)


def settings_that_take(
    constraint: Constraint, ids: Sequence[int], refused: int, vocabulary: Vocabulary,
    server: str = "", budget: Budget | None = None,
) -> tuple[str, ...]:  # fmt: skip
    """The settings of a server under which its constraint accepts a token that it refused.

    Args:
        ids: The tokens of the run.
        refused: The number of tokens before that one.
    """
    settings: list[str] = []
    for name, other in _settings(constraint, ids, vocabulary, server):
        try:
            lenient = compiled(other, vocabulary, lazy=True, budget=budget)
        except ExplorerError:
            continue  # The setting does not apply to this constraint.
        if _advanced(lenient, ids[: refused + 1])[0] > refused:
            settings.append(name)
    return tuple(settings)


def _advanced(
    machine: TokenMachine, ids: Sequence[int], start: int | None = None
) -> tuple[int, int]:
    """The number of leading tokens that are accepted, and the state after them."""
    state = machine.start if start is None else start
    for k, token in enumerate(ids):
        after = machine.step(state, token)
        if after is None:
            return k, state
        state = after
    return len(ids), state


class _TextsOfStates:
    """The states of a constraint over bytes, each with a text that leads to it.

    A state that several tools share has a text for each of them.
    """

    def __init__(self, constraint: Constraint, budget: Budget | None) -> None:
        self.constraint = constraint
        self.machine: ByteMachine = constraint.discover(Meter(budget))
        self.tools: dict[bytes, str] = {}
        self.whole = True
        names = constraint.source.names if isinstance(constraint.source, StructuralTag) else ()
        calls = [name[5:].encode() for _, name in names if name.startswith("tool ")]
        start = (self.machine.start, b"")
        self.states: dict[tuple[int, bytes], bytes] = (
            {} if self.machine.start == NO_ARC else {start: b""}
        )
        waiting = list(self.states)
        try:
            for key in waiting:  # The list grows while it is read.
                state, text = key[0], self.states[key]
                for byte in _different(self.machine, state) if len(text) <= MOST_TEXT else ():
                    longer = text + bytes([byte])
                    last = next(filter(longer.endswith, calls), key[1])
                    after = (self.machine.step(state, byte), last)
                    if after not in self.states:
                        self.states[after] = longer
                        waiting.append(after)
                if len(self.states) > MOST_STATES:
                    self.whole = False
                    return
        except BudgetExceeded:
            self.whole = False

    def where(
        self, data: bytes | None
    ) -> tuple[tuple[PlaceOfToken, ...], tuple[PlaceOfToken, ...]]:
        """The places at which some bytes can be read, and the others.

        Args:
            data: The bytes; ``None`` for the end of the text.
        """
        taken: dict[str, PlaceOfToken] = {}
        refused: dict[str, PlaceOfToken] = {}
        for (state, _), text in self.states.items():
            if not _whole_text(text):
                continue
            here = state
            for byte in data or b"":
                here = self.machine.step(here, byte) if here != NO_ARC else NO_ARC
            fits = here != NO_ARC if data is not None else self.machine.is_accepting(state)
            side = taken if fits else refused
            if len(side) <= MOST_PLACES:
                name = "where the text is complete" if fits and data is None else self._name(text)
                example = shown_bytes(text[-40:]).replace("\n", "\\n")
                side.setdefault(name, PlaceOfToken(name, example))
        others = tuple(each for name, each in refused.items() if name not in taken)
        return tuple(taken.values())[:MOST_PLACES], others[:MOST_PLACES]

    def _name(self, text: bytes) -> str:
        if isinstance(self.constraint.source, JsonSchema | EngineSchema):
            return _json_place(text)
        unseen = [text[:end] for end in range(len(text) + 1) if text[:end] not in self.tools]
        for part in unseen:  # Places inside a schema have no phase: the markup before says it.
            places = self._places(part)
            tools = _tools(places)
            inherits = not tools and any(place.label for place in places)
            inside = self.tools.get(part[:-1], "") if inherits else ""
            self.tools[part] = tools[0] if len(tools) == 1 else inside
        places = self._places(text)
        tools = _tools(places)
        if len(tools) > 1:
            return "in the name of a tool"
        names = [_place_of(place, self.tools[text], bool(tools)) for place in places]
        return " or ".join(dict.fromkeys(names[:2])) or "at the end"

    def _places(self, text: bytes) -> tuple[SourcePlace, ...]:
        try:
            return tuple(live_places(self.constraint.source, text))
        except ExplorerError:
            return ()


def _tools(places: Sequence[SourcePlace]) -> list[str]:
    """The tools whose markup some places are in."""
    phases = {place.phases[-1] for place in places if place.phases}
    return sorted(name[5:] for name in phases if name.startswith("tool "))


def _place_of(place: SourcePlace, tool: str, markup: bool) -> str:
    """The name of a place in a source: its phase, and the part of it.

    Args:
        tool: The tool whose call it is in; empty outside of calls.
        markup: Whether it is in the markup of the call.
    """
    label = place.label or ""
    if tool:
        argument = re.match(r"/properties/([^/]+)", label)
        if argument is not None:
            return f"in the argument {argument[1]} of {tool}"
        return f"in the {'markup' if markup and not label else 'arguments'} of {tool}"
    if place.phases:
        return f"in the phase {place.phases[-1]}, {label or 'in free text'}"
    if label or place.text.lstrip().startswith('"'):
        return label or "outside of calls"
    return f"at {place.text[:30]}" if place.text.strip() else "in free text"


def _json_place(text: bytes) -> str:
    """The place at which a JSON text stops, in words."""
    spot = spot_of(text)
    names = [str(step) for _, step in spot.steps]
    if "" in names:  # The shortest name of a member that the schema does not list.
        return "in a value that the schema does not describe"
    way = "".join(f"/{step}" for step in names)
    at = f" at {way}" if way else ""
    if spot.value.startswith(b'"') and not spot.is_finished:
        return f"inside the string{at}"
    if spot.value and not spot.is_finished:
        return f"inside a number or a word{at}"
    if spot.outline is not None and spot.outline.rpartition(b",")[2].count(b'"') % 2:
        return f"inside a name{at}"
    return f"between the tokens of JSON{at}"


def _different(machine: ByteMachine, state: int) -> Iterator[int]:
    """One byte of each readable class, with letters first."""
    seen: set[int] = set()
    for byte in sorted(machine.expected(state), key=lambda byte: (not 97 <= byte <= 122, byte)):
        kind = int(machine.symbol_class[byte])
        if kind not in seen:
            seen.add(kind)
            yield byte


def _forbidding(server: str) -> str:
    row = SERVERS[server or ASSUMED]
    if row.title in row.whitespace:
        return row.whitespace
    return f"What forbids it in {row.title}: {row.whitespace}"


def _settings(
    constraint: Constraint, ids: Sequence[int], vocabulary: Vocabulary, server: str = ""
) -> Iterator[tuple[str, Constraint]]:
    """The settings of a server that allow more, each with the constraint under it."""
    source = constraint.source
    if isinstance(source, JsonSchema) and source.options.whitespace != "flexible":
        options = replace(source.options, whitespace="flexible", whitespace_pattern=None)
        yield (
            f"if white space were allowed there. {_forbidding(server)}",
            Constraint(replace(source, options=options)),
        )
    if isinstance(source, EngineSchema) and source.compact:
        yield (
            f"if white space were allowed there. {_forbidding(server)}",
            Constraint(replace(source, compact=False)),
        )
    known = [token for token in ids if 0 <= token < len(vocabulary)]
    shown = b"".join(names_shown(known, vocabulary))
    for _, end in MARKERS:
        if end.encode() in shown:
            yield (
                f"with a reasoning parser whose reasoning ends with {end}, so that the constraint "
                f"begins after it ({SERVERS[server or ASSUMED].reasoning})",
                after_reasoning(constraint, end, vocabulary),
            )


def _written(token: int, vocabulary: Vocabulary) -> bytes:
    """The symbols of a token for a machine: its bytes, or the letter of a control token."""
    return vocabulary.tokens[token] or vocabulary.letters.get(token, b"")


def _shown(token: int, vocabulary: Vocabulary) -> str:
    data = vocabulary.tokens[token]
    if data is not None:
        breaks = data.count(b"\n")
        if breaks and not data.strip(b"\n"):
            return counted(breaks, "line break")
        return repr(data.decode(errors="backslashreplace"))
    if token in vocabulary.eos_ids:
        return f"{vocabulary.special.get(token, 'the end')}, the end of the text"
    return f"the control token {vocabulary.special.get(token, '')}".rstrip()


def _whole_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return b"\xf8" in text
    return True


def _listed(places: Sequence[PlaceOfToken]) -> str:
    return "; ".join(
        f"{place.name} (after {place.example})" if place.example else f"{place.name} (at the start)"
        for place in places
    )
