"""The sentences of a verdict: the end of a run, or its first masked token, with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
from explorer.servers.following import IdentifiedRun, JudgedRun, own_split
from explorer.servers.phases import HARMONY_FINAL
from explorer.servers.reasoning import marker_of, no_parser, parser_is_on, reasoning_in
from explorer.servers.run import ENDED, FAILED, STOPPED, ServerRun
from explorer.servers.settings import SERVERS
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.tokenizations import read_tokenizations
from explorer.vocabulary import Vocabulary

RunOutcome = Literal["masked", "ended early", "cut", "whole"]
"""The relation of a run to its constraint; see the module's text."""

_TAIL: Final = 48
"""The number of last characters of a long text that are shown."""


@dataclass(frozen=True, slots=True)
class RunReading:
    """A run under one reading of its constraint.

    Args:
        machine: The constraint over the vocabulary.
        identified: The tokens or the text of the answer.
        judged: The part of it that the machine allows.
    """

    machine: TokenMachine
    identified: IdentifiedRun
    judged: JudgedRun

    @property
    def text(self) -> str | None:
        """The text, if the tokens are not known."""
        return self.identified.text

    @property
    def stop(self) -> int | None:
        """The place of the first masked byte, else token; ``None`` where nothing is masked."""
        judged = self.judged
        if not judged.stopped:
            return None
        return len(judged.ids) if judged.byte is None else judged.byte


def outcome_of(
    run: ServerRun, reading: RunReading, of_schema: RunReading | None, budget: Budget | None
) -> tuple[RunOutcome, str, Explanation | TextExplanation | None]:
    """The outcome, its sentence, and its explanation.

    Args:
        of_schema: The same run as the schema itself has it, if the reading is an engine's. Where
            both mask the same place, the reason is the schema's.
    """
    judged, text = reading.judged, reading.text
    vocabulary = reading.machine.vocabulary
    same = of_schema is not None and of_schema.stop == reading.stop
    # At the edges of the text the schema takes white space that an engine may not.
    edge = not judged.data or (judged.stopped and reading.machine.is_final(judged.state))
    reason = of_schema if same and of_schema is not None and not edge else reading
    if judged.stopped:
        return ("masked", *_masked(reading, reason, budget))
    counted_ids = f"{counted(len(judged.ids), 'token')}, " if text is None else ""
    written = judged.data if text is None else text.encode()
    said = f"after {counted_ids}{tail(shown_bytes(written))}"
    if judged.complete:
        return (
            "whole",
            f"the constraint allows the whole text, {tail(shown_bytes(written))}.",
            None,
        )
    stopped = _stopped(run, vocabulary)
    if run.finish in ENDED and vocabulary.eos_ids and not stopped:
        why = _explained(reason, vocabulary.eos_ids[0], budget)
        if why.allowed:
            why = _explained(reading, vocabulary.eos_ids[0], budget)
        sentence = f"the server stopped ({run.finish!r}) {said}, where the text cannot end."
        return "ended early", sentence, why
    if run.finish in FAILED:
        stopped = (
            f"{run.finish!r}: the server gave the request up. A line of its log on tokens that the "
            "grammar refused, given with --line, says why"
        )
    reason_of_end = stopped or (
        f"it stopped for {run.finish!r}" if run.finish else "the log does not say why"
    )
    return (
        "cut",
        f"all that was written is allowed, but the text is not complete ({reason_of_end}) {said}.",
        None,
    )


def _masked(
    reading: RunReading, reason: RunReading, budget: Budget | None
) -> tuple[str, Explanation | TextExplanation | None]:
    """The first masked token or byte, in a sentence, with its explanation."""
    judged, text = reading.judged, reading.text
    token = judged.rest[0] if judged.rest else None
    if text is None or judged.byte is None:
        after = f"after {counted(len(judged.ids), 'token')}, {tail(shown_bytes(judged.data))}"
        sentence = f"token {len(judged.ids)} (id {token}) would have been masked, {after}."
        return sentence, None if token is None else _explained(reason, token, budget)
    data = text.encode()
    before = data[: judged.byte].decode(errors="ignore")
    place = f"byte {judged.byte} of the text, in {shown(text[len(before) : len(before) + 1])}"
    after = f"after {tail(before)}" if before else "at its start"
    if token is not None and judged.certain:
        return (
            f"{place}, is not allowed {after}: only the token {token} could stand there, and it "
            "would have been masked.",
            _explained(reason, token, budget),
        )
    why = _text_explained(reason.machine, data, judged.byte)
    if why is None and token is not None:
        return f"{place}, is not allowed {after}.", _explained(reason, token, budget)
    if why is None:
        return (
            f"{place}, cannot be written {after}: no token of this vocabulary goes on with it.",
            None,
        )
    return (
        f"{place}, is not allowed {after}: whichever tokens wrote it, one of them would have been "
        "masked.",
        why,
    )


def _explained(reading: RunReading, token: int, budget: Budget | None) -> Explanation:
    judged = reading.judged
    history = History(judged.states, judged.ids)
    return explain(
        reading.machine, judged.state, token, text=judged.data, history=history, budget=budget
    )


def _text_explained(machine: TokenMachine, data: bytes, byte: int) -> TextExplanation | None:
    """The explanation of the text, if the constraint itself stops reading at this byte."""
    if machine.constraint is None:
        return None
    try:
        why = explain_text(machine.constraint, data)
    except ExplorerError:
        return None  # Its machine over bytes alone is too large.
    return why if why.stage == "constraint" and why.byte_offset == byte else None


def reasoning_of(run: ServerRun, reading: RunReading) -> str:
    """The sentence on masked reasoning; empty if something else is masked."""
    machine, judged = reading.machine, reading.judged
    vocabulary = machine.vocabulary
    named = vocabulary.special.get(judged.rest[0], "") if judged.rest else ""
    content = reading.text if reading.text is not None else run.text or ""
    if marker_of(named):
        said = f"{shown(named)} is a marker of reasoning: {no_parser(run, named)}"
        if marker_of(named) in HARMONY and not parser_is_on(run):
            said += f" The constraint must begin after {HARMONY_FINAL}."
        return said
    reasoning = reasoning_in(content)
    if reasoning is None or reading.identified.mark:
        return ""
    far = len(judged.data) if judged.byte is None else judged.byte
    marker = reasoning.marker.encode()
    at = content.encode().find(marker)
    if reasoning.marker != HARMONY_FINAL and far >= at + len(marker):
        return ""  # The constraint allows the marker.
    where = "begins with" if reasoning.begins else "holds"
    said = f"The text {where} {shown(reasoning.marker)}, a marker of reasoning: "
    said += no_parser(run, reasoning.marker)
    if reasoning.answer is None:
        return f"{said} The reasoning does not end."
    answer = reasoning.answer.encode()
    read = read_tokenizations(machine, answer, own_split(reasoning.answer, vocabulary))
    if read.writable < len(answer):
        return f"{said} The answer after it is not allowed either, from its byte {read.writable}."
    whole = read.num_bytes == len(answer) and machine.is_final(read.states[-1])
    return f"{said} The answer after it is allowed{'' if whole else ', but not complete'}."


HARMONY: Final = ("<|channel|>analysis<|message|>", HARMONY_FINAL)


def doubled(reading: RunReading) -> str:
    """A sentence on a run in which everything stands twice; empty for any other run."""
    said = (
        "What was written before it stands there twice, and so does more of the text: each token "
        "was written twice, or the machine of the constraint was advanced twice, as servers with "
        "asynchronous scheduling have done. The fault is the server's."
    )
    ids = reading.identified.ids
    if reading.text is None:
        pairs = list(zip(ids[::2], ids[1::2], strict=False))
        same = sum(first == second for first, second in pairs)
        return said if len(pairs) >= _FEWEST_PAIRS and same >= 0.8 * len(pairs) else ""
    text = reading.text
    repeats = [match[1] for match in _REPEATED.finditer(text) if len(set(match[1])) > 1]
    begins = reading.judged.byte is not None and any(
        text.encode()[: reading.judged.byte].endswith(piece)
        for size in range(2, 20)
        if len(piece := text.encode()[reading.judged.byte :][:size]) == size
    )
    return said if begins and len(repeats) >= _FEWEST_PAIRS else ""


_REPEATED: Final = re.compile(r"(.{2,24}?)\1", re.DOTALL)
_FEWEST_PAIRS: Final = 3


def not_in_force(run: ServerRun, reading: RunReading) -> str:
    """A sentence on a code fence or free text where the constraint begins; empty where there is
    none."""
    judged, text = reading.judged, reading.text
    rest = judged.rest if text is None else ()
    vocabulary = reading.machine.vocabulary
    after = vocabulary.written(rest[:4]) if rest and max(rest[:4]) < len(vocabulary) else b""
    if text is not None:
        after = text.encode()[judged.byte or 0 :]
    fence, prose = after.startswith(b"```"), after[:2].isalpha() and b"{" not in after[:2]
    if judged.ids or judged.byte or not (fence or prose):
        return ""
    needs = SERVERS[run.server].enforced if run.server in SERVERS else ""
    if prose:
        if run.requested is None or run.requested.kind not in ("json", "json_object"):
            return ""
        if reasoning_in(run.text or after.decode(errors="ignore")) is not None:
            return ""
        said = "The answer begins as free text, so the constraint was not in force there."
        return f"{said} Check that {needs}." if needs else said
    said = "The answer is in a code fence, as models write where nothing constrains them"
    if reading.identified.mark:
        return (
            f"{said}: the constraint begins after {reading.identified.mark}, and the tokens there "
            "were not masked. Servers that draft tokens (speculative decoding) or schedule ahead "
            "have written the first ones without a mask."
        )
    return f"{said}: the constraint was not in force.{f' Check that {needs}.' if needs else ''}"


def taken_off(run: ServerRun, machine: TokenMachine, identified: IdentifiedRun) -> tuple[str, ...]:
    """A note where tokens are masked although the text that the server returned is allowed.

    Args:
        run, machine: As in `outcome_of`.
    """
    if identified.text is not None or run.text is None:
        return ()
    vocabulary = machine.vocabulary
    known = [token for token in identified.ids if token < len(vocabulary)]
    data, text = b"".join(vocabulary.tokens[token] or b"" for token in known), run.text.encode()
    if data == text:
        return ()
    read = read_tokenizations(machine, text, own_split(run.text, vocabulary))
    if read.num_bytes < len(text) or not machine.is_final(read.states[-1]):
        return ()
    return (
        f"The text that the server returned, {tail(run.text)}, is allowed. The tokens of the log "
        f"write {tail(shown_bytes(data))}: a mask is over what tokens write, before the server "
        "takes anything off.",
    )


def shown_bytes(data: bytes) -> str:
    """Bytes as text; what is not a character shows as U+FFFD."""
    return data.decode(errors="replace")


def tail(text: str) -> str:
    """The end of a text, in quotes; much white space is only counted."""
    shorter = text.rstrip()
    if len(text) - len(shorter) >= _TAIL:
        return (
            f"{tail(shorter)} and {counted(len(text) - len(shorter), 'character')} of white space"
        )
    return repr(text) if len(text) <= _TAIL else f"…{text[-_TAIL:]!r}"


def _stopped(run: ServerRun, vocabulary: Vocabulary) -> str:
    """A clause on the stop string that ended the text or may have; empty without one."""
    stops = [stop for stop in run.stops.possible if stop not in vocabulary.eos_ids]
    if run.finish in STOPPED and run.finish not in ENDED and not stops:
        return "a stop string ended it"
    if run.finish not in STOPPED or not stops:
        return ""
    if run.stops.known:
        return f"{_named_stop(stops[0])} ended it"
    listed = ", ".join(map(_named_stop, stops[:4])) + ", ..." * (len(stops) > 4)
    return f"the request has {listed}, which servers take off the text and which may have ended it"


def _named_stop(stop: str | int) -> str:
    return f"the stop {'string' if isinstance(stop, str) else 'id'} {shown(stop)}"
