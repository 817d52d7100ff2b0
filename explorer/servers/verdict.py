"""The verdict of a constraint on a run: the first token that it would have masked, or how it ended.

Four outcomes. A token is *masked*: the server wrote what the constraint does not allow. The run
*ended early*: the server stopped where the constraint does not let a text end. It was *cut*: the
limit on tokens, or something outside the constraint, stopped it before it could end. Or it is
*whole*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from explorer.analysis.explaining.explanation import Explanation
from explorer.analysis.session import Session
from explorer.arguments import counted, shown
from explorer.automata.constraint import Constraint
from explorer.budget import Budget
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.servers.identifying import IdentifiedRun, identify
from explorer.servers.requested import MOST_FREE_DEPTH, RequestedConstraint
from explorer.servers.run import ServerRun
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary

RunOutcome = Literal["masked", "ended early", "cut", "whole"]
"""How a run stands to its constraint; see the module's text."""

_ENDED: Final = ("stop", "eos_token", "end_turn")
"""The words by which servers say that the model ended its text; a stop string may be meant too."""

_STOPPED: Final = ("stop", "stop_sequence")
"""The words by which servers say that a stop string ended it."""

_LEAST_DEPTH: Final = 3


@dataclass(frozen=True)
class RunVerdict:
    """A run, its session, and what the constraint says of it. Printed, it is a paragraph.

    Args:
        run: The run.
        session: At the end of what the constraint allows; the explorer opens it.
        outcome: How the run stands to the constraint.
        explanation: Why the first token that is not allowed is masked, or the end of the text;
            ``None`` for a run without a fault.
        sentence: The outcome in words.
        notes: What the reader should know: how ids were found, what of the request is not followed.
    """

    run: ServerRun
    session: Session
    outcome: RunOutcome
    explanation: Explanation | None
    sentence: str
    notes: tuple[str, ...]

    @property
    def allowed(self) -> bool:
        """Whether the constraint allows all that was written."""
        return self.outcome in ("cut", "whole")

    def to_dict(self) -> dict[str, object]:
        """The verdict as JSON values."""
        rejection = self.session.rejection
        return {
            "run": self.run.place,
            "format": self.run.format,
            "outcome": self.outcome,
            "allowed": self.allowed,
            "index": None if rejection is None else rejection.index,
            "token": None if rejection is None else rejection.token,
            "text": self.session.text,
            "sentence": self.sentence,
            "explanation": None if self.explanation is None else self.explanation.to_dict(),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"{self.run.place} ({self.run.format}): {self.sentence}"]
        if self.explanation is not None:
            lines.append(self.explanation.paragraph)
        lines += [f"Note: {note}" for note in self.notes]
        return "\n".join(lines)


def session_of(
    run: ServerRun,
    vocabulary: Vocabulary,
    constraint: Constraint | TokenMachine | None = None,
    *,
    budget: Budget | None = None,
) -> Session:
    """The session of a run: its ids, held against the constraint of its request. No model.

    Args:
        run: The run.
        vocabulary: The tokens of the model that wrote it.
        constraint: What the text should be; default the constraint of the request.
        budget: Limits for compiling it.

    Raises:
        ExplorerError: The run is of another tokenizer, or has no ids and cannot be split; or the
            constraint is not usable.
    """
    found, wanted = identified_run(run, vocabulary, constraint)
    requested = run.requested if constraint is None else None
    return _session(run, found, vocabulary, wanted, requested, budget)


def identified_run(
    run: ServerRun, vocabulary: Vocabulary, constraint: Constraint | TokenMachine | None = None
) -> tuple[IdentifiedRun, Constraint | TokenMachine | None]:
    """The ids of a run, and the constraint that it is held against.

    Args:
        run, vocabulary, constraint: As in `session_of`.

    Raises:
        ExplorerError: As `session_of` has it.
    """
    found = identify(run, vocabulary)
    if constraint is None and run.requested is not None:
        constraint = run.requested.constraint(_depth(found, vocabulary))
    return found, constraint


def verdict_of(
    run: ServerRun,
    vocabulary: Vocabulary,
    constraint: Constraint | TokenMachine | None = None,
    *,
    budget: Budget | None = None,
) -> RunVerdict:
    """Hold a run against its constraint.

    Args:
        run, vocabulary, constraint, budget: As in `session_of`.

    Raises:
        ExplorerError: As `session_of` has it; or there is no constraint.
    """
    if constraint is None and run.requested is None:
        raise ExplorerError(
            f"{run.place}: {run.elsewhere}"
            if run.elsewhere
            else f"{run.place}: the request asks for no constraint that is known here.",
            remedy="Give one: --regex, --json-schema, --grammar or --choice"
            + ("." if run.elsewhere else "; or keep the request beside the response."),
            evidence={"run": run.place},
        )
    found, wanted = identified_run(run, vocabulary, constraint)
    requested = run.requested if constraint is None else None
    session = _session(run, found, vocabulary, wanted, requested, budget)
    notes = [*run.notes, *found.notes]
    if requested is not None:
        notes += requested.notes
    notes += session.machine.report.warnings
    outcome, sentence, explanation = _outcome(run, session, budget)
    return RunVerdict(run, session, outcome, explanation, sentence, tuple(notes))


def _session(
    run: ServerRun,
    found: IdentifiedRun,
    vocabulary: Vocabulary,
    constraint: Constraint | TokenMachine | None,
    requested: RequestedConstraint | None,
    budget: Budget | None,
) -> Session:
    if requested is not None:
        try:
            constraint = Rule.of(constraint, vocabulary, budget).machine
        except ExplorerError as error:
            if "place" in error.evidence:
                raise
            raise requested.unusable(error) from error
    log_probs = [token.log_prob for token in found.tokens]
    return Session.from_ids(vocabulary, constraint, found.ids, log_probs, run.prompt, budget=budget)


def _depth(found: IdentifiedRun, vocabulary: Vocabulary) -> int:
    """How deep free values must nest for what the run wrote: its brackets, those in strings too."""
    ids = [token for token in found.ids if token < len(vocabulary)]
    data = b"".join(vocabulary.tokens[token] or b"" for token in ids)
    depth = most = 0
    for byte in data:
        if byte in b"[{":
            depth += 1
            most = max(most, depth)
        elif byte in b"]}":
            depth = max(depth - 1, 0)
    return max(_LEAST_DEPTH, min(most, MOST_FREE_DEPTH))


def _outcome(
    run: ServerRun, session: Session, budget: Budget | None
) -> tuple[RunOutcome, str, Explanation | None]:
    vocabulary = session.vocabulary
    rejection = session.rejection
    said = f"after {counted(session.length, 'token')}, {shown(session.text)}"
    if rejection is not None:
        why = session.explain(rejection.token, session.length, budget=budget)
        return (
            "masked",
            f"token {rejection.index} (id {rejection.token}) would have been masked, {said}.",
            why,
        )
    allowed = session.allowed()
    complete = session.finished or any(bool(allowed[token]) for token in vocabulary.eos_ids)
    if complete:
        return "whole", f"the constraint allows the whole text, {shown(session.text)}.", None
    stopped = _stopped(run, vocabulary)
    if run.finish in _ENDED and vocabulary.eos_ids and not stopped:
        why = session.explain(vocabulary.eos_ids[0], session.length, budget=budget)
        sentence = f"the server stopped ({run.finish!r}) {said}, where the text cannot end."
        return "ended early", sentence, why
    reason = stopped or (
        f"it stopped for {run.finish!r}" if run.finish else "the log does not say why"
    )
    return (
        "cut",
        f"all that was written is allowed, but the text is not complete ({reason}) {said}.",
        None,
    )


def _stopped(run: ServerRun, vocabulary: Vocabulary) -> str:
    """How a stop string of the request ended the text, or may have; empty where none did."""
    stops = [stop for stop in run.stops.possible if stop not in vocabulary.eos_ids]
    if run.finish == "stop_sequence" and not stops:
        return "a stop string ended it"
    if run.finish not in _STOPPED or not stops:
        return ""
    if run.stops.known:
        return f"{_named_stop(stops[0])} ended it"
    listed = ", ".join(map(_named_stop, stops[:4])) + ", ..." * (len(stops) > 4)
    return f"the request has {listed}, which servers take off the text and which may have ended it"


def _named_stop(stop: str | int) -> str:
    return f"the stop {'string' if isinstance(stop, str) else 'id'} {shown(stop)}"
