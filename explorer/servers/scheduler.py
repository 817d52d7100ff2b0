"""A line of a scheduler's log: tokens that a server's grammar refused.

``Failed to advance FSM for request … for tokens 271`` gives no more than an id. With the tokenizer
and the request's constraint the text of the token is known; with the text before it, also the
refused token and the reason. Without the text before it, all states of the constraint's machine are
searched for those in which the token is allowed, each with a text that leads to it, and
grouped by the name of the place where that text stops: "in the argument city of get_weather".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from explorer.alphabet import without_controls
from explorer.analysis.explaining.explanation import Explanation
from explorer.analysis.places.spans import SourcePlace, live_places, state_after
from explorer.arguments import counted, file_path, instance, whole_text
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.files import file_errors
from explorer.languages.constraint import Constraint, literal
from explorer.languages.engines.reading import engine_name
from explorer.languages.engines.source import EngineSchema
from explorer.languages.phases.functions import any_text, control_names, phase
from explorer.languages.phases.functions import token as control_token
from explorer.languages.phases.structural import StructuralTag
from explorer.languages.schema.reading.text import spot_of
from explorer.languages.schema.source import JsonSchema
from explorer.servers.causes import in_words
from explorer.servers.following import IdentifiedRun, RunReading, bytes_of, follow_run
from explorer.servers.log import LogPlace, ServerLog, parsed
from explorer.servers.request import RequestedConstraint, requested_of
from explorer.servers.run import MARKERS
from explorer.servers.tables import sentence, server_of, setting, table
from explorer.tokens.compile import compile as compiled
from explorer.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class LineForm:
    """A form of such lines, and the content of a line of this form.

    Args:
        form: A regular expression. Its groups are ``ids``; ``piece`` or ``quoted``, the text of a
            token, plain or as Rust shows it; ``before``, the tokens accepted before it; and
            ``key``, the text of the constraint.
        server, engine: The server and the engine that write it; empty where several do.
        note: What such a line says besides, as sentences.
        ids: The tokens that were refused.
        before: The tokens that were accepted before them; ``None`` where the line does not say.
        requested: The constraint of the request; ``None`` where the line has none.
    """

    form: str
    server: str = ""
    engine: str = ""
    note: str = ""
    ids: tuple[int, ...] = ()
    before: tuple[int, ...] | None = None
    requested: RequestedConstraint | None = None


# The forms of such lines, the more special ones first.
_FORMS: Final = table("lines", tuple[LineForm, ...])

_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


MOST_STATES: Final = 4_000
MOST_TEXT: Final = 400
MOST_PLACES: Final = 6


@dataclass(frozen=True)
class PlaceOfToken:
    """A place of the constraint, and an example of the text that leads to it."""

    name: str
    example: str

    def __str__(self) -> str:
        return f"{self.name} ({f'after {self.example}' if self.example else 'at the start'})"


@dataclass(frozen=True)
class ScheduledTokens:
    """The explanation of a line; it prints as a paragraph.

    Args:
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
        tokens = zip(self.ids, self.texts, strict=True)
        lines = [", ".join(f"{token} is {text}" for token, text in tokens) + ".", *self.remarks]
        if self.explanation is not None and self.rejected is not None:
            lines.append(f"Token {self.rejected} of the line is the first that is refused.")
            lines.append(in_words(self.explanation))
        elif self.taken:
            lines.append("The constraint takes them there.")
        else:
            what = str(self.ids[0]) if len(self.ids) == 1 else "The line"
            seen = "" if self.whole else f" (of the first {MOST_STATES:,} states)"
            where = "; ".join(map(str, self.allowed))
            where = f"{seen}: {where}" if where else f" in no state{seen}"
            lines.append(f"{what} is allowed{where}.")
            if self.refused:
                lines.append(f"It is refused: {'; '.join(map(str, self.refused))}.")
        lines += [f"It would be taken {each}." for each in self.settings]
        return without_controls("\n".join(lines))


def explain_line(
    line: str, vocabulary: Vocabulary, constraint: Constraint | None = None,
    before: Sequence[int] | None = None, *, server: str = "", budget: Budget | None = None,
) -> ScheduledTokens:  # fmt: skip
    """Explain the tokens of a scheduler's line, and where the constraint accepts them.

    Args:
        line: ``Failed to advance FSM for request … for tokens 271``, ``Tokens not accepted: …``
            with the lines after it, and their like (`_FORMS`).
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
    if constraint is None and read.requested is not None:
        constraint = read.requested.constraint(vocabulary)
    constraint = instance(
        "constraint", constraint, Constraint, "a constraint",
        remedy="Give --json-schema, --structural-tag, --regex, --grammar or --request.",
    )  # fmt: skip
    before, ids = read.before if before is None else before, read.ids
    for token in (*ids, *(before or ())):
        if not 0 <= token < len(vocabulary):
            raise ExplorerError(
                f"{token} is not an id of this vocabulary of {len(vocabulary):,}.",
                remedy="Give the tokenizer of the model that the server ran: --tokenizer PATH. A "
                "negative id stands for a token that was not drawn yet: ask about the others.",
            )
    server = server or read.server
    remarks = (*filter(None, [read.note]), *_remarks(ids, vocabulary))
    known = ScheduledTokens(ids, tuple(_shown(token, vocabulary) for token in ids), remarks=remarks)
    if before is not None:
        return _after(known, vocabulary, constraint, tuple(before), server, budget)
    states = TextsOfStates(constraint, budget)
    data = vocabulary.written(token for token in ids if token not in vocabulary.eos_ids)
    data = None if ids[0] in vocabulary.eos_ids else data
    allowed, refused = ((), ()) if data == b"" else states.where(data)
    wider = _settings(constraint, ids, vocabulary, server) if data and not allowed else ()
    settings = tuple(name for name, other in wider if TextsOfStates(other, budget).where(data)[0])
    return replace(known, allowed=allowed, refused=refused, settings=settings, whole=states.whole)


def _of_key(key: str, engine: str) -> RequestedConstraint | None:
    """The constraint that SGLang keeps under a key: any JSON, a schema, a grammar or a pattern."""
    kind = "grammar" if "::=" in key else "regex"
    kind = "json_object" if key == "$$ANY$$" else "json" if parsed(key) is not None else kind
    place = LogPlace("the line", "Key string", key)
    return RequestedConstraint(place, kind, engine=engine) if key else None


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
    whole = LogPlace(where.name, "", parsed(data))
    envelope = whole.mapping() if whole.find("request") else {"request": whole.mapping()}
    log = ServerLog.of(replace(whole, value={**envelope, "response": {}}))
    server = server_of(log)
    requested = requested_of(log.request, server)
    if requested is None:
        return None, server
    if engine is not None:
        requested = replace(requested, engine=engine_name(engine))
    return requested.constraint(vocabulary), server


def _remarks(ids: Sequence[int], vocabulary: Vocabulary) -> Iterator[str]:
    """Sentences on what some tokens show without any constraint."""
    if ids[0] == 0:
        yield sentence("first_id")
    for k, token in enumerate(ids):
        name = bytes_of([token], vocabulary, names=True).decode(errors="replace").strip()
        if len(ids) > 1 and any(name == last for _, last in MARKERS):
            yield sentence("crossed", mark=name, token=token, k=k)


def _after(
    known: ScheduledTokens, vocabulary: Vocabulary, constraint: Constraint,
    before: tuple[int, ...], server: str, budget: Budget | None,
) -> ScheduledTokens:  # fmt: skip
    """The explanation where the ids before the line are known."""
    machine = compiled(constraint, vocabulary, lazy=True, budget=budget)
    read = follow_run(IdentifiedRun((*before, *known.ids)), machine, budget)
    if read.masked is None:
        return replace(known, taken=True)
    if len(read.ids) < len(before):
        raise ExplorerError(
            f"The constraint refuses token {len(read.ids)} of those before, "
            f"{_shown(read.masked, vocabulary)}.",
            remedy="Give the ids that the grammar had taken, without the prompt and, where the "
            "server has a reasoning parser, without the reasoning.",
        )
    why, rejected = read.why(read.masked, budget), len(read.ids) - len(before)
    settings = settings_that_take(constraint, read, server, budget)
    return replace(known, rejected=rejected, explanation=why, settings=settings)


def settings_that_take(
    constraint: Constraint, read: RunReading, server: str = "", budget: Budget | None = None
) -> tuple[str, ...]:
    """The settings of a server under which its constraint accepts a token that it refused.

    Args:
        read: The run, up to that token.
    """
    settings: list[str] = []
    ids, vocabulary = (*read.ids, *read.rest), read.machine.vocabulary
    for name, other in _settings(constraint, ids, vocabulary, server):
        with suppress(ExplorerError):  # The setting does not apply to this constraint.
            text = vocabulary.written(ids[: len(read.ids) + 1])
            if state_after(other.discover(Meter(budget)), text) != NO_ARC:
                settings.append(name)
    return tuple(settings)


def _settings(
    constraint: Constraint, ids: Sequence[int], vocabulary: Vocabulary, server: str
) -> Iterator[tuple[str, Constraint]]:
    """The settings of a server that allow more, each with the constraint under it."""
    source = wider = constraint.source
    if isinstance(source, JsonSchema):
        options = replace(source.options, whitespace="flexible", whitespace_pattern=None)
        wider = replace(source, options=options)
    elif isinstance(source, EngineSchema):
        wider = replace(source, compact=False)
    if wider != source:
        said = f"if white space were allowed there. {setting(server, 'whitespace')}"
        yield said, Constraint(wider)
    shown = bytes_of(ids, vocabulary, names=True)
    for end in (last for _, last in MARKERS if last.encode() in shown):
        said = sentence("begins_after", mark=end, reasoning=setting(server, "reasoning"))
        yield said, _after_reasoning(constraint, end, vocabulary)


def _after_reasoning(constraint: Constraint, end: str, vocabulary: Vocabulary) -> Constraint:
    """A constraint after reasoning up to a mark.

    Args:
        end: The mark: a control token if the vocabulary has one of that name.
    """
    closing = control_token(end) if end in control_names(vocabulary) else literal(end)
    thought = phase("reasoning", any_text(excluding=[end]) + closing)
    return thought + phase("answer", constraint)


def _shown(token: int, vocabulary: Vocabulary) -> str:
    data, name = vocabulary.tokens[token], vocabulary.special.get(token, "")
    if data is None and token in vocabulary.eos_ids:
        return f"{name or 'the end'}, the end of the text"
    if data is None:
        return f"the control token {name}".rstrip()
    only_breaks = not data.strip(b"\n")
    shown_data = repr(data.decode(errors="backslashreplace"))
    return counted(len(data), "line break") if only_breaks else shown_data


def read_line(line: str, vocabulary: Vocabulary | None = None) -> LineForm:
    """The tokens of a line, and the rest of what it says.

    Args:
        vocabulary: Finds the token of a line that names only its text.

    Raises:
        ExplorerError: The line names no tokens.

    Example:
        >>> read_line("Failed to advance FSM for request chat-7 for tokens 271. Please ...").ids
        (271,)
        >>> read_line("Tokens not accepted: 5\\nAccepted tokens: [1, 2]").before
        (1, 2)
    """
    line = whole_text("line", line)
    for form in _FORMS:
        match = re.search(form.form, line, re.IGNORECASE | re.DOTALL)
        if match is None:
            continue
        groups = match.groupdict()
        ids = _numbers(groups.get("ids") or "")
        piece = groups.get("piece") or _unquoted(groups.get("quoted") or "")
        if not ids and piece and vocabulary is not None:
            ids = _of_piece(piece, vocabulary)
        if ids:
            before = groups.get("before")
            accepted = None if before is None else _numbers(before)
            key = _of_key((groups.get("key") or "").strip(), form.engine)
            return replace(form, ids=ids, before=accepted, requested=key)
    raise ExplorerError(
        "The line names no tokens of this vocabulary.",
        remedy="Paste it whole, such as: Failed to advance FSM for request r for tokens 271",
    )


def _unquoted(text: str) -> str:
    """A token's text from the form in which Rust shows it, in quotes and with escapes."""
    if not text.startswith('"'):
        return text.strip("\u27e6\u27e7")
    return _ESCAPE.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPED.get(match[2], match[2]),
        text[1:-1],
    )


def _of_piece(piece: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """The token with a text. Before a control token llguidance writes a byte outside of UTF-8."""
    bare = piece.lstrip("\u00ff\ufffd")
    if bare != piece and (number := re.fullmatch(r"\[(\d+)\]", bare)):
        return (int(number[1]),)
    named = tuple(token for token, name in vocabulary.special.items() if name == bare)
    return (named or vocabulary.ids_of(bare.encode()))[:1]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"-?\d+", text))


# --- the places of a token ----------------------------------------------------------------------


class TextsOfStates:
    """The states of a constraint over bytes, each with a text that leads to it.

    A state that several tools share has a text for each of them.
    """

    def __init__(self, constraint: Constraint, budget: Budget | None) -> None:
        self.source = constraint.source
        self.machine: ByteMachine = constraint.discover(Meter(budget))
        self.whole = False
        names = self.source.names if isinstance(self.source, StructuralTag) else ()
        tools = [name[5:].encode() for _, name in names if name.startswith("tool ")]
        self.states: dict[tuple[int, bytes], bytes] = {(self.machine.start, b""): b""}
        waiting = list(self.states) if self.machine.start != NO_ARC else []
        with suppress(BudgetExceeded):
            for state, tool in waiting:  # The list grows while it is read.
                text = self.states[state, tool]
                for byte in _different(self.machine, state) if len(text) <= MOST_TEXT else ():
                    longer = text + bytes([byte])
                    last = next(filter(longer.endswith, tools), tool)
                    after = (self.machine.step(state, byte), last)
                    if self.states.setdefault(after, longer) is longer:
                        waiting.append(after)
                if len(self.states) > MOST_STATES:
                    return
            self.whole = True

    def where(
        self, data: bytes | None
    ) -> tuple[tuple[PlaceOfToken, ...], tuple[PlaceOfToken, ...]]:
        """The places at which some bytes can be read, and the others.

        Args:
            data: The bytes; ``None`` for the end of the text.
        """
        sides: dict[bool, dict[str, PlaceOfToken]] = {True: {}, False: {}}
        for (state, tool), text in self.states.items():
            here = state
            for byte in data or b"":
                here = self.machine.step(here, byte) if here != NO_ARC else NO_ARC
            if data is None and here != NO_ARC and not self.machine.is_accepting(state):
                here = NO_ARC
            side = sides[here != NO_ARC]
            if _is_text(text) and len(side) <= MOST_PLACES:
                at_end = data is None and here != NO_ARC
                name = "where the text is complete" if at_end else self._name(text, tool.decode())
                example = text[-40:].decode(errors="replace").replace("\n", "\\n")
                side.setdefault(name, PlaceOfToken(name, example))
        taken, refused = sides[True], sides[False]
        others = tuple(place for name, place in refused.items() if name not in taken)
        return tuple(taken.values())[:MOST_PLACES], others[:MOST_PLACES]

    def _name(self, text: bytes, tool: str) -> str:
        """The name of the place at which a text stops.

        Args:
            tool: The tool whose name came last in the text.
        """
        if isinstance(self.source, JsonSchema | EngineSchema):
            return _json_place(text)
        try:
            places = live_places(self.source, text)
        except ExplorerError:
            return "at the end"
        phases = {place.phases[-1] for place in places if place.phases}
        called = sorted(name[5:] for name in phases if name.startswith("tool "))
        if len(called) > 1:
            return "in the name of a tool"
        # Places inside a schema have no phase: the name in the markup before says which tool it is.
        inside = tool if any(place.label and not place.phases for place in places) else ""
        names = [_place_of(place, "".join(called) or inside, bool(called)) for place in places]
        return " or ".join(dict.fromkeys(names[:2])) or "at the end"


def _is_text(data: bytes) -> bool:
    """Whether some bytes are whole characters, or hold a control token."""
    return b"\xf8" in data or "\ufffd" not in data.decode(errors="replace")


def _different(machine: ByteMachine, state: int) -> Iterator[int]:
    """One byte of each readable class, with letters first."""
    ordered = sorted(machine.expected(state), key=lambda byte: (not 97 <= byte <= 122, byte))
    firsts = {int(machine.symbol_class[byte]): byte for byte in reversed(ordered)}
    return filter(set(firsts.values()).__contains__, ordered)


def _place_of(place: SourcePlace, tool: str, markup: bool) -> str:
    """The name of a place in a source: its phase, and the part of it.

    Args:
        tool: The tool whose call it is in; empty outside of calls.
        markup: Whether it is in the markup of the call.
    """
    label = place.label or ""
    if tool:
        argument = re.match(r"/properties/([^/]+)", label)
        part = f"argument {argument[1]}" if argument else "arguments"
        return f"in the {'markup' if markup and not label else part} of {tool}"
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
    at = " at " + "".join(f"/{step}" for step in names) if names else ""
    if spot.value.startswith(b'"') and not spot.is_finished:
        return f"inside the string{at}"
    if spot.value and not spot.is_finished:
        return f"inside a number or a word{at}"
    if spot.outline is not None and spot.outline.rpartition(b",")[2].count(b'"') % 2:
        return f"inside a name{at}"
    return f"between the tokens of JSON{at}"
