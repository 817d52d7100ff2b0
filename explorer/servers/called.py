"""Answers that are not the text of a message: the arguments of tool calls, and refusals.

A `response_format` speaks about the text alone. The arguments of a call are held against the
parameters of its tool where the request makes the model follow them: it names that tool, asks for
some tool and has one only, or says that the tool is `strict`. Each call is a run.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.arguments import shown
from explorer.servers.log import ServerLog
from explorer.servers.place import LogPlace
from explorer.servers.requested import RequestedConstraint


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """One text of an answer, and what the request says of it.

    Args:
        text: The text.
        requested: The constraint that speaks about it; ``None`` without one.
        elsewhere: Why no constraint of the request speaks about it; empty where one does.
        notes: What the reader should know, as sentences.
        is_content: Whether it is the message's text, whose tokens the log may have.
    """

    text: str | None
    requested: RequestedConstraint | None
    elsewhere: str = ""
    notes: tuple[str, ...] = ()
    is_content: bool = True


def answer_parts(
    log: ServerLog, choice: LogPlace, requested: RequestedConstraint | None
) -> tuple[AnswerPart, ...]:
    """The texts of a choice: its content, or the arguments of its calls, or its refusal.

    Args:
        log: The log.
        choice: A choice of its response.
        requested: The constraint of the request for the content.
    """
    message = choice.at("message")
    content = message.at("content").optional_text()
    calls = message.at("tool_calls")
    found = [_call(log, call) for call in (calls.entries("a list of calls") if calls else ())]
    if found:
        before = [AnswerPart(content, requested, is_content=False)] if content else []
        return (*before, *found)
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
    """The schema that the arguments of a call must follow; ``None`` where none must."""
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
