"""Requests with several phases: structural tags, tools, and reasoning before the constraint.

A server's handling of them depends on its start options: ``tool_call_parser`` names the markup of
calls, ``reasoning_parser`` that of the reasoning before the constraint. Neither is in a request, so
a log that adds them to the request is read with them.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, Final

from explorer.languages.constraint import Constraint, literal
from explorer.languages.phases.functions import any_text, control_names, phase, token
from explorer.languages.phases.structural import StructuralTag
from explorer.languages.tools.functions import tools
from explorer.servers.log import LogPlace
from explorer.servers.tables import by_name, sentence, table
from explorer.vocabulary import Vocabulary

TOOL_PARSERS: Final = by_name("tool_parsers")
"""The markup of vLLM's and SGLang's parsers of calls, by the styles of `explorer.tools`."""

UNREAD_PARSERS: Final = by_name("unread_parsers")
"""The parsers that are known and not followed, each with the reason."""

CALL_MARKS: Final = table("call_marks", dict[str, str])
"""The marks with which calls begin, and the parsers that read them."""

HARMONY_FINAL: Final = "<|channel|>final<|message|>"

REASONING_PARSERS: Final = by_name("reasoning_parsers")
"""The mark after which the answer begins, for a parser of vLLM or SGLang."""

_FINAL: Final = re.compile(rb"<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")


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


def tag_constraint(place: LogPlace, vocabulary: Vocabulary | None) -> Constraint:
    """The constraint of a structural tag; names of control tokens in it mean these tokens."""
    given = place.checked(dict[str, Any] | str, "a structural tag, an object or its text")
    names = () if vocabulary is None else control_names(vocabulary)
    return Constraint(StructuralTag.of(given, names, strict=False).with_met_controls())


def asks_for_calls(request: LogPlace) -> bool:
    """Whether a request's answer consists of calls in the markup of a parser that the log names.

    Under ``tool_choice="auto"`` servers enforce the schema only of tools that are ``strict``.
    """
    listed = (
        tools_of(request) if str(request.find("tool_call_parser").value) in TOOL_PARSERS else []
    )
    strict = any(tool.at("strict").value is True for tool in listed)
    return bool(listed) and (demanded_tools(request) is not None or strict)


def tools_of(request: LogPlace) -> list[LogPlace]:
    """The tools of a request, each the object that has its name and its parameters."""
    listed = request.find("tools", "functions")
    each = listed.entries("a list of tools") if listed else []
    return [tool.one("function", "custom") or tool for tool in each]


def demanded_tools(request: LogPlace) -> tuple[str, ...] | None:
    """The tools of which the request demands a call; none of them for any tool.

    OpenAI names a tool in an object, and TGI as a text; ``allowed_tools`` names several. Anthropic
    writes ``any`` for what is ``required`` elsewhere.

    Returns:
        ``None`` where no call is demanded.
    """
    choice = request.find("tool_choice", "function_call")
    kind = choice.value if isinstance(choice.value, str) else choice.find("type").value
    if kind in ("required", "any"):
        return ()
    if kind == "allowed_tools":
        if choice.find("allowed_tools.mode", "mode").value != "required":
            return None
        listed = choice.find("allowed_tools.tools", "tools").entries("a list of tools")
        return tuple(each.find("function.name", "name").text() for each in listed)
    named = choice.find("function.name", "name", "function")
    if isinstance(choice.value, str):
        named = choice
    return (named.text(),) if named and named.value not in ("auto", "none") else None


def schema_of_calls(request: LogPlace) -> object:
    """The schema of the calls that a request demands; ``None`` where its parser, or none, says.

    OpenAI's form of tools alone: servers make the model write the arguments of a named tool, or a
    list of names and parameters.
    """
    demanded, listed = demanded_tools(request), tools_of(request)
    given = all(tool.has("parameters") for tool in listed)
    if demanded is None or request.has("tool_call_parser") or not listed or not given:
        return None
    wanted = [tool for tool in listed if not demanded or tool.at("name").value in demanded]
    if request.find("tool_choice").value not in ("required", "any") and len(wanted) == 1:
        return wanted[0].at("parameters").value
    members = [
        {"name": {"const": tool.at("name").value}, "parameters": tool.at("parameters").value}
        for tool in wanted
    ]
    calls = [{"type": "object", "properties": each, "required": [*each]} for each in members]
    return {"type": "array", "minItems": 1, "items": {"anyOf": calls}} if calls else None


def unparsed_call(request: LogPlace, text: str) -> str:
    """A sentence on a call that stands in the text of an answer; empty where there is none."""
    mark = next((each for each in CALL_MARKS if each in text), None)
    if mark is None or not tools_of(request) or request.has("tool_call_parser"):
        return ""
    return sentence("unparsed_call", mark=mark, parser=CALL_MARKS[mark])


def unknown_parser(request: LogPlace) -> str:
    """A sentence on an unknown parser of calls that a request names; else empty."""
    parser = request.find("tool_call_parser").value
    if not isinstance(parser, str) or parser in TOOL_PARSERS:
        return ""
    if parser in UNREAD_PARSERS:
        return sentence("unread_calls", parser=parser, why=UNREAD_PARSERS[parser])
    near = get_close_matches(parser, TOOL_PARSERS, 3)
    meant = f" Is it {' or '.join(near)}?" if near else ""
    return sentence("unknown_calls", parser=parser, meant=meant)


def tools_constraint(place: LogPlace, vocabulary: Vocabulary | None) -> Constraint:
    """The constraint of a request with tools.

    Args:
        place: The request.
    """
    demanded = demanded_tools(place)
    choice: Any = "none" if place.at("tool_choice").value == "none" else "auto"
    if demanded is not None:
        listed = [{"type": "function", "function": {"name": name}} for name in demanded]
        wanted = {"mode": "required", "tools": listed}
        choice = {"type": "allowed_tools", "allowed_tools": wanted} if demanded else "required"
    return tools(
        [each.mapping() for each in place.at("tools").entries("a list of tools")],
        style=TOOL_PARSERS[place.at("tool_call_parser").text()],
        choice=choice,
        parallel=place.at("parallel_tool_calls").value is not False,
        control_tokens=vocabulary or (),
        strict=False,
    )


def after_reasoning(constraint: Constraint, end: str, vocabulary: Vocabulary) -> Constraint:
    """A constraint after reasoning up to a mark.

    Args:
        end: The mark: a control token if the vocabulary has one of that name.
    """
    closing = token(end) if end in control_names(vocabulary) else literal(end)
    thought = phase("reasoning", any_text(excluding=[end]) + closing)
    return thought + phase("answer", constraint)
