"""Requests with several phases: structural tags, tools, and reasoning before the constraint.

A server's handling of them depends on its start options: ``tool_call_parser`` names the markup of
calls, ``reasoning_parser`` that of the reasoning before the constraint. Neither is in a request, so
a log that adds them to the request is read with them.
"""

from __future__ import annotations

import re
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
    name: style
    for style, names in {
        "hermes": "hermes qwen qwen25 qwen3 qwen2_5 granite4 longcat",
        "qwen_3_coder": "qwen3_coder qwen3_xml step3p5 nemotron_v3 nano_v3 qwen3_5",
        "llama": "llama3_json llama3 llama4_json",
        "deepseek_r1": "deepseek_v3 deepseekv3 deepseek-v3",
        "deepseek_v3_1": "deepseek_v31 deepseekv31",
        "deepseek_v3_2": "deepseek_v32 deepseekv32",
        "deepseek_v4": "deepseek_v4 deepseekv4",
        "kimi": "kimi_k2", "kimi_k3": "kimi_k3",
        "glm_4_7": "glm47 glm45 glm glm4 glm4_moe glm4_moe_lite",
        "harmony": "openai gpt-oss gpt_oss",
        "minimax": "minimax_m2 minimax-m2", "mimo": "mimo",
        "mistral": "mistral", "mistral_v3": "mistral_v3", "gemma_4": "gemma4",
        "functiongemma": "functiongemma", "seed_oss": "seed_oss", "hunyuan": "hunyuan_a13b",
        "granite": "granite", "granite_20b": "granite-20b-fc",
        "pythonic": "pythonic llama4_pythonic llama4",
        "olmo_3": "olmo3", "lfm_2": "lfm2", "phi_4_mini": "phi4_mini_json", "xlam": "xlam",
        "ernie_4_5": "ernie45", "internlm": "internlm interns1", "jamba": "jamba",
        "exaone": "exaone exaone4",
    }.items() for name in names.split()
})  # fmt: skip
"""The markup of vLLM's and SGLang's parsers of calls, by the styles of `explorer.tools`."""

UNREAD_PARSERS: Final[Mapping[str, str]] = MappingProxyType({
    name: why
    for why, names in {
        "its arguments nest in elements, which is not followed": "minimax_m3 step3 apertus2509",
        "its markup is not written down here": "minimax cohere_command3 cohere_command4 gigachat3 "
        "hy_v3 "
        "poolside_v1 minicpm5 dots muse spark25 trinity",
    }.items() for name in names.split()
})  # fmt: skip
"""The parsers that are known and not followed, each with the reason."""

HARMONY_FINAL: Final = "<|channel|>final<|message|>"

REASONING_PARSERS: Final[Mapping[str, str]] = MappingProxyType({
    name: mark
    for mark, names in {
        "</think>": "deepseek_r1 deepseek-r1 deepseek_v3 deepseek-v3 deepseek_v4 deepseek-v4 qwen3 "
        "qwen3-thinking qwen3_5 glm45 minimax_m2 minimax minimax-append-think "
        "minimax_m2_append_think kimi_k2 nemotron_v3 nemotron_3 nano_v3 step3 step3p5 mimo ernie45 "
        "granite4 interns1 olmo3 exaone4 hunyuan holo2 longcat poolside_v1",
        "[/THINK]": "mistral", "</seed:think>": "seed_oss", "\u25c1/think\u25b7": "kimi",
        "<channel|>": "gemma4", "<|END_THINKING|>": "cohere_command3 cohere_command4",
        "<answer>": "hunyuan_a13b", "Here is my response:": "granite",
        HARMONY_FINAL: "openai_gptoss gpt-oss gpt_oss openai",
    }.items() for name in names.split()
})  # fmt: skip
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
    if mark == HARMONY_FINAL:
        match = _FINAL.search(shown)
        return None if match is None else match.end()
    at = shown.find(mark.encode())
    return None if at < 0 else at + len(mark.encode())


def tag_constraint(place: LogPlace, vocabulary: Vocabulary | None) -> Constraint:
    """The constraint of a structural tag; names of control tokens in it mean these tokens."""
    value = place.value
    if not isinstance(value, dict | str):
        raise place.wrong("a structural tag, an object or its text")
    given = cast("Mapping[str, object] | str", value)
    names = () if vocabulary is None else control_names(vocabulary)
    return Constraint(StructuralTag.of(given, names, strict=False).with_met_controls())


def asks_for_calls(request: LogPlace) -> bool:
    """Whether a request's answer consists of calls in the markup of a parser that the log names.

    Under ``tool_choice="auto"`` servers enforce the schema only of tools that are ``strict``.
    """
    if not request or request.at("tool_call_parser").value not in TOOL_PARSERS:
        return False
    strict = any(tool.at("strict").value is True for tool in tools_of(request))
    return bool(tools_of(request)) and (demanded_tools(request) is not None or strict)


def tools_of(request: LogPlace) -> list[LogPlace]:
    """The tools of a request, each the object that has its name and its parameters."""
    listed = request.at("tools") if request else request
    each = listed.entries("a list of tools") if listed else []
    return [tool.at("function") if tool.has("function.name") else tool for tool in each]


def demanded_tools(request: LogPlace) -> tuple[str, ...] | None:
    """The tools of which the request demands a call; none of them for any tool.

    OpenAI names a tool in an object, and TGI as a text; ``allowed_tools`` names several. Anthropic
    writes ``any`` for what is ``required`` elsewhere.

    Returns:
        ``None`` where no call is demanded.
    """
    choice = request.at("tool_choice") if request else request
    if not choice or choice.value in ("auto", "none"):
        return None
    if isinstance(choice.value, str):
        return () if choice.value in ("required", "any") else (choice.value,)
    kind = choice.at("type").value
    listed = choice.one("allowed_tools.tools", "tools") if kind == "allowed_tools" else None
    if listed is not None:
        mode = choice.one("allowed_tools.mode", "mode").value
        names = [each.one("function.name", "name") for each in listed.entries() if listed]
        return tuple(name.text() for name in names) if mode == "required" else None
    named = choice.one("function.name") if choice.has("function.name") else choice.at("name")
    if not named and isinstance(choice.at("function").value, str):
        named = choice.at("function")
    if named:
        return (named.text(),)
    return () if kind in ("required", "any") else None


def unknown_parser(request: LogPlace) -> str:
    """A sentence on an unknown parser of calls that a request names; else empty."""
    parser = request.at("tool_call_parser").value if request else None
    if not isinstance(parser, str) or parser in TOOL_PARSERS:
        return ""
    if parser in UNREAD_PARSERS:
        return f"tool_call_parser {parser!r} is not followed: {UNREAD_PARSERS[parser]}."
    return (
        f"tool_call_parser {parser!r} is not known here, so no markup is followed. Known are "
        f"{', '.join(TOOL_PARSERS)}."
    )


def tools_constraint(place: LogPlace, vocabulary: Vocabulary | None) -> Constraint:
    """The constraint of a request with tools.

    Args:
        place: The request.
    """
    demanded, names = demanded_tools(place), [tool.at("name").value for tool in tools_of(place)]
    choice: Any = "auto"
    if place.at("tool_choice").value == "none":
        choice = "none"
    elif demanded is not None:
        listed = [{"type": "function", "function": {"name": name}} for name in demanded or names]
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
    is_token = end in control_names(vocabulary)
    closing = token(end) if is_token else literal(end)
    thought = phase("reasoning", any_text(excluding=[end]) + closing)
    return thought + phase("answer", constraint)
