"""A line of a scheduler's log: tokens that a server's grammar refused.

``Failed to advance FSM for request … for tokens 271`` gives no more than an id. With the tokenizer
and the request's constraint the text of the token is known; with the text before it, also the
refused token and the reason. Without the text before it, all states of the constraint are searched
for those in which the token is allowed (`explorer.servers.places`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from explorer.alphabet import without_controls
from explorer.analysis.explaining.explanation import Explanation, History, explain
from explorer.arguments import counted, file_path, instance, whole_text
from explorer.budget import Budget
from explorer.errors import ExplorerError
from explorer.files import file_errors
from explorer.languages.constraint import Constraint, regex
from explorer.languages.engines.reading import as_engine, engine_name
from explorer.languages.engines.source import EngineSchema
from explorer.languages.grammar.functions import grammar
from explorer.languages.schema.source import JsonSchema, json_schema
from explorer.servers.causes import in_words
from explorer.servers.following import IdentifiedRun, RunReading, bytes_of, follow_run
from explorer.servers.log import LogPlace, ServerLog, parsed
from explorer.servers.phases import after_reasoning
from explorer.servers.places import MOST_STATES, PlaceOfToken, TextsOfStates
from explorer.servers.reasoning import MARKERS
from explorer.servers.request import MOST_FREE_DEPTH, requested_of
from explorer.servers.settings import server_of, setting
from explorer.servers.tables import sentence, table
from explorer.tokens.compile import compile as compiled
from explorer.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class LineForm:
    """A form of such lines.

    Args:
        form: A regular expression. Its groups are ``ids``; ``piece`` or ``quoted``, the text of a
            token, plain or as Rust shows it; ``before``, the tokens accepted before it; and
            ``key``, the text of the constraint.
        server, engine: The server and the engine that write it; empty where several do.
        note: What such a line says besides, as sentences.
    """

    form: str
    server: str = ""
    engine: str = ""
    note: str = ""


FORMS: Final = table("lines", tuple[LineForm, ...])
"""The forms of such lines, the more special ones first."""

_REQUEST: Final = re.compile(
    r"(?:request|req)[ =:]+(?:id[ =:]+)?(?P<request>[\w./-]+)", re.IGNORECASE
)
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


@dataclass(frozen=True, slots=True)
class ReadLine:
    """The content of a line.

    Args:
        request: The name of the request; empty without one.
        ids: The tokens that were refused.
        before: The tokens that were accepted before them; ``None`` where the line does not say.
        key: The constraint of the request as SGLang keeps it: a schema, ``$$ANY$$`` for any JSON,
            a grammar or a pattern; empty where the line has none.
        form: The form of the line.
    """

    request: str
    ids: tuple[int, ...]
    before: tuple[int, ...] | None = None
    key: str = ""
    form: LineForm = field(default=LineForm(""))


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
            lines.append(f"{what} is allowed{seen}: {where}." if where else
                         f"{what} is allowed in no state{seen}.")  # fmt: skip
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
            with the lines after it, and their like (`FORMS`).
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
    before, ids = read.before if before is None else before, read.ids
    for token in (*ids, *(before or ())):
        if not 0 <= token < len(vocabulary):
            raise ExplorerError(
                f"{token} is not an id of this vocabulary of {len(vocabulary):,}.",
                remedy="Give the tokenizer of the model that the server ran: --tokenizer PATH. A "
                "negative id stands for a token that was not drawn yet: ask about the others.",
            )
    server = server or read.form.server
    texts = tuple(_shown(token, vocabulary) for token in ids)
    remarks = (*filter(None, [read.form.note]), *_remarks(ids, vocabulary))
    known = ScheduledTokens(read.request, ids, texts, remarks=remarks)
    if before is not None:
        return _after(known, vocabulary, constraint, tuple(before), server, budget)
    states = TextsOfStates(constraint, budget)
    if ids[0] in vocabulary.eos_ids:
        allowed, refused = states.where(None)
        return replace(known, allowed=allowed, refused=refused, whole=states.whole)
    data = vocabulary.written(token for token in ids if token not in vocabulary.eos_ids)
    allowed, refused = states.where(data) if data else ((), ())
    wider = _settings(constraint, ids, vocabulary, server) if data and not allowed else ()
    settings = tuple(name for name, other in wider if TextsOfStates(other, budget).where(data)[0])
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
    whole = LogPlace(where.name, "", parsed(data))
    envelope = whole.mapping() if whole.has("request") else {"request": whole.mapping()}
    log = ServerLog.of(replace(whole, value={**envelope, "response": {}}))
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
    history, data = History(read.states, read.ids), vocabulary.written(read.ids)
    why = explain(machine, read.states[-1], read.masked, text=data, history=history, budget=budget)
    settings, rejected = settings_that_take(constraint, read, server, budget), len(read.ids)
    return replace(known, rejected=rejected - len(before), explanation=why, settings=settings)


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
        try:
            lenient = compiled(other, vocabulary, lazy=True, budget=budget)
        except ExplorerError:
            continue  # The setting does not apply to this constraint.
        known = IdentifiedRun(ids[: len(read.ids) + 1])
        if follow_run(known, lenient, budget).masked is None:
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
        yield said, after_reasoning(constraint, end, vocabulary)


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


def read_line(line: str, vocabulary: Vocabulary | None = None) -> ReadLine:
    """The tokens of a line, and what it says of the request.

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
    request = _REQUEST.search(line)
    named = request["request"].rstrip(".") if request else ""
    for form in FORMS:
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
            return ReadLine(named, ids, accepted, (groups.get("key") or "").strip(), form)
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
