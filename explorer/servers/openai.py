"""OpenAI's two interfaces, as implemented by OpenAI, vLLM, SGLang, TGI and others.

*Chat completions* have the log-probabilities in ``logprobs.content``, one object per token with its
text, its bytes and the likeliest others; *completions* have parallel lists. vLLM adds ids in two
ways: ``token_ids`` of the choice (``return_token_ids``), and texts of the form ``token_id:123``
(``return_tokens_as_token_ids``).

Checked against OpenAI's ``openai`` 3.54 for Python, and vLLM 0.33.

Some answers are not the text of a message: the arguments of tool calls, and refusals. A
`response_format` constrains the text alone. The arguments of a call are checked against the
parameters of its tool where the request makes the model follow them: it names that tool, asks for
some tool and has only one, or says that the tool is `strict`. Each call is a run.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, cast

from explorer.arguments import shown
from explorer.servers.formats import register_format
from explorer.servers.log import LogPlace, ServerLog
from explorer.servers.phases import unknown_parser
from explorer.servers.run import RequestedConstraint, ServedToken, ServerRun, requested_of, stops_of


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """One text of an answer with its constraint.

    Args:
        requested: The constraint of this text; ``None`` without one.
        elsewhere: The reason why no constraint of the request applies to it; empty if one does.
    """

    text: str | None
    requested: RequestedConstraint | None
    elsewhere: str = ""
    notes: tuple[str, ...] = ()
    is_content: bool = True


def answer_parts(
    log: ServerLog, choice: LogPlace, requested: RequestedConstraint | None
) -> tuple[AnswerPart, ...]:
    """The texts of a choice: its content, or the arguments of its calls, or its refusal."""
    message = choice.at("message")
    content = message.at("content").optional_text()
    calls = message.at("tool_calls")
    called = [_call(log, call) for call in (calls.entries("a list of calls") if calls else ())]
    if called:
        before = [AnswerPart(content, requested, is_content=False)] if content else []
        return (*before, *called)
    if not content and message.at("refusal"):
        said = "The answer is a refusal, about which no constraint of the request speaks."
        return (
            AnswerPart(message.at("refusal").text(), None, said, (said,), is_content=False),
        )  # fmt: skip
    if content is None and not (choice.at("token_ids") or choice.at("logprobs")):
        said = f"The answer has no text: {message.path}.content is null."
        return (AnswerPart(None, None, said, (said,)),)
    return (AnswerPart(content, requested),)


def _call(log: ServerLog, call: LogPlace) -> AnswerPart:
    function = call.at("function")
    name, arguments = function.at("name").text(), function.at("arguments").text()
    what = f"The answer is a call of the tool {shown(name)}"
    parameters = _followed(log, name)
    if parameters is None:
        said = (
            f"{what}, whose arguments the request does not constrain: it neither names the tool in "
            "tool_choice nor says that it is strict, and its other constraints speak about the "
            "text."
        )
        return AnswerPart(arguments, None, said, (said,), is_content=False)
    said = f"{what}; its arguments are held against {parameters.path}."
    return AnswerPart(
        arguments, RequestedConstraint(parameters, "json"), "", (said,), is_content=False
    )


def _followed(log: ServerLog, name: str) -> LogPlace | None:
    """The schema that the arguments of a call must follow; ``None`` without one."""
    listed = log.asked("tools")
    tools = [tool.at("function") for tool in listed.entries("a list of tools")] if listed else []
    choice = log.asked("tool_choice")
    is_named = isinstance(choice.value, dict) and (
        isinstance(choice.at("function").value, dict)
        and choice.at("function").at("name").value == name
    )
    is_only = log.asked("tool_choice").value == "required" and len(tools) == 1
    for tool in tools:
        if tool.at("name").value != name or not tool.at("parameters"):
            continue
        if is_named or is_only or tool.at("strict").value is True:
            return tool.at("parameters")
    return None


_UNLIKELY: Final = -9999.0
"""The number that OpenAI and vLLM write in place of an unreported log-probability."""

_STOPPED_BY: Final = ("stop_reason", "matched_stop")
"""The keys of vLLM and SGLang for the reason why a text ended."""

_ID_TEXT: Final = re.compile(r"token_id:(0|[1-9][0-9]{0,9})")


def _first_choice(log: ServerLog) -> dict[str, object]:
    """The first choice of a response; empty where it has none."""
    response = log.response.value
    if not isinstance(response, dict):
        return {}
    choices = cast("dict[str, object]", response).get("choices")
    first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
    return cast("dict[str, object]", first) if isinstance(first, dict) else {}


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """The format of chat completions."""

    name: str = "OpenAI chat completions"
    looked_for: str = "`choices[0].message` in the response"

    def is_own(self, log: ServerLog) -> bool:
        """Whether the first choice has a message."""
        return "message" in _first_choice(log)

    def runs(self, log: ServerLog) -> tuple[ServerRun, ...]:
        """One run for each choice, or for each of its calls of tools."""
        requested = requested_of(log.request)
        return tuple(
            ServerRun(
                place=choice.file,
                format=self.name,
                model=log.model(),
                prompt=log.messages(),
                prompt_ids=_ids(log.response.at("prompt_token_ids")),
                tokens=_chat_tokens(choice) if part.is_content else (),
                text=part.text,
                finish=choice.at("finish_reason").optional_text(),
                requested=part.requested,
                notes=(*_reasoning(choice.at("message")), *part.notes),
                stops=stops_of(log.request, choice, *_STOPPED_BY),
                elsewhere=part.elsewhere or ("" if requested else unknown_parser(log.request)),
            )
            for choice in log.response.at("choices").entries()
            for part in answer_parts(log, choice, requested)
        )


@dataclass(frozen=True, slots=True)
class CompletionFormat:
    """The format of text completions."""

    name: str = "OpenAI completions"
    looked_for: str = "`choices[0].text` in the response"

    def is_own(self, log: ServerLog) -> bool:
        """Whether the first choice has a text."""
        return "text" in _first_choice(log)

    def runs(self, log: ServerLog) -> tuple[ServerRun, ...]:
        """One run for each choice."""
        requested = requested_of(log.request)
        prompt = log.asked("prompt")
        known = prompt.value if isinstance(prompt.value, str) else None
        echo = log.asked("echo").value is True
        runs: list[ServerRun] = []
        for choice in log.response.at("choices").entries():
            text = choice.at("text").text()
            tokens = _completion_tokens(choice, len(known) if echo and known else 0)
            if echo and known and text.startswith(known):
                text = text[len(known) :]
            runs.append(
                ServerRun(
                    place=choice.file,
                    format=self.name,
                    model=log.model(),
                    prompt=known,
                    prompt_ids=_ids(choice.at("prompt_token_ids")),
                    tokens=tokens,
                    text=text,
                    finish=choice.at("finish_reason").optional_text(),
                    requested=requested,
                    stops=stops_of(log.request, choice, *_STOPPED_BY),
                )
            )
        return tuple(runs)


def _ids(place: LogPlace) -> tuple[int, ...] | None:
    return place.token_ids() if place else None


def _reasoning(message: LogPlace) -> tuple[str, ...]:
    if not (message.at("reasoning") or message.at("reasoning_content")):
        return ()
    return ("The model reasoned before it answered; the constraint holds for the answer.",)


def _chat_tokens(choice: LogPlace) -> tuple[ServedToken, ...]:
    ids = _ids(choice.at("token_ids"))
    if not choice.at("logprobs") or not choice.at("logprobs").at("content"):
        return tuple(ServedToken(token) for token in ids or ())
    entries = choice.at("logprobs").at("content").entries("a list of tokens")
    tokens = tuple(_chat_token(entry) for entry in entries)
    return _with_ids(tokens, ids, choice)


def _chat_token(entry: LogPlace) -> ServedToken:
    text = entry.at("token").text()
    token = named_id(text)
    top = entry.at("top_logprobs")
    return ServedToken(
        token=token,
        text=None if token is not None else text,
        # For a token that vLLM did not decode, the bytes are those of the placeholder itself.
        data=None if token is not None else entry.at("bytes").data(),
        log_prob=_log_prob(entry.at("logprob")),
        top=tuple(_likely(other) for other in (top.entries() if top else ())),
    )


def _likely(entry: LogPlace) -> tuple[int | str, float | None]:
    text = entry.at("token").text()
    token = named_id(text)
    return text if token is None else token, _log_prob(entry.at("logprob"))


def _log_prob(place: LogPlace) -> float | None:
    """A log-probability; ``None`` for the number that stands for an unreported one."""
    number = place.log_prob()
    return None if number is not None and -math.inf < number <= _UNLIKELY else number


def _completion_tokens(choice: LogPlace, begin: int) -> tuple[ServedToken, ...]:
    """The tokens of a completion."""
    ids = _ids(choice.at("token_ids"))
    listed = choice.at("logprobs")
    if not listed or not listed.at("tokens"):
        return tuple(ServedToken(token) for token in ids or ())
    texts = [entry.text() for entry in listed.at("tokens").entries()]
    count = len(texts)
    numbers = listed.at("token_logprobs").for_each(count, "log-probabilities")
    log_probs = [_log_prob(entry) for entry in numbers] or [None] * count
    top = listed.at("top_logprobs").for_each(count, "objects")
    likely = [_likely_of(entry) for entry in top] or [()] * count
    tokens: list[ServedToken] = []
    at = 0
    for k, text in enumerate(texts):
        at += len(text)
        if at <= begin:
            continue
        token = named_id(text)
        tokens.append(
            ServedToken(
                token=token,
                text=None if token is not None else text,
                log_prob=log_probs[k],
                top=likely[k],
            )
        )
    return _with_ids(tuple(tokens), ids, choice)


def _likely_of(place: LogPlace) -> tuple[tuple[int | str, float | None], ...]:
    if not place:
        return ()
    likely: list[tuple[int | str, float | None]] = []
    for text in place.mapping():
        token = named_id(text)
        # The key is a token's text, which may contain dots and brackets: it is not part of a path.
        number = LogPlace(place.file, f"{place.path}[{text!r}]", place.mapping()[text])
        likely.append((text if token is None else token, _log_prob(number)))
    return tuple(likely)


def _with_ids(
    tokens: tuple[ServedToken, ...], ids: tuple[int, ...] | None, choice: LogPlace
) -> tuple[ServedToken, ...]:
    if ids is None:
        return tokens
    if len(ids) != len(tokens):
        raise choice.at("token_ids").wrong(
            f"a list of {len(tokens)} ids, as many as there are log-probabilities"
        )
    return tuple(
        ServedToken(token, one.text, one.data, one.log_prob, one.top)
        for token, one in zip(ids, tokens, strict=True)
    )


def named_id(text: str) -> int | None:
    """The id that vLLM's ``token_id:123`` names; ``None`` for any other text.

    Example:
        >>> named_id("token_id:123"), named_id("token")
        (123, None)
    """
    match = _ID_TEXT.fullmatch(text)
    return None if match is None else int(match[1])


CHAT: Final = register_format(ChatFormat())
COMPLETIONS: Final = register_format(CompletionFormat())
