"""The verdict of a constraint on a run: the first token that it would have masked, or its end.

There are four outcomes. A token is *masked*: the server wrote something that the constraint does
not allow. The token is named if the log names the tokens, or only one could stand there; for a
text, the first byte that no tokens write. The run *ended early*: the server stopped where the
constraint does not let a text end. It was *cut*: the limit on tokens, or something outside the
constraint, stopped it before it could end. Or it is *whole*.

Nothing here needs torch: the session that shows a run is made on first use.
"""

from __future__ import annotations

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
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.schema.diagnosis.remedies import LOOP_REMEDIES
from explorer.servers.following import IdentifiedRun, JudgedRun, follow_named, identify
from explorer.servers.run import MOST_FREE_DEPTH, RequestedConstraint, ServerRun
from explorer.servers.scheduler import settings_that_take
from explorer.servers.sentences import (
    ENDED,
    RunOutcome,
    outcome_of,
    reasoning_of,
    shown_bytes,
    taken_off,
)
from explorer.tokens.machine import TokenMachine
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
    budget: Budget | None = None,
) -> Session:
    """The session of a run: its ids under the constraint of its request, without a model.

    Args:
        run: The run.
        vocabulary: The tokens of the model that wrote it.
        constraint: The constraint of the text; default that of the request.
        budget: Limits for compiling it.

    Raises:
        ExplorerError: The run is of another tokenizer, or has no ids and cannot be split; or the
            constraint is not usable.
    """
    identified, wanted = identified_run(run, vocabulary, constraint)
    requested = run.requested if constraint is None else None
    machine = _machine(wanted, vocabulary, requested, budget)
    try:
        identified, judged = follow_named(identified, machine, budget)
    except BudgetExceeded as error:  # Of a part that was left until a text came to it.
        if requested is None:
            raise
        raise requested.unusable(error) from error
    return _session(run, machine, judged, _log_probs(identified), budget)


def identified_run(
    run: ServerRun, vocabulary: Vocabulary, constraint: Constraint | TokenMachine | None = None
) -> tuple[IdentifiedRun, Constraint | TokenMachine | None]:
    """The tokens or the text of a run, and its constraint.

    Args:
        run, vocabulary, constraint: As in `session_of`.

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
    if constraint is None and run.requested is not None:
        constraint = run.requested.constraint(_depth(identified, vocabulary), vocabulary)
    return identified, constraint


_RUN: Final = "Give a run that read_runs(path) or runs_of(data) has read, such as their first."


def verdict_of(
    run: ServerRun,
    vocabulary: Vocabulary,
    constraint: Constraint | TokenMachine | None = None,
    *,
    budget: Budget | None = None,
) -> RunVerdict:
    """Check a run against its constraint.

    Args:
        run, vocabulary, constraint, budget: As in `session_of`.

    Raises:
        ExplorerError: As in `session_of`; or there is no constraint.
    """
    run = instance("run", run, ServerRun, "a run of a server", remedy=_RUN)
    if constraint is None and run.requested is None and not run.failed:
        raise ExplorerError(
            f"{run.place}: {run.elsewhere}"
            if run.elsewhere
            else f"{run.place}: the request asks for no constraint that is known here.",
            remedy="Give one: --regex, --json-schema, --grammar or --choice"
            + ("." if run.elsewhere else "; or keep the request beside the response."),
            evidence={"run": run.place},
        )
    identified, wanted = identified_run(run, vocabulary, constraint)
    requested = run.requested if constraint is None else None
    machine = _machine(wanted, vocabulary, requested, budget)
    try:
        identified, judged = follow_named(identified, machine, budget)
    except BudgetExceeded as error:  # Of a part that was left until a text came to it.
        if requested is None:
            raise
        raise requested.unusable(error) from error
    notes = [*run.notes, *identified.notes]
    if requested is not None:
        notes += requested.notes
    notes += machine.report.warnings
    if judged.unspelled is not None:
        notes.append(
            f"No tokens of this vocabulary write byte {judged.unspelled} of the text, so it was "
            "judged by its bytes alone. Is it the tokenizer of the model that wrote it?"
        )
    outcome, sentence, why = outcome_of(run, machine, judged, identified.text, budget)
    loops: tuple[Trap, ...] = ()
    if not (outcome == "whole" and run.finish in ENDED) and outcome != "ended early":
        found_loops = run_loops(machine, judged.ids, judged.states)
        loops = tuple(_in_requests_words(loop, requested) for loop in found_loops)
    if outcome == "masked":
        said = reasoning_of(run, machine, judged, identified.text)
        sentence = f"{sentence} {said}".rstrip()
        notes += taken_off(run, machine, identified)
        notes += _settings(wanted, identified, judged, vocabulary, budget)
    return RunVerdict(
        run, machine, judged, outcome, why, sentence, tuple(notes), loops, _log_probs(identified)
    )


def _settings(
    constraint: Constraint | TokenMachine | None, identified: IdentifiedRun, judged: JudgedRun,
    vocabulary: Vocabulary, budget: Budget | None,
) -> list[str]:  # fmt: skip
    """A sentence for each setting of a server that would accept the first masked token."""
    if not isinstance(constraint, Constraint) or identified.text is not None:
        return []
    ids, refused = identified.ids, len(judged.ids)
    settings = settings_that_take(constraint, ids, refused, vocabulary, budget)
    return [f"The token would be taken {setting}." for setting in settings]


def _machine(
    constraint: Constraint | TokenMachine | None,
    vocabulary: Vocabulary,
    requested: RequestedConstraint | None,
    budget: Budget | None,
) -> TokenMachine:
    Meter(budget)  # A budget of a wrong type is reported as such, not as the constraint's fault.
    try:
        return Rule.of(constraint, vocabulary, budget).machine
    except ExplorerError as error:
        if requested is None or "place" in error.evidence:
            raise
        raise requested.unusable(error) from error


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


def _in_requests_words(loop: Trap, requested: RequestedConstraint | None) -> Trap:
    """A loop with the remedy in the words of the request."""
    if requested is None or requested.kind not in ("json", "json_object"):
        return loop
    what = cast("Loop", loop.evidence["what"])
    if what == "space":
        return replace(loop, remedy=_COMPACT)
    if requested.kind == "json_object":
        return replace(loop, remedy=f"{_NO_BOUND} {LOOP_REMEDIES[what]}")
    return loop


_COMPACT: Final = (
    'Forbid it in the request, with "disable_any_whitespace": true in structured_outputs (vLLM); '
    'whitespace="compact" does that here.'
)

_NO_BOUND: Final = "A json_object has no bounds: ask with a schema."
