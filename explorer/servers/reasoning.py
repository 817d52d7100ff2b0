"""The beginning of the answer of a run and its end: the reasoning, and the ends of a text.

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
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Final, cast

from explorer.servers.phases import HARMONY_FINAL, REASONING_PARSERS, answer_begins
from explorer.servers.run import ServerRun
from explorer.servers.tables import table
from explorer.vocabulary import Vocabulary

MARKERS: Final = table("markers", tuple[tuple[str, str], ...])
"""The markers that begin the reasoning, and those after which the answer begins."""

_ENDS: Final = re.compile(r"(?:\s*</answer>|(?:<\|(?:return|call|im_end|end)\|>)+)\s*$")


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


def marker_of(name: str) -> str | None:
    """The marker that the name of a control token is a prefix of; ``None`` without one.

    Example:
        >>> marker_of("<think>"), marker_of("<|im_end|>")
        ('<think>', None)
    """
    return next((one for pair in MARKERS for one in pair if name and one.startswith(name)), None)


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


def after_mark(pieces: Sequence[bytes], marks: Sequence[str]) -> tuple[int, str] | None:
    """The number of leading pieces that are reasoning, and its mark; ``None`` without a mark.

    Args:
        pieces: What is shown of each token, or a whole text as its bytes.
    """
    whole, ends = b"".join(pieces), [*accumulate(map(len, pieces))]
    for mark in marks:
        if (at := answer_begins(whole, mark)) is not None:
            return bisect_left(ends, at) + 1, mark
    return None


def is_harmony(run: ServerRun) -> bool:
    """Whether the model that wrote a run is gpt-oss, whose reasoning has no switch."""
    marked = "<|channel|>" in (run.text or "") or "gpt-oss" in (run.model or "").lower()
    return marked or REASONING_PARSERS.get(parser_of(run)) == HARMONY_FINAL


def thinking_off(run: ServerRun) -> str:
    """The setting of the request that turns the reasoning off; empty without one."""
    keys = ("chat_template_kwargs.enable_thinking", "chat_template_kwargs.thinking",
            "enable_thinking", "think", "thinking")  # fmt: skip
    key = next((key for key in keys if run.asked(key) is False), "")
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


END_NAMES: Final = table("end_names", frozenset[str])
"""The names of tokens that end a text or a turn."""


def with_ends(run: ServerRun, vocabulary: Vocabulary) -> tuple[Vocabulary, tuple[str, ...]]:
    """The vocabulary with the ends that a run has, and a sentence on each that was added."""
    named = {name: token for token, name in vocabulary.special.items()}
    given = run.asked("eos_token_id", "generation_config.eos_token_id", "server.eos_token_id")
    listed = cast("list[object]", given) if isinstance(given, list) else [given]
    last = run.tokens[-1].token if run.tokens else None
    reasons = {
        "its name is that of an end or of padding, and the run ends with it": (
            [last] if vocabulary.special.get(last or 0, "") in END_NAMES else []
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
