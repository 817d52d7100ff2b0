"""The reasoning of a run: where it ends, and where the answer went.

A model that reasons writes its reasoning between two markers before its answer. A server with a
reasoning parser puts it into a field of its own, and the constraint begins after it; without one it
stays in the content, where the constraint does not allow it. So the parser, the switch for
thinking, the constraint and the limit on tokens must fit each other, and each misfit loses the
answer in a way of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer.arguments import shown
from explorer.servers.phases import HARMONY_FINAL, REASONING_PARSERS, answer_begins
from explorer.servers.run import LIMITED, ServerRun
from explorer.servers.settings import SERVERS
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


def parser_is_on(run: ServerRun) -> bool:
    """Whether the server took the reasoning out of the answer: it says so, or has it by itself."""
    return bool(run.reasoning) or isinstance(run.asked("reasoning_parser"), str)


def marks_of(run: ServerRun) -> tuple[str, ...]:
    """The marks after which the answer of a run may begin; empty without a reasoning parser."""
    if not parser_is_on(run):
        return ()
    parser = run.asked("reasoning_parser")
    known = REASONING_PARSERS.get(parser) if isinstance(parser, str) else None
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


def setting_of(run: ServerRun, topic: str) -> str:
    """The settings of the run's server for a topic; of vLLM and SGLang where it is not known."""
    if topic == "thinking" and _is_harmony(run):
        return '"reasoning_effort": "low" in the request shortens it; gpt-oss always reasons'
    if run.server in SERVERS:
        row = SERVERS[run.server]
        told: str = getattr(row, topic)
        return told if row.title in told else f"{row.title}: {told}"
    told = getattr(SERVERS["vllm"], topic)
    return f"vLLM and SGLang: {told}"


def _is_harmony(run: ServerRun) -> bool:
    """Whether the model that wrote a run is gpt-oss, whose reasoning has no switch."""
    parser = run.asked("reasoning_parser")
    marked = "<|channel|>" in (run.text or "") or "gpt-oss" in (run.model or "").lower()
    return marked or REASONING_PARSERS.get(str(parser)) == HARMONY_FINAL


def no_parser(run: ServerRun, marker: str) -> str:
    """A clause on reasoning in the content, which a marker shows, with the remedy."""
    if run.reasoning:
        return (
            "the reasoning was taken off before it, and the model reasoned again, or closed its "
            "reasoning twice. Bound the reasoning, or turn it off "
            f"({setting_of(run, 'thinking')})."
        )
    off = (
        f". The request turns thinking off ({thinking_off(run)}), but the model or its template "
        "does not follow that."
        if thinking_off(run)
        else f", or the reasoning off ({setting_of(run, 'thinking')})."
    )
    if marker.startswith("<|channel|>"):
        off = "."  # The reasoning of gpt-oss has no switch.
    what = "the model reasoned in the content"
    if soft_switch(run) == "/no_think" and not thinking_off(run):
        what = "/no_think in the prompt leaves the reasoning empty, but not its marks"
    return (
        f"{what}, and the constraint speaks about the answer alone. Turn "
        f"the server's reasoning parser on ({setting_of(run, 'reasoning')}){off}"
    )


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


def misfits(run: ServerRun, *, masked: bool) -> list[str]:
    """Sentences on settings of the reasoning that do not fit each other.

    Args:
        masked: Whether the constraint masks something of the run.
    """
    said: list[str] = []
    parser = run.asked("reasoning_parser")
    named = f"reasoning parser {parser!r}" if isinstance(parser, str) else "reasoning parser"
    if isinstance(parser, str) and parser not in REASONING_PARSERS:
        said.append(f"The {named} is not known here: the marks of all models were looked for.")
    if masked and parser_is_on(run) and thinking_off(run):
        ignored = " Beside this setting /think in the prompt does nothing."
        ignored = ignored if soft_switch(run) == "/think" else ""
        said.append(
            f"Thinking is off ({thinking_off(run)}), and the server has a {named}: it waits for "
            "the mark that ends the reasoning, which never comes, so the constraint never begins. "
            f"Run without the parser, or leave thinking on.{ignored}"
        )
    asked = run.requested
    if masked and asked is not None and asked.kind == "structural_tag" and parser_is_on(run):
        text = json.dumps(asked.place.value, ensure_ascii=False)
        mark = next((mark for mark in marks_of(run) if mark and mark in text), None)
        if mark is not None:
            said.append(
                f"The structural tag asks for reasoning up to {mark} itself, and the server's "
                f"{named} has taken the reasoning off before it: two owners of one part. Make the "
                "tag without the reasoning, or run without the parser."
            )
    return said


def line_breaks_after(run: ServerRun, data: bytes, mark: str) -> str:
    """A sentence on white space that is masked right after the reasoning; empty for anything else.

    Args:
        data: The masked part of the answer, from its beginning.
    """
    if not mark or not data or data[:1] not in b" \t\r\n":
        return ""
    return (
        f"The model writes white space after {mark}, and the constraint begins there: "
        "its engine takes no white space before the answer. A server that validates drafted or "
        "prefilled tokens reports it as refused; the fault is in the mask of that one position."
    )


def where_it_went(run: ServerRun, *, fits: bool, whole: bool) -> tuple[str, str] | None:
    """The outcome and the sentence for a run without an answer.

    Args:
        fits: Whether the constraint allows the reasoning, as far as it goes.
        whole: Whether it allows it as a whole text.

    Returns:
        ``None`` where nothing explains it.
    """
    keys = ("max_tokens", "max_completion_tokens", "max_new_tokens", "num_predict",
            "options.num_predict", "n_predict", "max_output_tokens")  # fmt: skip
    limits = [(key, run.asked(key)) for key in keys if isinstance(run.asked(key), int)]
    field = "the reasoning field of the response"
    if run.reasoning and whole:
        return "ended early", (
            f"the answer is not in the content but in {field}, and the constraint allows it there: "
            f"{shown(run.reasoning)}. The reasoning parser took it, because the mark that ends the "
            "reasoning never came: the constraint was in force from the first token. Run without "
            "the reasoning parser where thinking is off, or leave thinking on, so that the "
            f"constraint begins after the mark ({setting_of(run, 'thinking')} turns it off)."
        )
    if parser_is_on(run) and run.finish in LIMITED:
        told = "{} ({})".format(*limits[0]) if limits else "the limit on tokens"
        return "cut", (
            f"the reasoning used up {told}, so no answer was begun. Raise the limit, bound the "
            f"reasoning, or turn it off ({setting_of(run, 'thinking')})."
        )
    if run.finish in ("tool_calls", "tool_use") or run.asked("tool_choice") in ("required", "any"):
        parser = run.asked("tool_call_parser")
        named = f" ({parser})" if isinstance(parser, str) else ""
        return "ended early", (
            f"a call was demanded or announced, and there is none: the server's parser of calls"
            f'{named} lost it. With tool_choice "required" the server makes the model write JSON, '
            'which a parser of another markup does not read: ask with tool_choice "auto", or give '
            "the server the parser of the model."
        )
    if run.reasoning:
        how = "is allowed so far, but not complete" if fits else "is not allowed there either"
        return "ended early", (
            f"the content is empty, and the model wrote only reasoning, which {how}. "
            "The reasoning never ended, or the parser took the answer for it."
        )
    return None


def names_shown(ids: Sequence[int | None], vocabulary: Vocabulary) -> list[bytes]:
    """The bytes of each token, control tokens shown by their names."""
    return [
        (vocabulary.tokens[token] or vocabulary.special.get(token, "").encode())
        if token is not None and 0 <= token < len(vocabulary)
        else b""
        for token in ids
    ]
