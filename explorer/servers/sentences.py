"""The sentences of a verdict: the end of a run, or its first masked token, with the reason.

A model that reasons writes its reasoning between two markers before its answer. A server with a
reasoning parser puts it into a field of its own; without one it stays in the content, where the
constraint does not allow it. A verdict then names the marker, and judges the rest.
"""

from __future__ import annotations

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
from explorer.servers.run import ServerRun
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.tokenizations import read_tokenizations
from explorer.vocabulary import Vocabulary

MARKERS: Final[tuple[tuple[str, str], ...]] = (
    ("<think>", "</think>"),  # DeepSeek R1, Qwen 3, GLM, MiniMax, Nemotron
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("<reflection>", "</reflection>"),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<seed:think>", "</seed:think>"),  # Seed-OSS
    ("<|channel|>analysis<|message|>", "<|end|>"),  # gpt-oss
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # OpenThinker
    ("<unused94>thought", "<unused95>"),  # MedGemma
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),  # Kimi-VL
)
"""The markers that begin and end the reasoning; the comments name models that write them."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The reasoning in a text.

    Args:
        begins: Whether the marker is the one that begins the reasoning; some templates write that
            one into the prompt, and the text has only the one that ends it.
        answer: The text after it; ``None`` where the reasoning does not end.
    """

    marker: str
    begins: bool
    answer: str | None


def reasoning_in(text: str) -> Reasoning | None:
    """The reasoning at the beginning of a text.

    Returns:
        ``None`` where it begins with no marker and has none that ends reasoning.

    Example:
        >>> reasoning_in("<think>Two.</think>\\n2")
        Reasoning(marker='<think>', begins=True, answer='2')
        >>> reasoning_in("Two, then.</think>2").begins
        False
    """
    stripped = text.lstrip()
    for first, last in MARKERS:
        if stripped.startswith(first):
            before, marker, answer = stripped.partition(last)
            return Reasoning(first, True, answer.lstrip() if marker else None)
    for first, last in MARKERS:
        before, marker, answer = text.partition(last)
        if marker and first not in before:
            return Reasoning(last, False, answer.lstrip())
    return None


def marker_of(name: str) -> str | None:
    """The marker that the name of a control token is a prefix of; ``None`` without one.

    Example:
        >>> marker_of("<think>"), marker_of("<|im_end|>")
        ('<think>', None)
    """
    return next((one for pair in MARKERS for one in pair if name and one.startswith(name)), None)


RunOutcome = Literal["masked", "ended early", "cut", "whole"]
"""The relation of a run to its constraint; see the module's text."""

ENDED: Final = ("stop", "eos_token", "end_turn")
"""The words of servers for a text that the model ended, or possibly a stop string."""

_STOPPED: Final = ("stop", "stop_sequence")
"""The words of servers for a text that a stop string ended."""

_TAIL: Final = 48
"""The number of last characters of a long text that are shown."""


def outcome_of(
    run: ServerRun,
    machine: TokenMachine,
    judged: JudgedRun,
    text: str | None,
    budget: Budget | None,
) -> tuple[RunOutcome, str, Explanation | TextExplanation | None]:
    """The outcome, its sentence, and its explanation.

    Args:
        text: The text of the run, if its tokens are not known.
    """
    vocabulary = machine.vocabulary
    if judged.stopped:
        return ("masked", *_masked(machine, judged, text, budget))
    counted_ids = f"{counted(len(judged.ids), 'token')}, " if text is None else ""
    written = judged.data if text is None else text.encode()
    said = f"after {counted_ids}{_tail(shown_bytes(written))}"
    if judged.complete:
        return (
            "whole",
            f"the constraint allows the whole text, {_tail(shown_bytes(written))}.",
            None,
        )
    stopped = _stopped(run, vocabulary)
    if run.finish in ENDED and vocabulary.eos_ids and not stopped:
        why = _explained(machine, judged, vocabulary.eos_ids[0], budget)
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


def _masked(
    machine: TokenMachine, judged: JudgedRun, text: str | None, budget: Budget | None
) -> tuple[str, Explanation | TextExplanation | None]:
    """The first masked token or byte, in a sentence, with its explanation."""
    token = judged.rest[0] if judged.rest else None
    if text is None or judged.byte is None:
        after = f"after {counted(len(judged.ids), 'token')}, {_tail(shown_bytes(judged.data))}"
        sentence = f"token {len(judged.ids)} (id {token}) would have been masked, {after}."
        return sentence, None if token is None else _explained(machine, judged, token, budget)
    data = text.encode()
    before = data[: judged.byte].decode(errors="ignore")
    place = f"byte {judged.byte} of the text, in {shown(text[len(before) : len(before) + 1])}"
    after = f"after {_tail(before)}" if before else "at its start"
    if token is not None and judged.certain:
        return (
            f"{place}, is not allowed {after}: only the token {token} could stand there, and it "
            "would have been masked.",
            _explained(machine, judged, token, budget),
        )
    why = _text_explained(machine, data, judged.byte)
    if why is None and token is not None:
        return f"{place}, is not allowed {after}.", _explained(machine, judged, token, budget)
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


def _explained(
    machine: TokenMachine, judged: JudgedRun, token: int, budget: Budget | None
) -> Explanation:
    history = History(judged.states, judged.ids)
    return explain(
        machine, judged.state, token, text=judged.data, history=history, budget=budget
    )  # fmt: skip


def _text_explained(machine: TokenMachine, data: bytes, byte: int) -> TextExplanation | None:
    """The explanation of the text, if the constraint itself stops reading at this byte."""
    if machine.constraint is None:
        return None
    try:
        why = explain_text(machine.constraint, data)
    except ExplorerError:
        return None  # Its machine over bytes alone is too large.
    return why if why.stage == "constraint" and why.byte_offset == byte else None


def reasoning_of(run: ServerRun, machine: TokenMachine, judged: JudgedRun, text: str | None) -> str:
    """The sentence on masked reasoning; empty if something else is masked.

    Args:
        run, machine, judged, text: As in `outcome_of`.
    """
    vocabulary = machine.vocabulary
    named = vocabulary.special.get(judged.rest[0], "") if judged.rest else ""
    if marker_of(named):
        return f"{shown(named)} is a marker of reasoning: {_NO_PARSER}"
    content = text if text is not None else run.text or ""
    reasoning = reasoning_in(content)
    if reasoning is None:
        return ""
    far = len(judged.data) if judged.byte is None else judged.byte
    if far >= content.encode().index(reasoning.marker.encode()) + len(reasoning.marker.encode()):
        return ""  # The constraint allows the marker.
    where = "begins with" if reasoning.begins else "holds"
    said = f"The text {where} {shown(reasoning.marker)}, a marker of reasoning: {_NO_PARSER}"
    if reasoning.answer is None:
        return f"{said} The reasoning does not end."
    answer = reasoning.answer.encode()
    read = read_tokenizations(machine, answer, own_split(reasoning.answer, vocabulary))
    if read.writable < len(answer):
        return f"{said} The answer after it is not allowed either, from its byte {read.writable}."
    whole = read.num_bytes == len(answer) and machine.is_final(read.states[-1])
    return f"{said} The answer after it is allowed{'' if whole else ', but not complete'}."


_NO_PARSER: Final = (
    "the model reasoned in the content, and the constraint speaks about the answer alone. Turn the "
    "server's reasoning parser on (vLLM and SGLang: --reasoning-parser), or the reasoning off."
)


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
        f"The text that the server returned, {_tail(run.text)}, is allowed. The tokens of the log "
        f"write {_tail(shown_bytes(data))}: a mask is over what tokens write, before the server "
        "takes anything off.",
    )


def shown_bytes(data: bytes) -> str:
    """Bytes as text; what is not a character shows as U+FFFD."""
    return data.decode(errors="replace")


def _tail(text: str) -> str:
    """The end of a text, in quotes; much white space is only counted."""
    shorter = text.rstrip()
    if len(text) - len(shorter) >= _TAIL:
        return (
            f"{_tail(shorter)} and {counted(len(text) - len(shorter), 'character')} of white space"
        )
    return repr(text) if len(text) <= _TAIL else f"…{text[-_TAIL:]!r}"


def _stopped(run: ServerRun, vocabulary: Vocabulary) -> str:
    """A clause on the stop string that ended the text or may have; empty without one."""
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
