"""The verdict of a constraint on a run: the first token that it would have masked, or its end.

There are four outcomes. A token is *masked*: the server wrote something that the constraint does
not allow. The token is named if the log names the tokens, or only one could stand there; for a
text, the first byte that no tokens write. The run *ended early*: the server stopped where the
constraint does not let a text end. It was *cut*: the limit on tokens, or something outside the
constraint, stopped it before it could end. Or it is *whole*.

Nothing here needs torch: the session that shows a run is made on first use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, cast

from explorer.alphabet import without_controls
from explorer.analysis.explaining.explanation import Explanation, TextExplanation, explain_text
from explorer.analysis.traps.loops import run_loops
from explorer.analysis.traps.trap import Trap
from explorer.arguments import counted, instance, shown
from explorer.automata.tree.nodes import Loop
from explorer.budget import Budget, Meter
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.engines.reading import TITLES, engine_name, engine_vocabulary, remarks_of
from explorer.languages.schema.diagnosis.remedies import LOOP_REMEDIES
from explorer.languages.schema.source import JsonSchema
from explorer.servers.causes import (
    causes_of,
    in_words,
    misfits,
    read_by,
    sentence_on,
    where_it_went,
)
from explorer.servers.following import IdentifiedRun, RunReading, follow_run, identify
from explorer.servers.request import HAS_SCHEMA, IS_JSON, TGI_BLANK, RequestedConstraint
from explorer.servers.run import ENDINGS, ServerRun, with_ends
from explorer.servers.scheduler import settings_that_take
from explorer.servers.tables import setting
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from explorer.analysis.session import Session

RunOutcome = Literal["masked", "ended early", "cut", "whole"]
"""The relation of a run to its constraint."""

_Why = Explanation | TextExplanation | None

_NUMBER: Final = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_BETWEEN_VALUES: Final = b' \t\r\n,:{}[]"'

# The number of last characters of a long text that are shown.
_TAIL: Final = 48


@dataclass(frozen=True)
class RunVerdict:
    """The verdict on a run; it prints as a paragraph.

    Args:
        run: The run.
        reading: The run under its constraint.
        outcome: One of the four outcomes.
        explanation: The reason for the first masked token or byte, or for the missing end of the
            text; ``None`` for a run without a fault, and where no token could have written the
            text.
        sentence: The outcome in words.
        notes: Remarks for the reader: how ids were found, parts of the request that are not
            followed.
        loops: The loop in which the run stopped, if there is one.
    """

    run: ServerRun
    reading: RunReading = field(repr=False)
    outcome: RunOutcome
    explanation: Explanation | TextExplanation | None
    sentence: str
    notes: tuple[str, ...]
    loops: tuple[Trap, ...] = ()

    @cached_property
    def session(self) -> Session:
        """The run as a session, at the end of its allowed part; the explorer opens it.

        For a text without tokens it has one tokenization.
        """
        from explorer.analysis.session import Session

        read, vocabulary = self.reading, self.reading.machine.vocabulary
        ids, log_probs = (*read.ids, *read.rest), read.run.log_probs
        known = log_probs if len(log_probs) == len(ids) else None
        return Session.from_ids(vocabulary, read.machine, ids, known, self.run.prompt)

    @property
    def allowed(self) -> bool:
        """Whether the constraint allows everything that was written."""
        return self.outcome in ("cut", "whole")

    @property
    def token(self) -> int | None:
        """The masked id, if it is certain; else ``None``."""
        return self.reading.masked if self.reading.certain else None

    @property
    def index(self) -> int | None:
        """The number of tokens before the masked one, if the log names tokens; else ``None``."""
        return None if self.reading.byte is not None else self.reading.stop

    @property
    def byte(self) -> int | None:
        """The offset of the first byte that is not allowed; ``None`` without one."""
        read, why = self.reading, self.explanation
        if read.byte is not None or read.masked is None:
            return read.byte
        return len(read.data) + ((why and why.byte_offset) or 0)

    def to_dict(self) -> dict[str, object]:
        """The verdict as JSON values."""
        plain = ("outcome", "allowed", "index", "token", "byte", "sentence")
        return {
            "run": self.run.place,
            "format": self.run.format,
            **{name: getattr(self, name) for name in plain},
            "text": self.reading.data.decode(errors="replace"),
            "explanation": None if self.explanation is None else self.explanation.to_dict(),
            "loops": [trap.to_dict() for trap in self.loops],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"{self.run.place} ({self.run.format}): {self.sentence}"]
        if self.explanation is not None:
            lines.append(in_words(self.explanation))
        lines += [f"Loop: {trap.message} {trap.remedy}" for trap in self.loops]
        lines += [f"Note: {note}" for note in self.notes]
        # Texts and names in a log are untrusted, and a terminal would obey control characters.
        return without_controls("\n".join(lines))


def _readings(
    run: ServerRun, vocabulary: Vocabulary, constraint: Constraint | TokenMachine | None,
    engine: str | None, budget: Budget | None,
) -> tuple[RunReading, RunReading | None, RequestedConstraint | None]:  # fmt: skip
    """A run under its constraint as the engine reads it, and as the schema has it.

    The second is ``None`` where both are the same, the third where another constraint was given.
    """
    Meter(budget)  # A budget of a wrong type is reported as such, not as the constraint's fault.
    known = identify(run, vocabulary)
    requested = run.requested
    if constraint is not None or requested is None:
        return _follow(constraint, known, vocabulary, budget), None, None
    if engine is not None:
        blank = None if requested.blank == TGI_BLANK else requested.blank
        requested = replace(requested, engine=engine_name(engine), blank=blank)
    try:
        made = requested.constraint(vocabulary)
    except ExplorerError as error:
        if not requested.engine or "pointer" not in error.evidence:
            raise
        why = error.message.partition("\n")[2]
        note = f"{TITLES[requested.engine]} takes no such schema; it is judged by itself. {why}"
        requested = replace(requested, engine="", notes=(*requested.notes, note))
        made = requested.constraint(vocabulary)
    read = _follow(made, known, vocabulary, budget, requested)
    if requested.kind in IS_JSON and read.masked in vocabulary.special:
        # xgrammar reads the name of a control token as text, so that it may stand inside a string.
        other = engine_vocabulary(vocabulary, requested.engine)
        named = _follow(made, known, other, budget, requested)
        read = named if len(named.ids) > len(read.ids) else read
    plain = replace(requested, engine="", blank=None)
    schema = plain.constraint(vocabulary)
    of_schema = None
    if requested.engine and schema.source != made.source:
        with suppress(ExplorerError):  # Its automaton may be too large where the engine's is not.
            of_schema = _follow(schema, known, vocabulary, budget, plain)
    return read, of_schema, requested


def _follow(
    constraint: Constraint | TokenMachine | None, run: IdentifiedRun, vocabulary: Vocabulary,
    budget: Budget | None, requested: RequestedConstraint | None = None,
) -> RunReading:  # fmt: skip
    try:
        return follow_run(run, Rule.of(constraint, vocabulary, budget).machine, budget)
    except ExplorerError as error:
        if requested is None or "place" in error.evidence:
            raise
        raise requested.unusable(error) from error


def verdict_of(
    run: ServerRun,
    vocabulary: Vocabulary,
    constraint: Constraint | TokenMachine | None = None,
    *,
    engine: str | None = None,
    budget: Budget | None = None,
) -> RunVerdict:
    """Check a run against its constraint.

    Args:
        run: The run.
        vocabulary: The tokens of the model that wrote it.
        constraint: The constraint of the text; default that of the request.
        engine: The engine that reads the request's schema: ``"xgrammar"``, ``"llguidance"``,
            ``"outlines"``, or ``"none"`` for what JSON Schema says; default the server's.
        budget: Limits for compiling it.

    Raises:
        ExplorerError: The run is of another tokenizer, or has no ids and cannot be split; or the
            constraint is not usable, or there is none.
    """
    remedy = "Give a run that read_runs(path) or runs_of(data) has read, such as their first."
    instance("run", run, ServerRun, "a run of a server", remedy=remedy)
    instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
    why_not, remedy = run.failed, "Leave it out: it holds no answer that could be explained."
    if not why_not and constraint is None and run.requested is None:
        why_not = run.elsewhere or "the request asks for no constraint."
        remedy = (
            "Give one: --regex, --json-schema, --grammar or --choice; or keep the request beside "
            "the response."
        )
    if why_not:
        raise ExplorerError(f"{run.place}: {why_not}", remedy=remedy, evidence={"run": run.place})
    vocabulary, ends = with_ends(run, vocabulary)
    read, of_schema, requested = _readings(run, vocabulary, constraint, engine, budget)
    why, loops, is_masked = None, (), False
    if not read.run.ids and not read.run.text and not run.call and not read.complete:
        outcome, sentence = cast("tuple[RunOutcome, str]", where_it_went(run, read.machine))
    else:
        outcome, sentence, why = _outcome(run, read, of_schema, budget)
        is_masked = outcome in ("masked", "ended early")
        has_ended = run.finish in ENDINGS["ended"]
        if outcome in ("masked", "cut") or (outcome == "whole" and not has_ended):
            traps = run_loops(read.machine, read.ids, read.states)
            loops = tuple(_in_requests_words(loop, run, requested) for loop in traps)
    notes = [
        *_differences(run, read, of_schema, requested, budget),
        *misfits(run, masked=is_masked),
        *run.notes, *read.run.notes, *ends,
        *_of_constraint(run, read, of_schema, requested, engine),
    ]  # fmt: skip
    if outcome == "masked":
        sentence = " ".join(filter(None, (sentence, *causes_of(run, read))))
        data, text = read.run.data(vocabulary), (run.text or "").encode()
        if text not in (b"", data) and read.run.text is None and read_by(read.machine, text)[1]:
            notes.append(sentence_on("taken_off", run, returned=_tail(text), written=_tail(data)))
        if read.machine.constraint is not None and read.after[:1].isspace():
            settings = settings_that_take(read.machine.constraint, read, run.server, budget)
            notes += [f"The token would be taken {each}." for each in settings]
    return RunVerdict(run, read, outcome, why, sentence, tuple(dict.fromkeys(notes)), loops)


def _outcome(
    run: ServerRun, read: RunReading, of_schema: RunReading | None, budget: Budget | None
) -> tuple[RunOutcome, str, _Why]:
    """The outcome, its sentence, and its explanation.

    Args:
        of_schema: The same run as the schema itself has it, if the reading is an engine's. Where
            both refuse the same value, the reason is the schema's.
    """
    # Before and after the JSON the schema takes white space that an engine may not.
    space = read.after[:1].isspace() and read.machine.is_final(read.states[-1])
    same = read.before and not space and _refuse_one_value(read, of_schema)
    reason = of_schema if same and of_schema is not None else read
    if read.stop is not None:
        said, why = _masked(read, reason, budget)
        if reason.stop != read.stop:
            what = "token" if reason.byte is None else "byte"
            said += f" The schema itself refuses this value too, at {what} {reason.stop}."
        return "masked", said, why
    text, by_ids = _tail(read.run.data(read.machine.vocabulary)), read.run.text is None
    if read.complete:
        return "whole", f"the constraint allows the whole text, {text}.", None
    after = f"after {counted(len(read.ids), 'token')}, {text}" if by_ids else f"after {text}"
    ends = read.machine.vocabulary.eos_ids
    stopped = _stopped(run, ends)
    if run.finish in ENDINGS["ended"] and ends and not stopped:
        why = reason.why(ends[0], budget)
        why = read.why(ends[0], budget) if why.allowed else why
        said = f"the server stopped ({run.finish!r}) {after}, where the text cannot end."
        return "ended early", said, why
    if run.finish in ENDINGS["failed"]:
        stopped = f"{run.finish!r}: {sentence_on('given_up', run)}"
    how = f"it stopped for {run.finish!r}" if run.finish else "the log does not say why"
    said = f"all that was written is allowed, but the text is not complete ({stopped or how})"
    return "cut", f"{said} {after}.", None


def _refuse_one_value(read: RunReading, of_schema: RunReading | None) -> bool:
    """Whether an engine and the schema refuse one value of a run, such as 3.5 at . and after 5."""
    if of_schema is None or of_schema.stop is None or read.stop is None:
        return of_schema is not None and of_schema.stop == read.stop
    between = of_schema.before.removeprefix(read.before)  # All of it, where another text was read.
    if any(byte in _BETWEEN_VALUES for byte in between):
        return False
    text, at = of_schema.run.data(of_schema.machine.vocabulary), len(read.before)
    number = next(
        (each for each in _NUMBER.finditer(text) if each.start() <= at < each.end()), None
    )
    if number is None or at == of_schema.stop:
        return True
    # The schema may take the number in its usual spelling: 1000.0 for 1e3.
    usual = text[: number.start()] + json.dumps(json.loads(number[0])).encode()
    return read_by(of_schema.machine, usual + text[number.end() :][:1])[0] <= len(usual)


def _masked(read: RunReading, reason: RunReading, budget: Budget | None) -> tuple[str, _Why]:
    """The first masked token or byte, in a sentence, with its explanation."""
    token, text = read.masked, read.run.text or ""
    if read.byte is None:
        after = f"after {counted(len(read.ids), 'token')}, {_tail(read.data)}"
        said = f"token {len(read.ids)} (id {token}) would have been masked, {after}."
        return said, None if reason.masked is None else reason.why(reason.masked, budget)
    before = read.before.decode(errors="ignore")
    after = f"after {_tail(read.before)}" if before else "at its start"
    letter = shown(text[len(before) : len(before) + 1])
    said = f"byte {read.byte} of the text, in {letter}, is not allowed {after}"
    of_text = _text_explained(reason, text.encode())
    if token is None and of_text is None:
        return f"{said}: no token of this vocabulary goes on with it.", None
    if read.certain and token is not None:
        said += f": only the token {token} could stand there, and it would have been masked"
    elif of_text is not None:
        said += ": whichever tokens wrote it, one of them would have been masked"
    if of_text is None and reason.masked is not None:
        return f"{said}.", reason.why(reason.masked, budget)
    return f"{said}.", of_text


def _text_explained(read: RunReading, data: bytes) -> TextExplanation | None:
    """The explanation of the text, if the constraint itself stops reading at this byte."""
    if read.machine.constraint is None:
        return None
    with suppress(ExplorerError):  # Its machine over bytes alone may be too large.
        why = explain_text(read.machine.constraint, data)
        return why if why.stage == "constraint" and why.byte_offset == read.byte else None


def _tail(data: bytes) -> str:
    """The end of a text, in quotes; much white space is only counted."""
    text = data.decode(errors="replace")
    spaces = len(text) - len(text.rstrip())
    if spaces >= _TAIL:
        return f"{_tail(text.rstrip().encode())} and {counted(spaces, 'character')} of white space"
    return repr(text) if len(text) <= _TAIL else f"…{text[-_TAIL:]!r}"


def _stopped(run: ServerRun, ends: tuple[int, ...]) -> str:
    """A clause on the stop string that ended the text or may have; empty without one."""
    stops = [stop for stop in run.stops if stop not in ends]
    if run.finish not in ENDINGS["stopped"] or (not stops and run.finish in ENDINGS["ended"]):
        return ""
    named = [
        f"the stop {'string' if isinstance(stop, str) else 'id'} {shown(stop)}" for stop in stops
    ]
    if run.stop_named or not named:
        return f"{', '.join(named[:1]) or 'a stop string'} ended it"
    listed = ", ".join(named[:4]) + ", ..." * (len(named) > 4)
    return f"the request has {listed}, which servers take off the text and which may have ended it"


def _of_constraint(
    run: ServerRun, read: RunReading, of_schema: RunReading | None,
    requested: RequestedConstraint | None, engine: str | None,
) -> Iterator[str]:  # fmt: skip
    """Sentences on how the constraint was read, and on what decided besides it."""
    title = TITLES[requested.engine if requested else ""]
    if requested is not None:
        yield from requested.notes
        constraint = read.machine.constraint
        undrawn = constraint is not None and isinstance(constraint.source, JsonSchema)
        if title and requested.kind == "json" and undrawn:
            yield sentence_on("not_drawn", run, title=title)
        elif title and requested.kind in HAS_SCHEMA and not run.server and engine is None:
            yield sentence_on("no_server", run, title=title)
    for each in filter(None, (read, of_schema)):
        yield from each.machine.report.warnings
    if read.unspelled is not None:
        yield sentence_on("unspelled", run, byte=read.unspelled)


def _differences(
    run: ServerRun, read: RunReading, of_schema: RunReading | None,
    requested: RequestedConstraint | None, budget: Budget | None,
) -> Iterator[str]:  # fmt: skip
    """The difference of an engine's reading and the schema itself on a run, as a sentence."""
    if of_schema is None or requested is None:
        return
    here, there = read.stop, of_schema.stop
    if _refuse_one_value(read, of_schema) and read.complete == of_schema.complete:
        return
    title, whose = TITLES[requested.engine], "schema" if requested.kind in IS_JSON else "request"
    ahead = there is not None and (here is None or there < here)
    unit = "token" if of_schema.byte is None else "byte"
    where, after = (of_schema, b"x") if ahead else (read, read.after[:1] or b"x")
    white = here is not None and not ahead and after in b" \t\r\n"
    remarks = remarks_of(read.machine.constraint, where.before, after, white=white)
    if of_schema.masked in of_schema.machine.vocabulary.special and ahead:
        remarks = ["It reads the name of a control token as its text."]
    what = "lets the text end here" if here is None and there is None else "allows this"
    said = f"Your {whose} {what}, and {title} does not"
    if ahead or (here is None and not of_schema.complete):
        said = f"{title} {what}, your {whose} does not"
    if ahead:
        said += f", at {unit} {there}"
    if here is not None and there is not None and there > here:
        remarks = [*remarks, f"The {whose} refuses what follows, at {unit} {there}."]
    lines = [" ".join((f"{said}.", *remarks))]
    if ahead:
        _, sentence, why = _outcome(run, of_schema, None, budget)
        lines.append(in_words(why) if why else sentence)
    yield "\n".join(lines)


def _in_requests_words(loop: Trap, run: ServerRun, requested: RequestedConstraint | None) -> Trap:
    """A loop with the remedy in the words of the server that wrote it."""
    what, remedy = cast("Loop", loop.evidence["what"]), loop.remedy
    if requested is not None and requested.kind in IS_JSON and what == "space":
        told = setting(run.server, "whitespace")
        said = f"Forbid it at the server. {told}" if ": --" in told else told
        remedy = f'{said}. Here, whitespace="compact" is the same.'
    elif requested is not None and requested.kind == "json_object":
        remedy = f"A json_object has no bounds: ask with a schema. {LOOP_REMEDIES[what]}"
    return replace(loop, remedy=remedy)
