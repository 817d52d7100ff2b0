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
from explorer.automata.tree.nodes import Loop, Source
from explorer.budget import Budget, Meter
from explorer.decoding.stepping.rule import Rule
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.engines.reading import (
    TITLES,
    engine_name,
    engine_vocabulary,
    remarks_of,
)
from explorer.languages.schema.diagnosis.remedies import LOOP_REMEDIES
from explorer.languages.schema.source import JsonSchema
from explorer.servers.ends import min_tokens_said, with_ends
from explorer.servers.following import IdentifiedRun, JudgedRun, follow_named, identify, own_split
from explorer.servers.phases import unparsed_call
from explorer.servers.reasoning import (
    line_breaks_after,
    misfits,
    parser_is_on,
    setting_of,
    where_it_went,
)
from explorer.servers.request import MOST_FREE_DEPTH, TGI_BLANK, RequestedConstraint
from explorer.servers.run import ENDED, ServerRun
from explorer.servers.scheduler import settings_that_take
from explorer.servers.sentences import (
    RunOutcome,
    RunReading,
    doubled,
    not_in_force,
    outcome_of,
    reasoning_of,
    shown_bytes,
    taken_off,
)
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.tokenizations import read_tokenizations
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from explorer.analysis.session import Session


_LEAST_DEPTH: Final = 3


@dataclass(frozen=True)
class RunVerdict:
    """The verdict on a run; it prints as a paragraph.

    Args:
        run: The run.
        machine: The constraint over the vocabulary.
        judged: The part of the run that the machine allows.
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
    machine: TokenMachine
    judged: JudgedRun = field(repr=False)
    outcome: RunOutcome
    explanation: Explanation | TextExplanation | None
    sentence: str
    notes: tuple[str, ...]
    loops: tuple[Trap, ...] = ()
    _log_probs: tuple[float | None, ...] = field(default=(), repr=False)

    @cached_property
    def session(self) -> Session:
        """The run as a session, at the end of its allowed part; the explorer opens it.

        For a text without tokens it has one tokenization.
        """
        return _session(self.run, self.machine, self.judged, self._log_probs)

    @property
    def allowed(self) -> bool:
        """Whether the constraint allows everything that was written."""
        return self.outcome in ("cut", "whole")

    @property
    def token(self) -> int | None:
        """The masked id, if it is certain; else ``None``."""
        judged = self.judged
        return judged.rest[0] if judged.rest and judged.certain else None

    @property
    def index(self) -> int | None:
        """The number of tokens before the masked one, if the log names tokens; else ``None``."""
        judged = self.judged
        return len(judged.ids) if judged.rest and judged.byte is None else None

    @property
    def byte(self) -> int | None:
        """The offset of the first byte that is not allowed; ``None`` without one."""
        judged = self.judged
        if judged.byte is not None or not judged.rest:
            return judged.byte
        why = self.explanation
        inside = None if why is None else why.byte_offset
        return len(judged.data) + (inside or 0)

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
            "text": shown_bytes(self.judged.data),
            "sentence": self.sentence,
            "explanation": None if self.explanation is None else self.explanation.to_dict(),
            "loops": [trap.to_dict() for trap in self.loops],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"{self.run.place} ({self.run.format}): {self.sentence}"]
        if self.explanation is not None:
            lines.append(self.explanation.paragraph)
        lines += [f"Loop: {trap.message} {trap.remedy}" for trap in self.loops]
        lines += [f"Note: {note}" for note in self.notes]
        # Texts and names in a log are untrusted, and a terminal would obey control characters.
        return without_controls("\n".join(lines))


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
    read, _, _ = _readings(run, vocabulary, constraint, engine, budget)
    return _session(run, read.machine, read.judged, _log_probs(read.identified), budget)


def identified_run(
    run: ServerRun, vocabulary: Vocabulary, constraint: Constraint | TokenMachine | None = None,
    engine: str | None = None,
) -> tuple[
    IdentifiedRun, Constraint | TokenMachine | None, RequestedConstraint | None
]:  # fmt: skip
    """The tokens or the text of a run, its constraint, and the request for it.

    Args:
        run, vocabulary, constraint, engine: As in `session_of`.

    Raises:
        ExplorerError: As in `session_of`.
    """
    run = instance("run", run, ServerRun, "a run of a server", remedy=_RUN)
    vocabulary = instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
    if run.failed:
        raise ExplorerError(
            f"{run.place}: {run.failed}",
            remedy="Leave it out: it holds no answer that could be explained.",
            evidence={"run": run.place},
        )
    identified = identify(run, vocabulary)
    requested = run.requested if constraint is None else None
    if requested is not None:
        if engine is not None:
            own = None if requested.pattern == TGI_BLANK else requested.pattern
            requested = replace(requested, engine=engine_name(engine), pattern=own)
        constraint, requested = _as_read(requested, _depth(identified, vocabulary), vocabulary)
    return identified, constraint, requested


def _as_read(
    requested: RequestedConstraint, depth: int, vocabulary: Vocabulary
) -> tuple[Constraint, RequestedConstraint]:
    """A constraint as its engine reads it; of a schema that the engine refuses, the schema's
    own."""
    try:
        return requested.constraint(depth, vocabulary), requested
    except ExplorerError as error:
        if not requested.engine or "pointer" not in error.evidence:
            raise
        plain = replace(requested, engine="", pattern=None)
        made = plain.constraint(depth, vocabulary)
        why = error.message.partition("\n")[2]
        note = f"{TITLES[requested.engine]} takes no such schema; it is judged by itself. {why}"
        return made, replace(plain, notes=(*plain.notes, note))


_RUN: Final = "Give a run that read_runs(path) or runs_of(data) has read, such as their first."


def _readings(
    run: ServerRun, vocabulary: Vocabulary, constraint: Constraint | TokenMachine | None,
    engine: str | None, budget: Budget | None,
) -> tuple[RunReading, RunReading | None, RequestedConstraint | None]:  # fmt: skip
    """A run under its constraint as the engine reads it, and as the schema has it.

    The second is ``None`` where both are the same.
    """
    identified, wanted, requested = identified_run(run, vocabulary, constraint, engine)
    read = _read(wanted, identified, vocabulary, requested, budget)
    if requested is None or not requested.engine:
        return read, None, requested
    plain = replace(requested, engine="", compact=False, pattern=None)
    schema = plain.constraint(_depth(identified, vocabulary), vocabulary)
    if isinstance(wanted, Constraint) and schema.source == wanted.source:
        return read, None, requested
    try:
        return read, _read(schema, identified, vocabulary, plain, budget), requested
    except ExplorerError:
        return read, None, requested  # Its automaton is too large; the engine's is not.


def _read(
    constraint: Constraint | TokenMachine | None, identified: IdentifiedRun, vocabulary: Vocabulary,
    requested: RequestedConstraint | None, budget: Budget | None,
) -> RunReading:  # fmt: skip
    read = _follow(constraint, identified, vocabulary, requested, budget)
    token = read.judged.rest[0] if read.judged.rest else None
    if requested is None or not requested.engine or token not in vocabulary.special:
        return read
    if requested.kind not in ("json", "json_object"):
        return read
    other = engine_vocabulary(vocabulary, requested.engine)
    if other is vocabulary:
        return read
    # xgrammar reads the name of a control token as text, so that it may stand inside a string.
    named = _follow(constraint, identified, other, requested, budget)
    return named if len(named.judged.ids) > len(read.judged.ids) else read


def _follow(
    constraint: Constraint | TokenMachine | None, identified: IdentifiedRun, vocabulary: Vocabulary,
    requested: RequestedConstraint | None, budget: Budget | None,
) -> RunReading:  # fmt: skip
    Meter(budget)  # A budget of a wrong type is reported as such, not as the constraint's fault.
    machine: TokenMachine | None = None
    try:
        machine = Rule.of(constraint, vocabulary, budget).machine
        return RunReading(machine, *follow_named(identified, machine, budget))
    except ExplorerError as error:
        # After the machine: a part that was left until a text came to it.
        own = machine is None or isinstance(error, BudgetExceeded)
        if requested is None or not own or "place" in error.evidence:
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
        run, vocabulary, constraint, engine, budget: As in `session_of`.

    Raises:
        ExplorerError: As in `session_of`; or there is no constraint.
    """
    run = instance("run", run, ServerRun, "a run of a server", remedy=_RUN)
    vocabulary = instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
    if constraint is None and not run.failed and (run.requested is None or _has_no_text(run)):
        raise _no_constraint(run)
    vocabulary, ends = with_ends(run, vocabulary)
    read, of_schema, requested = _readings(run, vocabulary, constraint, engine, budget)
    machine, judged = read.machine, read.judged
    notes = [*run.notes, *read.identified.notes, *ends]
    if requested is not None:
        wanted = wanted_of(read)
        source = None if wanted is None else wanted.source
        notes += [*requested.notes, *_of_engine(run, requested, engine, source)]
    notes += [each for each in machine.report.warnings if _matters(each, read)]
    if judged.unspelled is not None:
        notes.append(
            f"No tokens of this vocabulary write byte {judged.unspelled} of the text, so it was "
            "judged by its bytes alone. Is it the tokenizer of the model that wrote it?"
        )
    gone = _where_it_went(run, read) if read.identified.is_empty and not run.call else None
    if gone is not None:
        outcome, sentence = cast("tuple[RunOutcome, str]", gone)
        return RunVerdict(
            run, machine, judged, outcome, None, sentence, tuple(dict.fromkeys(notes))
        )
    outcome, sentence, why = outcome_of(run, read, of_schema, budget)
    loops: tuple[Trap, ...] = ()
    if not (outcome == "whole" and run.finish in ENDED) and outcome != "ended early":
        found_loops = run_loops(machine, judged.ids, judged.states)
        loops = tuple(_in_requests_words(loop, run, requested) for loop in found_loops)
    if outcome == "masked":
        sentence = " ".join(filter(None, (sentence, *_causes(run, read))))
        notes += taken_off(run, machine, read.identified)
        notes += _settings(run, wanted_of(read), read, budget)
    notes = [*misfits(run, masked=outcome in ("masked", "ended early")), *notes]
    if of_schema is not None:
        notes[:0] = _differences(run, read, of_schema, requested, why, budget)
        notes += [each for each in of_schema.machine.report.warnings if _matters(each, read)]
    return RunVerdict(
        run,
        machine,
        judged,
        outcome,
        why,
        sentence,
        tuple(dict.fromkeys(notes)),
        loops,
        _log_probs(read.identified),
    )


def _has_no_text(run: ServerRun) -> bool:
    """Whether nothing was written of which the constraint could speak, for an unknown reason."""
    nothing = run.text is None and not run.tokens and bool(run.elsewhere)
    return nothing and where_it_went(run, fits=False, whole=False) is None


def _no_constraint(run: ServerRun) -> ExplorerError:
    if run.requested is not None:
        return ExplorerError(
            f"{run.place}: {run.elsewhere}",
            remedy="Leave it out: nothing was written that could be explained; the server's own "
            "log may say why.",
            evidence={"run": run.place},
        )
    return ExplorerError(
        f"{run.place}: {run.elsewhere}"
        if run.elsewhere
        else f"{run.place}: the request asks for no constraint that is known here.",
        remedy="Give one: --regex, --json-schema, --grammar or --choice"
        + ("." if run.elsewhere else "; or keep the request beside the response."),
        evidence={"run": run.place},
    )


def _where_it_went(run: ServerRun, read: RunReading) -> tuple[str, str] | None:
    """The outcome and the sentence for a run without an answer; ``None`` for any other run."""
    machine, reasoning = read.machine, (run.reasoning or "").strip()
    data = reasoning.encode()
    there = read_tokenizations(machine, data, own_split(reasoning, machine.vocabulary))
    fits = bool(data) and there.num_bytes == len(data)
    return where_it_went(run, fits=fits, whole=fits and machine.is_final(there.states[-1]))


def _causes(run: ServerRun, read: RunReading) -> Iterator[str]:
    """The causes of a masked token that a server's log shows."""
    judged = read.judged
    yield reasoning_of(run, read)
    yield doubled(read)
    yield not_in_force(run, read)
    yield unparsed_call(run.request, run.text or "")
    if not judged.ids and not judged.byte:
        data = (read.text or "").encode() or read.machine.vocabulary.written(
            [token for token in judged.rest if token < len(read.machine.vocabulary)]
        )
        yield line_breaks_after(run, data, read.identified.mark)
    allowed = read.machine.allowed(judged.state)
    ends = sum(bool(allowed[token]) for token in read.machine.vocabulary.eos_ids)
    only = bool(ends) and int(allowed.sum()) == ends
    yield min_tokens_said(run, len(judged.ids), only_the_end=only)
    if run.asked("ignore_eos") is True and only:
        yield (
            "The request has ignore_eos, so the server wrote on where the constraint allows only "
            "the end."
        )


def _of_engine(
    run: ServerRun, requested: RequestedConstraint, engine: str | None, source: Source | None
) -> list[str]:
    """A sentence on the engine, where the log names no server, or its reading is not known."""
    schema = requested.kind in ("json", "json_object", "structural_tag", "tools")
    title = TITLES[requested.engine]
    if requested.kind == "json" and isinstance(source, JsonSchema) and title:
        return [
            f"How {title} reads a keyword of this schema is not known here, so JSON Schema itself "
            "was asked, which takes other spellings, and white space around the JSON."
        ]
    if not schema or run.server or engine is not None or not requested.engine:
        return []
    return [
        f"The log names no server; the schema was read as {TITLES[requested.engine]} reads it, the "
        "default of vLLM, SGLang and TensorRT-LLM. --engine names another, or none."
    ]


def _matters(warning: str, read: RunReading) -> bool:
    """Whether a warning of the constraint can have decided something of the run."""
    return "free_depth" not in warning or _depth(read.identified, read.machine.vocabulary) > 7


def _differences(
    run: ServerRun, read: RunReading, of_schema: RunReading, requested: RequestedConstraint | None,
    why: Explanation | TextExplanation | None, budget: Budget | None,
) -> list[str]:  # fmt: skip
    """The difference of an engine's reading and the schema itself on a run, as sentences."""
    title = TITLES[requested.engine if requested else ""]
    whose = "Your schema" if requested and requested.kind.startswith("json") else "Your request"
    here, there = read.stop, of_schema.stop
    if here == there and read.judged.complete == of_schema.judged.complete:
        if why is not None and 'property_order="schema"' in why.paragraph:
            return [
                f"{title} writes the members in the order of the schema. List them there as the "
                "model writes them."
            ]
        return []
    ahead = there is not None and (here is None or there < here)
    where, after = (of_schema, b"x") if ahead else (read, _next_byte(read))
    white = here is not None and not ahead and after in b" \t\r\n"
    said = " ".join(remarks_of(wanted_of(read), _written(where), after, white=white))
    if ahead:
        _, sentence, other = outcome_of(run, of_schema, None, budget)
        paragraph = sentence if other is None else other.paragraph
        if of_schema.judged.rest and of_schema.judged.rest[0] in read.machine.vocabulary.special:
            said = "It reads the name of a control token as its text."
        judged = of_schema.judged
        spot = f"token {len(judged.ids)}" if of_schema.text is None else f"byte {judged.byte}"
        told = f"{title} allows this, {whose.lower()} does not, at {spot}. {said}".rstrip()
        return [f"{told}\n{paragraph}"]
    if here is not None:
        return [f"{whose} allows this, and {title} does not. {said}".rstrip()]
    if of_schema.judged.complete:
        return [f"{whose} lets the text end here, and {title} does not. {said}".rstrip()]
    return [f"{title} lets the text end here, and {whose.lower()} does not. {said}".rstrip()]


def _written(read: RunReading) -> bytes:
    """The part of the text that is allowed."""
    return read.judged.data if read.text is None else read.text.encode()[: read.judged.byte]


def _next_byte(read: RunReading) -> bytes:
    """The first byte that is masked; a letter where nothing is."""
    if read.text is not None:
        return read.text.encode()[read.judged.byte or 0 :][:1] or b"x"
    rest = [token for token in read.judged.rest[:1] if token < len(read.machine.vocabulary)]
    return read.machine.vocabulary.written(rest)[:1] or b"x"


def wanted_of(read: RunReading) -> Constraint | None:
    """The constraint of a reading, if its machine has one."""
    return read.machine.constraint


def _settings(
    run: ServerRun, constraint: Constraint | None, read: RunReading, budget: Budget | None
) -> list[str]:
    """A sentence for each setting of a server that would accept the first masked token."""
    spaces = _next_byte(read) in b" \t\r\n"
    if constraint is None or parser_is_on(run) or (read.text is not None and not spaces):
        return []
    refused = len(read.judged.ids)
    ids = read.identified.ids if read.text is None else read.judged.written
    settings = settings_that_take(
        constraint, ids, refused, read.machine.vocabulary, run.server, budget
    )
    return [f"The token would be taken {setting}." for setting in settings]


def _log_probs(identified: IdentifiedRun) -> tuple[float | None, ...]:
    """The log-probabilities of the log, if it names the tokens."""
    return (
        () if identified.text is not None else tuple(token.log_prob for token in identified.tokens)
    )


def _session(
    run: ServerRun,
    machine: TokenMachine,
    judged: JudgedRun,
    log_probs: tuple[float | None, ...],
    budget: Budget | None = None,
) -> Session:
    from explorer.analysis.session import Session

    ids = judged.written
    known = log_probs if len(log_probs) == len(ids) else None
    return Session.from_ids(machine.vocabulary, machine, ids, known, run.prompt, budget=budget)


def _depth(identified: IdentifiedRun, vocabulary: Vocabulary) -> int:
    """The depth of free values that the run needs: that of its brackets, also in strings."""
    if identified.text is not None:
        data = identified.text.encode()
    else:
        ids = [token for token in identified.ids if token < len(vocabulary)]
        data = b"".join(vocabulary.tokens[token] or b"" for token in ids)
    depth = most = 0
    for byte in data:
        if byte in b"[{":
            depth += 1
            most = max(most, depth)
        elif byte in b"]}":
            depth = max(depth - 1, 0)
    return max(_LEAST_DEPTH, min(most, MOST_FREE_DEPTH))


def _in_requests_words(loop: Trap, run: ServerRun, requested: RequestedConstraint | None) -> Trap:
    """A loop with the remedy in the words of the server that wrote it."""
    if requested is None or requested.kind not in ("json", "json_object"):
        return loop
    what = cast("Loop", loop.evidence["what"])
    if what == "space":
        told = setting_of(run, "whitespace")
        said = f"Forbid it at the server. {told}" if ": --" in told else told
        return replace(loop, remedy=f'{said}. Here, whitespace="compact" is the same.')
    if requested.kind == "json_object":
        return replace(loop, remedy=f"{_NO_BOUND} {LOOP_REMEDIES[what]}")
    return loop


_NO_BOUND: Final = "A json_object has no bounds: ask with a schema."
