"""The reasoning of a run: its markers, and the settings about it.

A model that reasons writes its reasoning between two markers before its answer. A server with a
reasoning parser puts it into a field of its own, and the constraint begins after it; without one it
stays in the content, where the constraint does not allow it. So the parser, the switch for
thinking, the constraint and the limit on tokens must fit each other, and each misfit loses the
answer in a way of its own (`explorer.servers.causes`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer.servers.phases import HARMONY_FINAL, REASONING_PARSERS, answer_begins
from explorer.servers.run import ServerRun
from explorer.servers.tables import table

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
    whole = b"".join(pieces)
    for mark in marks:
        at = answer_begins(whole, mark)
        if at is not None:
            far = 0
            for count, piece in enumerate(pieces, 1):
                far += len(piece)
                if far >= at:
                    return count, mark
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
