"""The sentences of a verdict: the end of a run, or its first masked token, with the reason."""

from __future__ import annotations

from typing import Final, Literal

from explorer.analysis.explaining.explanation import (
    Explanation,
    History,
    TextExplanation,
    explain,
    explain_text,
)
from explorer.arguments import counted, shown
from explorer.budget import Budget
from explorer.errors import ExplorerError
from explorer.servers.causes import read_by
from explorer.servers.following import RunReading
from explorer.servers.run import ENDED, FAILED, STOPPED, ServerRun
from explorer.vocabulary import Vocabulary

RunOutcome = Literal["masked", "ended early", "cut", "whole"]
"""The relation of a run to its constraint; see `explorer.servers.verdict`."""

Outcome = tuple[RunOutcome, str, Explanation | TextExplanation | None]
"""An outcome, its sentence, and its explanation."""

_TAIL: Final = 48
"""The number of last characters of a long text that are shown."""

_GIVEN_UP: Final = (
    "the server gave the request up. A line of its log on tokens that the grammar refused, given "
    "with --line, says why"
)


def outcome_of(
    run: ServerRun, read: RunReading, of_schema: RunReading | None, budget: Budget | None
) -> Outcome:
    """The outcome, its sentence, and its explanation.

    Args:
        of_schema: The same run as the schema itself has it, if the reading is an engine's. Where
            both mask the same place, the reason is the schema's.
    """
    judged, ends = read.judged, read.machine.vocabulary.eos_ids
    # At the edges of the text the schema takes white space that an engine may not.
    edge = not judged.data or (judged.stopped and read.machine.is_final(judged.state))
    same = of_schema is not None and of_schema.stop == read.stop and not edge
    reason = of_schema if same and of_schema is not None else read
    if judged.stopped:
        return ("masked", *_masked(read, reason, budget))
    data = read.before if read.text is None else read.text.encode()
    if judged.complete:
        return "whole", f"the constraint allows the whole text, {tail(data)}.", None
    after = f"after {counted(len(judged.ids), 'token')}, " if read.text is None else "after "
    stopped = _stopped(run, read.machine.vocabulary)
    if run.finish in ENDED and ends and not stopped:
        why = _explained(reason, ends[0], budget)
        why = _explained(read, ends[0], budget) if why.allowed else why
        said = f"the server stopped ({run.finish!r}) {after}{tail(data)}"
        return "ended early", f"{said}, where the text cannot end.", why
    if run.finish in FAILED:
        stopped = f"{run.finish!r}: {_GIVEN_UP}"
    how = f"it stopped for {run.finish!r}" if run.finish else "the log does not say why"
    said = f"all that was written is allowed, but the text is not complete ({stopped or how})"
    return "cut", f"{said} {after}{tail(data)}.", None


def _masked(
    read: RunReading, reason: RunReading, budget: Budget | None
) -> tuple[str, Explanation | TextExplanation | None]:
    """The first masked token or byte, in a sentence, with its explanation."""
    judged, token = read.judged, read.judged.rest[0] if read.judged.rest else None
    why = None if token is None else _explained(reason, token, budget)
    if judged.byte is None:
        after = f"after {counted(len(judged.ids), 'token')}, {tail(judged.data)}"
        return f"token {len(judged.ids)} (id {token}) would have been masked, {after}.", why
    before = read.before.decode(errors="ignore")
    after = f"after {tail(read.before)}" if before else "at its start"
    text = shown((read.text or "")[len(before) : len(before) + 1])
    said = f"byte {judged.byte} of the text, in {text}, is not allowed {after}"
    if token is not None and judged.certain:
        only = f"only the token {token} could stand there, and it would have been masked."
        return f"{said}: {only}", why
    of_text = _text_explained(reason, (read.text or "").encode())
    if of_text is not None:
        any_way = "whichever tokens wrote it, one of them would have been masked."
        return f"{said}: {any_way}", of_text
    no_token = "" if token is not None else ": no token of this vocabulary goes on with it"
    return f"{said}{no_token}.", why


def _explained(read: RunReading, token: int, budget: Budget | None) -> Explanation:
    judged = read.judged
    history = History(judged.states, judged.ids)
    return explain(
        read.machine, judged.state, token, text=judged.data, history=history, budget=budget
    )


def _text_explained(read: RunReading, data: bytes) -> TextExplanation | None:
    """The explanation of the text, if the constraint itself stops reading at this byte."""
    if read.machine.constraint is None:
        return None
    try:
        why = explain_text(read.machine.constraint, data)
    except ExplorerError:
        return None  # Its machine over bytes alone is too large.
    return why if why.stage == "constraint" and why.byte_offset == read.judged.byte else None


def taken_off(run: ServerRun, read: RunReading) -> str:
    """A note where tokens are masked although the text that the server returned is allowed."""
    data = read.identified.data(read.machine.vocabulary)
    text = run.text or ""
    if read.text is not None or not text or data == text.encode():
        return ""
    if not read_by(read.machine, text)[1]:
        return ""
    return (
        f"The text that the server returned, {tail(text.encode())}, is allowed. The tokens of the "
        f"log write {tail(data)}: a mask is over what tokens write, before the server takes "
        "anything off."
    )


def tail(data: bytes) -> str:
    """The end of a text, in quotes; much white space is only counted."""
    text = data.decode(errors="replace")
    shorter = text.rstrip()
    spaces = len(text) - len(shorter)
    if spaces >= _TAIL:
        return f"{tail(shorter.encode())} and {counted(spaces, 'character')} of white space"
    return repr(text) if len(text) <= _TAIL else f"…{text[-_TAIL:]!r}"


def _stopped(run: ServerRun, vocabulary: Vocabulary) -> str:
    """A clause on the stop string that ended the text or may have; empty without one."""
    stops = [stop for stop in run.stops if stop not in vocabulary.eos_ids]
    if run.finish not in STOPPED or (not stops and run.finish in ENDED):
        return ""
    named = [
        f"the stop {'string' if isinstance(stop, str) else 'id'} {shown(stop)}" for stop in stops
    ]
    if run.stop_named or not named:
        return f"{', '.join(named[:1]) or 'a stop string'} ended it"
    listed = ", ".join(named[:4]) + ", ..." * (len(named) > 4)
    return f"the request has {listed}, which servers take off the text and which may have ended it"
