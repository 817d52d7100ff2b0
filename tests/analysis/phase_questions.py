"""Questions about requests of several phases: reasoning, tools, an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import explorer
from explorer import Constraint, Vocabulary, any_text, choice, many, phase, token
from explorer.analysis.explaining.step import explain_step

NAMES = ("<think>", "</think>", "<tool_call>", "</tool_call>")
WORDS = (b"\n\n", b"Hello", b'{"', b'"city"', b":", b'"', b"Rome", b"}", b" sunny", b"1", b".")

Asked = tuple[str, str, str, Callable[[], str], str, Sequence[str]]
"""Title, how it comes up, setting, answer, advice, and words that the answer must hold."""


@cache
def chat() -> Vocabulary:
    """All bytes, some words, four control tokens, an end of text."""
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    tokens += [*WORDS, *[None] * (len(NAMES) + 1)]
    first = 256 + len(WORDS)
    names = {first + k: name for k, name in enumerate(NAMES)}
    return Vocabulary(tuple(tokens), (first + len(NAMES),), special=names)


WEATHER = explorer.json_schema(
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
     "additionalProperties": False},
)  # fmt: skip
THINKS = phase("reasoning", any_text(), begin=token("<think>"), end=token("</think>"))
CALL = phase("tool get_weather", WEATHER, begin=token("<tool_call>"), end=token("</tool_call>"))
SAYS = phase("answer", choice("sunny", "rainy"))
REASONED = THINKS + (CALL | SAYS)

SHOWN = '`token("<think>") … token("</think>")`, then a call of `get_weather` or an answer'


def ids_of(*parts: str | bytes) -> list[int]:
    """Control tokens by name, texts in whole words where there are some."""
    vocabulary = chat()
    control = {name: k for k, name in vocabulary.special.items()}
    ids: list[int] = []
    for part in parts:
        if isinstance(part, str):
            ids.append(control[part])
        else:
            whole = vocabulary.ids_of(part)
            ids += whole[:1] or [vocabulary.ids_of(bytes([byte]))[0] for byte in part]
    return ids


def said(constraint: Constraint, before: Sequence[str | bytes], last: str | bytes | int) -> str:
    """Why a token may or may not come next, in one line."""
    machine = explorer.compile(constraint, chat(), lazy=True)
    ids = ids_of(*before)
    state = machine.start
    for each in ids:
        following = machine.step(state, each)
        if following is None:
            raise AssertionError("the text before is not allowed")
        state = following
    wanted = last if isinstance(last, int) else ids_of(last)[0]
    return explorer.explain(machine, state, wanted, text=chat().written(ids)).message


def replayed(constraint: Constraint, *parts: str | bytes) -> str:
    """The place where a run from elsewhere broke, and its phase."""
    session = explorer.Session.from_ids(chat(), constraint, ids_of(*parts))
    inside = " or ".join(" › ".join(path) or "between phases" for path in session.phases)
    if session.rejection is None:
        return f"All {session.length} tokens are allowed; the text goes on in: {inside}."
    why = explain_step(session, session.rejection.token).message
    return f"Token {session.rejection.index} is rejected, in the phase {inside}.\n{why}"


def phase_questions() -> list[Asked]:
    """The questions, in the order of the page."""
    end = chat().eos_ids[0]
    return [
        (
            "The grammar rejects `</think>`. Whose mistake is it?",
            "A server hands the end of the reasoning to a matcher that knows the answer only.",
            "`json_schema(...)` alone, four control tokens, token `</think>`",
            lambda: said(WEATHER, (), "</think>"),
            "The constraint begins too early. Put the reasoning before it, as a phase.",
            ("</think>", "is masked at the start"),
        ),
        (
            "And with the reasoning as a phase?",
            "The same token, after some thought.",
            f"{SHOWN}; after `<think>` and `'.'`, token `</think>`",
            lambda: said(REASONED, ("<think>", b"."), "</think>"),
            "The seam is a part of the machine, so nobody has to watch for it.",
            ("is allowed",),
        ),
        (
            "Must the schema wait until the reasoning is over?",
            "A brace in the reasoning is not yet JSON.",
            f"{SHOWN}; after `<think>`, token `'{{\"'`",
            lambda: said(REASONED, ("<think>",), b'{"'),
            "Within the reasoning it is text. The schema begins where the phase before it ends.",
            ("is allowed",),
        ),
        (
            "The model spelled `</think>` in letters. Is the reasoning over?",
            "Text that looks like a control token is not that token.",
            f"{SHOWN}; after `<think>` and the text `'</think>'`, token `'Hello'`",
            lambda: said(REASONED, ("<think>", b"</think>"), b"Hello"),
            "It goes on as text. `any_text(excluding=['</think>'])` keeps the look-alike out.",
            ("'Hello'", "is allowed"),
        ),
        (
            "Two line breaks after the reasoning end the request. Why?",
            "Models are used to a blank line between reasoning and answer.",
            f"{SHOWN}; after `<think></think>`, token `'\\n\\n'`",
            lambda: said(REASONED, ("<think>", "</think>"), b"\n\n"),
            r"Nothing stands between the two phases. Write `THINKS + regex(r'\s*') + ...`.",
            ("is masked", "in the phase answer"),
        ),
        (
            "A tool call is required, and the model greets first. Is that allowed?",
            "There must be at least one call, and nothing but calls.",
            "`many(call, 1)`, at the start, token `'Hello'`",
            lambda: said(many(CALL, 1), (), b"Hello"),
            "It is masked. Where text may come first, say so: `phase('text', any_text()) + ...`.",
            ("'Hello'", "is masked at the start"),
        ),
        (
            "May there be a second call?",
            "Parallel calls are switched off.",
            "`many(call, 1, 1)`, after a whole call, token `<tool_call>`",
            lambda: said(
                many(CALL, 1, 1), ("<tool_call>", b'{"', b"city", b'"', b":", b'"', b"Rome", b'"',
                b"}", "</tool_call>"), "<tool_call>",
            ),
            "Give `many(call, 1, 3)` for up to three.",
            ("<tool_call>", "is masked"),
        ),
        (
            "An argument has the wrong type. Which tool, which argument?",
            "A number where the schema of the tool has a string.",
            f"{SHOWN}; after the call's `{{\"city\":`, token `'1'`",
            lambda: said(
                REASONED, ("<think>", "</think>", "<tool_call>", b'{"', b"city", b'"', b":"), b"1"
            ),
            "The reason names the phase and the place in its schema.",
            ("/properties/city", "in the phase tool get_weather"),
        ),
        (
            "May the model stop while it still thinks?",
            "A run ends in its reasoning, and nothing is answered.",
            f"{SHOWN}; after `<think>`, the end of the text",
            lambda: said(REASONED, ("<think>", b"Hello"), end),
            "It is masked, so with `max_tokens` as a budget the reasoning is ended in time.",
            ("The end of text", "is masked", "in the phase reasoning"),
        ),
        (
            "A draft crossed the seam and was refused. Was it right?",
            "Several tokens at once: the end of the reasoning, and the beginning of a call.",
            f"{SHOWN}; ids of `<think>.</think><tool_call>{{\"city\":1`",
            lambda: replayed(
                REASONED, "<think>", b".", "</think>", "<tool_call>", b'{"', b"city", b'"', b":",
                b"1",
            ),
            "The seam is not the reason: the first token that is refused stands in the call.",
            ("Token 11 is rejected, in the phase tool get_weather", "/properties/city"),
        ),
        (
            "Which phase does a cut-off run stand in?",
            "The text stops, and the log has only ids.",
            f"{SHOWN}; ids of `<think>Hello</think><tool_call>{{\"`",
            lambda: replayed(REASONED, "<think>", b"Hello", "</think>", "<tool_call>", b'{"'),
            "`Session.phases` says where a text goes on, `Trace.phases` where each token stood.",
            ("the text goes on in: tool get_weather",),
        ),
    ]  # fmt: skip
