"""Requests with several phases: structural tags, tools, and reasoning before the constraint.

A server's handling of them depends on its start options: ``tool_call_parser`` names the markup of
calls, ``reasoning_parser`` that of the reasoning before the constraint. Neither is in a request, so
a log that adds them to the request is read with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from explorer.languages.constraint import Constraint, literal
from explorer.languages.phases.functions import any_text, control_names, phase, token
from explorer.languages.phases.structural import StructuralTag
from explorer.languages.tools.functions import tools
from explorer.servers.log import LogPlace
from explorer.vocabulary import Vocabulary

TOOL_PARSERS: Final[Mapping[str, str]] = MappingProxyType({
    "hermes": "hermes", "qwen": "hermes", "qwen25": "hermes", "qwen3": "hermes",
    "qwen3_coder": "qwen_3_coder", "qwen3_xml": "qwen_3_coder",
    "llama3_json": "llama", "llama3": "llama", "llama4_json": "llama",
    "deepseek_v3": "deepseek_r1", "deepseekv3": "deepseek_r1",
    "deepseek_v31": "deepseek_v3_1", "deepseekv31": "deepseek_v3_1",
    "deepseek_v32": "deepseek_v3_2", "deepseekv32": "deepseek_v3_2",
    "kimi_k2": "kimi", "glm47": "glm_4_7", "openai": "harmony", "gpt-oss": "harmony",
    "minimax_m2": "minimax", "minimax-m2": "minimax", "mimo": "mimo",
})  # fmt: skip
"""The markup of vLLM's and SGLang's parsers of calls, by xgrammar's names."""

REASONING_PARSERS: Final[Mapping[str, str]] = MappingProxyType({
    **dict.fromkeys(
        ("deepseek_r1", "deepseek-r1", "deepseek_v3", "deepseek-v3", "qwen3", "qwen3-thinking",
         "glm45", "minimax_m2", "minimax", "kimi_k2", "nemotron_v3", "step3", "mimo"), "</think>"
    ),
    "mistral": "[/THINK]", "seed_oss": "</seed:think>", "kimi": "\u25c1/think\u25b7",
})  # fmt: skip
"""The mark that ends the reasoning for a parser of vLLM or SGLang."""


def tag_constraint(place: LogPlace, vocabulary: Vocabulary | None) -> Constraint:
    """The constraint of a structural tag; names of control tokens in it mean these tokens."""
    value = place.value
    if not isinstance(value, dict | str):
        raise place.wrong("a structural tag, an object or its text")
    given = cast("Mapping[str, object] | str", value)
    names = () if vocabulary is None else control_names(vocabulary)
    return Constraint(StructuralTag.of(given, names, strict=False).with_met_controls())


def asks_for_calls(owner: LogPlace) -> bool:
    """Whether a request's answer consists of calls in the markup of a parser that the log names.

    Under ``tool_choice="auto"`` servers enforce the schema only of tools that are ``strict``.
    """
    if owner.at("tool_call_parser").value not in TOOL_PARSERS or not owner.at("tools"):
        return False
    choice = owner.at("tool_choice").value
    if choice is not None and choice != "auto":
        return choice != "none"
    functions = [each.at("function") for each in owner.at("tools").entries("a list of tools")]
    return any(function and function.at("strict").value is True for function in functions)


def unknown_parser(owner: LogPlace | None) -> str:
    """A sentence on an unknown parser of calls that a request names; else empty."""
    parser = None if owner is None else owner.at("tool_call_parser").value
    if not isinstance(parser, str) or parser in TOOL_PARSERS:
        return ""
    return (
        f"tool_call_parser {parser!r} is not known here, so no markup is followed. Known are "
        f"{', '.join(TOOL_PARSERS)}."
    )


def tools_constraint(place: LogPlace, vocabulary: Vocabulary | None) -> Constraint:
    """The constraint of a request with tools.

    Args:
        place: The request.
    """
    choice: Any = place.at("tool_choice").value or "auto"
    return tools(
        [each.mapping() for each in place.at("tools").entries("a list of tools")],
        style=TOOL_PARSERS[place.at("tool_call_parser").text()],
        choice=choice,
        parallel=place.at("parallel_tool_calls").value is not False,
        control_tokens=vocabulary or (),
        strict=False,
    )


def after_reasoning(
    constraint: Constraint, end: str, vocabulary: Vocabulary | None, *, always: bool = False
) -> Constraint:
    """A constraint after optional reasoning up to a mark.

    Args:
        end: The mark: a control token if the vocabulary has one of that name.
        always: Whether the reasoning is required; a server that separates it returns a text
            without.
    """
    is_token = vocabulary is not None and end in control_names(vocabulary)
    closing = token(end) if is_token else literal(end)
    thought = phase("reasoning", any_text(excluding=[end]) + closing)
    behind = thought + phase("answer", constraint)
    return behind if always else behind | constraint
