"""The verdict of a constraint on a run: the first token that it would have masked, or its end.

There are four outcomes. A token is *masked*: the server wrote something that the constraint does
not allow. The token is named if the log names the tokens, or only one could stand there; for a
text, the first byte that no tokens write. The run *ended early*: the server stopped where the
constraint does not let a text end. It was *cut*: the limit on tokens, or something outside the
constraint, stopped it before it could end. Or it is *whole*.

Nothing here needs torch: the session that shows a run is made on first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

from explorer.alphabet import without_controls
from explorer.analysis.explaining.explanation import Explanation, TextExplanation
from explorer.analysis.traps.loops import run_loops
from explorer.analysis.traps.trap import Trap
from explorer.arguments import instance
from explorer.automata.tree.nodes import Loop
from explorer.budget import Budget, Meter
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.engines.reading import (
    TITLES,
    engine_name,
    engine_vocabulary,
    remarks_of,
)
from explorer.languages.schema.diagnosis.remedies import LOOP_REMEDIES
from explorer.languages.schema.source import JsonSchema
from explorer.servers.causes import causes_of, misfits, where_it_went
from explorer.servers.ends import with_ends
from explorer.servers.following import IdentifiedRun, JudgedRun, RunReading, follow_run, identify
from explorer.servers.reasoning import parser_is_on
from explorer.servers.request import MOST_FREE_DEPTH, TGI_BLANK, RequestedConstraint
from explorer.servers.run import ENDED, ServerRun
from explorer.servers.scheduler import settings_that_take
from explorer.servers.sentences import RunOutcome, outcome_of, taken_off
from explorer.servers.settings import setting
from explorer.servers.tables import table
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from explorer.analysis.session import Session

_LEAST_DEPTH: Final = 3

_WORDS: Final = table("words", tuple[tuple[str, str], ...])
"""The options of this package that a reason may name, and what they are at a server."""


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
        return _session(self.run, self.reading)

    @property
    def judged(self) -> JudgedRun:
        """The part of the run that the constraint allows."""
        return self.reading.judged

    @property
    def allowed(self) -> bool:
        """Whether the constraint allows everything that was written."""
        return self.outcome in ("cut", "whole")

    @property
    def token(self) -> int | None:
        """The masked id, if it is certain; else ``None``."""
        return self.judged.rest[0] if self.judged.rest and self.judged.certain else None

    @property
    def index(self) -> int | None:
        """The number of tokens before the masked one, if the log names tokens; else ``None``."""
        judged = self.judged
        return len(judged.ids) if judged.rest and judged.byte is None else None

    @property
    def byte(self) -> int | None:
        """The offset of the first byte that is not allowed; ``None`` without one."""
        judged, why = self.judged, self.explanation
        if judged.byte is not None or not judged.rest:
            return judged.byte
        return len(judged.data) + ((why and why.byte_offset) or 0)

    def to_dict(self) -> dict[str, object]:
        """The verdict as JSON values."""
        return {
            "run": self.run.place,
            "format": self.run.format,
            "outcome": self.outcome,
            "allowed": self.allowed,
            "index": self.index,
            "token": self.token,
            "byte": self.byte,
            "text": self.judged.data.decode(errors="replace"),
            "sentence": self.sentence,
            "explanation": None if self.explanation is None else self.explanation.to_dict(),
            "loops": [trap.to_dict() for trap in self.loops],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"{self.run.place} ({self.run.format}): {self.sentence}"]
        if self.explanation is not None:
            lines.append(_in_words(self.explanation))
        lines += [f"Loop: {trap.message} {trap.remedy}" for trap in self.loops]
        lines += [f"Note: {note}" for note in self.notes]
        # Texts and names in a log are untrusted, and a terminal would obey control characters.
        return without_controls("\n".join(lines))


def _in_words(why: Explanation | TextExplanation) -> str:
    """The paragraph of an explanation, which names no option that a server does not have."""
    paragraph = why.paragraph
    for option, words in _WORDS:
        paragraph = paragraph.replace(option, words)
    return paragraph


def session_of(
    run: ServerRun,
    vocabulary: Vocabulary,
    constraint: Constraint | TokenMachine | None = None,
    *,
    engine: str | None = None,
    budget: Budget | None = None,
) -> Session:
    """The session of a run: its ids under the constraint of its request, without a model.

    Args:
        run: The run.
        vocabulary: The tokens of the model that wrote it.
        constraint: The constraint of the text; default that of the request.
        engine: The engine that reads the request's schema: ``"xgrammar"``, ``"llguidance"``,
            ``"outlines"``, or ``"none"`` for what JSON Schema says; default the server's.
        budget: Limits for compiling it.

    Raises:
        ExplorerError: The run is of another tokenizer, or has no ids and cannot be split; or the
            constraint is not usable.
    """
    _check(run, vocabulary)
    return _session(run, _readings(run, vocabulary, constraint, engine, budget)[0], budget)


def _check(run: ServerRun, vocabulary: Vocabulary) -> None:
    instance("run", run, ServerRun, "a run of a server", remedy=_RUN)
    instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
    if run.failed:
        raise ExplorerError(
            f"{run.place}: {run.failed}",
            remedy="Leave it out: it holds no answer that could be explained.",
            evidence={"run": run.place},
        )


_RUN: Final = "Give a run that read_runs(path) or runs_of(data) has read, such as their first."


def _readings(
    run: ServerRun, vocabulary: Vocabulary, constraint: Constraint | TokenMachine | None,
    engine: str | None, budget: Budget | None,
) -> tuple[RunReading, RunReading | None, RequestedConstraint | None]:  # fmt: skip
    """A run under its constraint as the engine reads it, and as the schema has it.

    The second is ``None`` where both are the same, the third where another constraint was given.
    """
    Meter(budget)  # A budget of a wrong type is reported as such, not as the constraint's fault.
    identified = identify(run, vocabulary)
    if constraint is not None or run.requested is None:
        return _follow(constraint, identified, vocabulary, budget), None, None
    requested, depth = run.requested, _depth(identified, vocabulary)
    if engine is not None:
        pattern = None if requested.pattern == TGI_BLANK else requested.pattern
        requested = replace(requested, engine=engine_name(engine), pattern=pattern)
    try:
        made = requested.constraint(depth, vocabulary)
    except ExplorerError as error:
        if not requested.engine or "pointer" not in error.evidence:
            raise
        why = error.message.partition("\n")[2]
        note = f"{TITLES[requested.engine]} takes no such schema; it is judged by itself. {why}"
        requested = replace(requested, engine="", pattern=None, notes=(*requested.notes, note))
        made = requested.constraint(depth, vocabulary)
    read = _follow(made, identified, vocabulary, budget, requested)
    if not requested.engine:
        return read, None, requested
    other = engine_vocabulary(vocabulary, requested.engine)
    if requested.is_json and read.judged.rest[:1] and read.judged.rest[0] in vocabulary.special:
        # xgrammar reads the name of a control token as text, so that it may stand inside a string.
        named = _follow(made, identified, other, budget, requested)
        read = named if len(named.judged.ids) > len(read.judged.ids) else read
    plain = replace(requested, engine="", compact=False, pattern=None)
    schema = plain.constraint(depth, vocabulary)
    if schema.source == made.source:
        return read, None, requested
    try:
        return read, _follow(schema, identified, vocabulary, budget, plain), requested
    except ExplorerError:
        return read, None, requested  # Its automaton is too large; the engine's is not.


def _follow(
    constraint: Constraint | TokenMachine | None, identified: IdentifiedRun, vocabulary: Vocabulary,
    budget: Budget | None, requested: RequestedConstraint | None = None,
) -> RunReading:  # fmt: skip
    try:
        machine = Rule.of(constraint, vocabulary, budget).machine
        return RunReading(machine, *follow_run(identified, machine, budget))
    except ExplorerError as error:
        if requested is None or "place" in error.evidence:
            raise
        raise requested.unusable(error) from error


def _depth(identified: IdentifiedRun, vocabulary: Vocabulary) -> int:
    """The depth of free values that the run needs: that of its brackets, also in strings."""
    depth = most = 0
    for byte in identified.data(vocabulary):
        depth = max(depth + (byte in b"[{") - (byte in b"]}"), 0)
        most = max(most, depth)
    return max(_LEAST_DEPTH, min(most, MOST_FREE_DEPTH))


def _session(run: ServerRun, read: RunReading, budget: Budget | None = None) -> Session:
    from explorer.analysis.session import Session

    ids, tokens = read.judged.written, read.identified.tokens if read.text is None else ()
    known = tuple(token.log_prob for token in tokens) if len(tokens) == len(ids) else None
    vocabulary = read.machine.vocabulary
    return Session.from_ids(vocabulary, read.machine, ids, known, run.prompt, budget=budget)


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
        run, vocabulary, constraint, engine, budget: As in `session_of`.

    Raises:
        ExplorerError: As in `session_of`; or there is no constraint.
    """
    _check(run, vocabulary)
    if constraint is None and run.requested is None:
        raise ExplorerError(
            f"{run.place}: {run.elsewhere or 'the request asks for no constraint.'}",
            remedy="Give one: --regex, --json-schema, --grammar or --choice; or keep the request "
            "beside the response.",
            evidence={"run": run.place},
        )
    vocabulary, ends = with_ends(run, vocabulary)
    read, of_schema, requested = _readings(run, vocabulary, constraint, engine, budget)
    loops: tuple[Trap, ...] = ()
    if read.identified.is_empty and not run.call and not read.judged.complete:
        outcome, sentence = cast("tuple[RunOutcome, str]", where_it_went(run, read.machine))
        why, is_masked = None, False
    else:
        outcome, sentence, why = outcome_of(run, read, of_schema, budget)
        is_masked = outcome in ("masked", "ended early")
        if outcome in ("masked", "cut") or (outcome == "whole" and run.finish not in ENDED):
            traps = run_loops(read.machine, read.judged.ids, read.judged.states)
            loops = tuple(_in_requests_words(loop, run, requested) for loop in traps)
    if outcome == "masked":
        sentence = " ".join(filter(None, (sentence, *causes_of(run, read))))
    notes = [
        *_differences(run, read, of_schema, requested, budget),
        *misfits(run, masked=is_masked),
        *run.notes, *read.identified.notes, *ends,
        *_of_constraint(run, read, of_schema, requested, engine),
    ]  # fmt: skip
    if outcome == "masked":
        notes += filter(None, [taken_off(run, read)])
        notes += _settings(run, read, budget)
    return RunVerdict(run, read, outcome, why, sentence, tuple(dict.fromkeys(notes)), loops)


def _of_constraint(
    run: ServerRun, read: RunReading, of_schema: RunReading | None,
    requested: RequestedConstraint | None, engine: str | None,
) -> Iterator[str]:  # fmt: skip
    """Sentences on how the constraint was read, and on what decided besides it."""
    vocabulary = read.machine.vocabulary
    if requested is not None:
        yield from requested.notes
        title, constraint = TITLES[requested.engine], read.machine.constraint
        own = constraint is not None and isinstance(constraint.source, JsonSchema)
        if requested.kind == "json" and own and title:
            yield (
                f"How {title} reads a keyword of this schema is not known here, so JSON Schema "
                "itself was asked, which takes other spellings, and white space around the JSON."
            )
        elif title and not run.server and engine is None and (
            requested.is_json or requested.kind in ("structural_tag", "tools")
        ):  # fmt: skip
            yield (
                f"The log names no server; the schema was read as {title} reads it, the default "
                "of vLLM, SGLang and TensorRT-LLM. --engine names another, or none."
            )
    for each in filter(None, (read, of_schema)):
        for warning in each.machine.report.warnings:
            if "free_depth" not in warning or _depth(each.identified, vocabulary) > 7:
                yield warning
    if read.judged.unspelled is not None:
        yield (
            f"No tokens of this vocabulary write byte {read.judged.unspelled} of the text, so it "
            "was judged by its bytes alone. Is it the tokenizer of the model that wrote it?"
        )


def _differences(
    run: ServerRun, read: RunReading, of_schema: RunReading | None,
    requested: RequestedConstraint | None, budget: Budget | None,
) -> Iterator[str]:  # fmt: skip
    """The difference of an engine's reading and the schema itself on a run, as a sentence."""
    if of_schema is None or requested is None:
        return
    here, there = read.stop, of_schema.stop
    if here == there and read.judged.complete == of_schema.judged.complete:
        return
    title, whose = TITLES[requested.engine], "schema" if requested.is_json else "request"
    ahead = there is not None and (here is None or there < here)
    where, after = (of_schema, b"x") if ahead else (read, read.after[:1] or b"x")
    white = here is not None and not ahead and after in b" \t\r\n"
    remarks = remarks_of(read.machine.constraint, where.before, after, white=white)
    said = " ".join(("", *remarks))
    if ahead:
        _, sentence, why = outcome_of(run, of_schema, None, budget)
        judged, special = of_schema.judged, of_schema.machine.vocabulary.special
        if judged.rest and judged.rest[0] in special:
            said = " It reads the name of a control token as its text."
        spot = f"token {len(judged.ids)}" if judged.byte is None else f"byte {judged.byte}"
        yield (
            f"{title} allows this, your {whose} does not, at {spot}.{said}\n"
            f"{_in_words(why) if why else sentence}"
        )
    elif here is not None:
        yield f"Your {whose} allows this, and {title} does not.{said}"
    elif of_schema.judged.complete:
        yield f"Your {whose} lets the text end here, and {title} does not.{said}"
    else:
        yield f"{title} lets the text end here, and your {whose} does not.{said}"


def _settings(run: ServerRun, read: RunReading, budget: Budget | None) -> list[str]:
    """A sentence for each setting of a server that would accept the first masked token."""
    constraint, spaces = read.machine.constraint, read.after[:1] in (b" ", b"\t", b"\r", b"\n")
    if constraint is None or parser_is_on(run) or (read.text is not None and not spaces):
        return []
    ids = read.identified.ids if read.text is None else read.judged.written
    settings = settings_that_take(
        constraint, ids, len(read.judged.ids), read.machine.vocabulary, run.server, budget
    )
    return [f"The token would be taken {each}." for each in settings]


def _in_requests_words(loop: Trap, run: ServerRun, requested: RequestedConstraint | None) -> Trap:
    """A loop with the remedy in the words of the server that wrote it."""
    what = cast("Loop", loop.evidence["what"])
    if requested is None or not requested.is_json:
        return loop
    if what == "space":
        told = setting(run.server, "whitespace")
        said = f"Forbid it at the server. {told}" if ": --" in told else told
        return replace(loop, remedy=f'{said}. Here, whitespace="compact" is the same.')
    if requested.kind == "json_object":
        said = f"A json_object has no bounds: ask with a schema. {LOOP_REMEDIES[what]}"
        return replace(loop, remedy=said)
    return loop
