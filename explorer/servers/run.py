"""A run of a server as a value: its output, log-probabilities and request; where its answer begins
and may end.

Everything in it comes from the log. Where the log has texts without ids, the ids are found with a
vocabulary (`explorer.servers.following`).

A model that reasons writes its reasoning between two markers before its answer. A server with a
reasoning parser puts it into a field of its own, and the constraint begins after it; without one it
stays in the content, where the constraint does not allow it. So the parser, the switch for
thinking, the constraint and the limit on tokens must fit each other, and each misfit loses the
answer in a way of its own (`explorer.servers.causes`).

More than one token may end a text. The ends come from the tokenizer and its
``generation_config.json`` (`Vocabulary.eos_ids`), from the log (the stop that a response names,
``eos_token_id``), and, for the last token of a run, from names that are ends in every model that
has them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, cast

from explorer.servers.log import LogPlace, setting_in
from explorer.servers.request import RequestedConstraint
from explorer.servers.tables import by_name, table
from explorer.vocabulary import Vocabulary

ENDINGS: Final = table("finishes", dict[str, tuple[str, ...]])
"""The words of servers for the end of a text, by what ended it."""


@dataclass(frozen=True, slots=True)
class ServedToken:
    """One token that a server wrote.

    Args:
        token: Its id; ``None`` where the log has none.
        text: Its text in the log.
        data: Its bytes, where the log has them.
        log_prob: The natural log-probability that the server gives.
    """

    token: int | None = None
    text: str | None = None
    data: bytes | None = None
    log_prob: float | None = None


@dataclass(frozen=True)
class ServerRun:
    """A run of a server.

    Args:
        place: The log's name, with the line and, among several, the number of the run.
        format: The name of the log's format.
        model: The model's name in the log.
        prompt: The text or the messages of the request.
        tokens: The tokens, in order; empty where the log has only a text.
        text: The text that the server returned.
        finish: The server's word for why it stopped: ``"stop"``, ``"length"``, ``"eos_token"``, ...
        requested: The constraint of the request on the text; ``None`` without one.
        notes: Remarks for the reader, as sentences.
        stops: The stop strings and stop ids that may have ended the text. A server takes a stop
            string off the text.
        stop_named: Whether the response names the stop, so that ``stops`` has no other.
        elsewhere: The reason why the request's constraint does not apply to the text, as a
            sentence; empty if it does.
        failed: The reason why there is no answer, as a sentence; empty if there is one.
        reasoning: The reasoning that the response has in a field of its own; ``None`` without one.
        server: The server, a name of `explorer.servers.tables.SERVERS`; empty if not known.
        request: The request; without a value where the log has none.
        call: The tool that the answer calls, if the text is the arguments of a call.
    """

    place: str
    format: str
    model: str | None = None
    prompt: str | tuple[dict[str, str], ...] | None = None
    tokens: tuple[ServedToken, ...] = ()
    text: str | None = None
    finish: str | None = None
    requested: RequestedConstraint | None = None
    notes: tuple[str, ...] = ()
    stops: tuple[str | int, ...] = ()
    stop_named: bool = False
    elsewhere: str = ""
    failed: str = ""
    reasoning: str | None = None
    server: str = ""
    call: str = ""
    request: LogPlace = field(default=LogPlace("", "request", None), repr=False)

    def asked(self, *paths: str) -> object:
        """The value of a setting of the request or the server; ``None`` where it has none."""
        return setting_in(self.request, *paths).value

    def __repr__(self) -> str:
        if self.failed:
            return f"ServerRun({self.place!r}, {self.failed!r})"
        size = f"{len(self.tokens)} tokens" if self.tokens else "a text"
        return f"ServerRun({self.place!r}, {self.format}, {size}, finish={self.finish!r})"


# --- reasoning, and the ends of a text ---------------------------------------------------------

HARMONY_FINAL: Final = "<|channel|>final<|message|>"

REASONING_PARSERS: Final = by_name("reasoning_parsers")
"""The mark after which the answer begins, for a parser of vLLM or SGLang."""

_FINAL: Final = re.compile(rb"<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")

MARKERS: Final = table("markers", tuple[tuple[str, str], ...])
"""The markers that begin the reasoning, and those after which the answer begins."""

_ENDS: Final = re.compile(r"(?:\s*</answer>|(?:<\|(?:return|call|im_end|end)\|>)+)\s*$")


def answer_begins(shown: bytes, mark: str) -> int | None:
    """The offset at which the answer begins after its reasoning; ``None`` without the mark.

    Args:
        shown: The text, control tokens shown by their names.
        mark: The mark that ends the reasoning.

    Example:
        >>> answer_begins(b"Two.</think>2", "</think>")
        12
    """
    pattern = _FINAL if mark == HARMONY_FINAL else re.compile(re.escape(mark.encode()))
    match = pattern.search(shown)
    return None if match is None else match.end()


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
    stripped, data = text.lstrip(), text.encode()
    unfinished: Reasoning | None = None
    for first, last in MARKERS:
        begins = stripped.startswith(first)
        at = answer_begins(data, last)
        if at is None:
            unfinished = unfinished or (Reasoning(first, True, None) if begins else None)
        elif begins or first not in text[: len(data[:at].decode())]:
            answer = _ENDS.sub("", data[at:].decode().lstrip())
            return Reasoning(first if begins else last, begins, answer)
    return unfinished


def parser_of(run: ServerRun) -> str:
    """The name of the server's reasoning parser; empty where the log names none."""
    parser = run.asked("reasoning_parser")
    return parser if isinstance(parser, str) else ""


def parser_is_on(run: ServerRun) -> bool:
    """Whether the server took the reasoning out of the answer: it says so, or has it by itself."""
    return bool(run.reasoning or parser_of(run))


def marks_of(run: ServerRun) -> tuple[str, ...]:
    """The marks after which the answer of a run may begin; empty without a reasoning parser."""
    if not parser_is_on(run):
        return ()
    known = REASONING_PARSERS.get(parser_of(run))
    return (known,) if known is not None else tuple(last for _, last in MARKERS)


def after_mark(shown: bytes, marks: Sequence[str]) -> tuple[int, str]:
    """The number of leading bytes that are reasoning, and its mark; 0 and empty without a mark."""
    ends = ((at, mark) for mark in marks if (at := answer_begins(shown, mark)) is not None)
    return next(ends, (0, ""))


def is_harmony(run: ServerRun) -> bool:
    """Whether the model that wrote a run is gpt-oss, whose reasoning has no switch."""
    marked = "<|channel|>" in (run.text or "") or "gpt-oss" in (run.model or "").lower()
    return marked or REASONING_PARSERS.get(parser_of(run)) == HARMONY_FINAL


# The settings of a request that turn the reasoning on and off.
_SWITCHES: Final = table("switches", tuple[str, ...])


def thinking_off(run: ServerRun) -> str:
    """The setting of the request that turns the reasoning off; empty without one."""
    key = next((key for key in _SWITCHES if run.asked(key) is False), "")
    if not key and run.asked("reasoning_effort", "reasoning.effort") == "none":
        return "reasoning_effort: none"
    return f"{key.rpartition('.')[2]}: false" if key else ""


def soft_switch(run: ServerRun) -> str:
    """The last of Qwen 3's ``/think`` and ``/no_think`` in the prompt; empty without one."""
    turns = [run.prompt] if isinstance(run.prompt, str) else [
        turn["content"] for turn in run.prompt or () if turn["role"] in ("user", "system")
    ]  # fmt: skip
    switches = re.findall(r"(?<!\S)/(?:no_)?think(?!\S)", "\n".join(turns))
    return switches[-1] if switches else ""


# The names of tokens that end a text or a turn.
_END_NAMES: Final = table("end_names", frozenset[str])


def with_ends(run: ServerRun, vocabulary: Vocabulary) -> tuple[Vocabulary, tuple[str, ...]]:
    """The vocabulary with the ends that a run has, and a sentence on each that was added."""
    named = {name: token for token, name in vocabulary.special.items()}
    given = run.asked("eos_token_id", "generation_config.eos_token_id", "server.eos_token_id")
    listed = cast("list[object]", given) if isinstance(given, list) else [given]
    last = run.tokens[-1].token if run.tokens else None
    reasons = {
        "its name is that of an end or of padding, and the run ends with it": (
            [last] if vocabulary.special.get(last or 0, "") in _END_NAMES else []
        ),
        "the log has it as eos_token_id": listed,
        "the log names it as the stop": (
            [named.get(str(stop), stop) for stop in run.stops] if run.stop_named else []
        ),
    }
    ends: dict[int, str] = {}
    for why, tokens in reasons.items():
        for token in tokens:
            if type(token) is not int or token not in vocabulary.special:
                continue
            name = vocabulary.special[token]
            if token not in vocabulary.eos_ids and not _is_asked_for(run, name):
                ends[token] = f"{name} (id {token}): {why}"
    if not ends:
        return vocabulary, ()
    said = f"A further end of text was taken: {'; '.join(ends.values())}. "
    return _with_more(vocabulary, tuple(ends)), (f"{said}--eos names the ends otherwise.",)


@lru_cache(maxsize=8)
def _with_more(vocabulary: Vocabulary, ends: tuple[int, ...]) -> Vocabulary:
    return replace(vocabulary, eos_ids=tuple(sorted({*vocabulary.eos_ids, *ends})))


def _is_asked_for(run: ServerRun, name: str) -> bool:
    """Whether the constraint itself may speak of a token, so that it is not taken for an end."""
    asked = run.requested
    if not name or asked is None or asked.kind not in ("structural_tag", "tools"):
        return False
    return name in ("<|call|>" if asked.kind == "tools" else str(asked.place.value))
