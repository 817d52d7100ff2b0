"""The markup of models: the structural tag for some tools, of xgrammar or of `styles`.

xgrammar is given placeholder names that occur nowhere else, so that the places where it writes a
tool can be found afterwards in any markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, cast

from explorer.arguments import shown
from explorer.errors import ConstraintError, MissingDependency
from explorer.languages.tools.styles import CALL_STYLES, own_tag

ALIASES: Final[Mapping[str, str]] = MappingProxyType({"hermes": "qwen_3", "qwen": "qwen_3"})
"""Further names of markups; Hermes has that of Qwen 3."""

NESTING: Final[Mapping[str, str]] = MappingProxyType({
    "cohere": "cohere_xml", "minimax_m3": "minimax_m3_xml",
})  # fmt: skip
"""Markups of xgrammar with nested arguments, which are not supported."""

REASONING: Final = "reasoning"
ANSWER: Final = "answer"
TOOL: Final = "tool "
ARGUMENT: Final = "argument "
"""The prefixes of the phases of a tool and of an argument; the others are the names of phases."""

OF_XGRAMMAR: Final = (
    "deepseek_r1", "deepseek_v3_1", "deepseek_v3_2", "deepseek_v4", "deepseek_v4_1", "exaone",
    "glm_4_7", "hermes", "kimi", "kimi_k3", "llama", "mimo", "qwen", "qwen_3", "qwen_3_5",
    "qwen_3_coder",
)  # fmt: skip
"""The markups whose tags xgrammar 0.2.8 makes."""

MARKUPS: Final = tuple(sorted((*OF_XGRAMMAR, *CALL_STYLES, "harmony")))
"""The names of all supported markups."""

_Tags = dict[str, Any]


def _xgrammar_tag() -> Any:
    """The function of xgrammar that makes the tag of a model.

    Raises:
        MissingDependency: xgrammar is not installed, or its release does not fit.
    """
    try:
        return import_module("xgrammar").get_model_structural_tag
    except (ImportError, AttributeError) as error:
        raise MissingDependency(
            "The markup of models is taken from xgrammar 0.2.8, which is not installed.",
            remedy="pip install xgrammar==0.2.8, or write the format with structural_tag(...).",
        ) from error


def model_tag(
    style: str, tools: Sequence[Mapping[str, Any]], choice: object, *, parallel: bool,
    reasoning: str, answer: Mapping[str, Any] | bool | None,
) -> tuple[_Tags, dict[str, str]]:  # fmt: skip
    """The structural tag of a model for some tools, and the names of its tags by JSON Pointer.

    Args:
        tools: Tools in OpenAI's form, with checked names.
        choice: The choice in xgrammar's form: ``"auto"``, ``"required"``, ``"none"`` or an object.
        answer: The JSON Schema of an answer without calls; ``None`` for any text.

    Raises:
        ConstraintError: The markup is not known or not supported, or has no place for such an
            answer.
    """
    model = ALIASES.get(style, style)
    if model not in MARKUPS and model not in NESTING:
        raise ConstraintError(
            f"style={shown(style)} is not the markup of a model.",
            remedy=f"The markups are {', '.join(MARKUPS)}; write others with structural_tag.",
        )
    names = {f"T{k}q7vZ": str(tool["function"]["name"]) for k, tool in enumerate(tools)}
    stand_in = {name: mark for mark, name in names.items()}
    renamed = [
        {**tool, "function": {**tool["function"], "name": stand_in[tool["function"]["name"]]}}
        for tool in tools
    ]

    is_own = model == "harmony" or model in CALL_STYLES
    make_tag: Any = None if is_own else _xgrammar_tag()

    def asked(choice: object, reasoning: str) -> _Tags:
        chosen = _with_names(choice, stand_in)
        if is_own:
            return own_tag(model, renamed, chosen, parallel=parallel, reasoning=reasoning)
        made = make_tag(
            model, tools=renamed, tool_choice=chosen, reasoning=reasoning,
            parallel_tool_calls=parallel,
        )  # fmt: skip
        tag = _with_its_mark(json.loads(made.model_dump_json())["format"])
        return _with_a_call(tag, tuple(names)) if _demands(choice) else tag

    try:
        tag = asked(choice, reasoning)
        if answer is not None:
            calls = bool(tools) and choice != "none"
            behind = asked("required" if calls else choice, "disabled")
            tag = _answering(tag, asked(choice, "disabled"), behind if calls else None, answer)
    except (ValueError, TypeError, AssertionError) as error:
        raise ConstraintError(
            f"xgrammar does not make a structural tag of these tools: {error}",
            remedy="Write tools as OpenAI's Chat Completions has them.",
        ) from error
    if tag is None:
        raise ConstraintError(
            f"The markup {style!r} has no place for an answer under a schema.",
            remedy="Leave response_format out, or write the format with structural_tag.",
        )
    if NESTING.get(model, "\0") in json.dumps(tag):
        raise ConstraintError(
            f"style={shown(style)} writes arguments as {NESTING[model]}, which is not followed.",
            remedy=f"Give one of {', '.join(MARKUPS)}; or write the format with structural_tag.",
        )
    named: dict[str, str] = {}
    whole = {"type": "structural_tag", "format": _named(tag, names, "/format", named, reasoning)}
    return whole, named


def _with_its_mark(tag: _Tags) -> _Tags:
    """A tag whose reasoning begins in the prompt, so that the model may also begin it itself."""
    if tag.get("type") != "sequence":
        return tag
    first = cast("_Tags", tag["elements"][0])
    if first.get("type") == "sequence":
        return {**tag, "elements": [_with_its_mark(first), *tag["elements"][1:]]}
    if first.get("type") != "tag" or first.get("begin") or first.get("end") != "</think>":
        return tag
    mark = {"type": "optional", "content": {"type": "const_string", "value": "<think>"}}
    return {**tag, "elements": [mark, *tag["elements"]]}


def _demands(choice: object) -> bool:
    """Whether a choice demands a call."""
    if isinstance(choice, dict):
        allowed = cast("_Tags", choice).get("allowed_tools")
        return not isinstance(allowed, dict) or cast("_Tags", allowed).get("mode") == "required"
    return choice == "required"


def _with_a_call(tag: _Tags, marks: tuple[str, ...]) -> _Tags:
    """A tag without the texts that contain no call.

    Args:
        marks: The placeholders of the names of the tools.
    """

    def calls(part: object) -> bool:
        return any(mark in json.dumps(part) for mark in marks)

    if tag["type"] == "optional":
        return tag["content"]
    if tag["type"] == "or":
        return {**tag, "elements": [each for each in tag["elements"] if calls(each)]}
    return tag


def _with_names(choice: object, names: Mapping[str, str]) -> object:
    """A choice with the names of tools replaced."""
    if isinstance(choice, list):
        return [_with_names(each, names) for each in cast("list[object]", choice)]
    if not isinstance(choice, dict):
        return choice
    return {
        key: names.get(each, each) if key == "name" and isinstance(each, str)
        else _with_names(each, names)
        for key, each in cast("dict[str, object]", choice).items()
    }  # fmt: skip


def _answering(
    tag: _Tags, bare: _Tags, calls: _Tags | None, schema: Mapping[str, Any] | bool
) -> _Tags | None:
    """A tag with its free answer replaced by a schema; ``None`` if it has no place for one.

    Args:
        bare: The same tag without reasoning.
        calls: The tag of calls only; ``None`` if no call is allowed.
    """
    value = {"type": "json_schema", "json_schema": schema}
    if bare.get("type") in ("any_text", "triggered_tags"):
        after = value if calls is None else {"type": "or", "elements": [calls, value]}
        return _replaced(tag, bare, after)
    final = [
        each for each in _tags_in({"format": bare})
        if "final" in str(each["begin"]) and each["content"].get("type") == "any_text"
    ]  # fmt: skip
    for each in final:
        tag = _replaced(tag, each, {**each, "content": value})
    return tag if final else None


def _replaced(tag: Any, old: object, new: object) -> Any:
    """A tag with one part replaced by another."""
    if tag == old:
        return new
    if isinstance(tag, dict):
        return {key: _replaced(each, old, new) for key, each in cast("_Tags", tag).items()}
    if isinstance(tag, list):
        return [_replaced(each, old, new) for each in cast("list[Any]", tag)]
    return tag


def _tags_in(tag: _Tags) -> Iterator[_Tags]:
    """The tags inside a tag."""
    waiting: list[Any] = [each for key, each in tag.items() if key != "json_schema"]
    for value in waiting:  # The list grows while it is read.
        if isinstance(value, dict):
            part = cast("_Tags", value)
            if part.get("type") == "tag":
                yield part
            waiting += [each for key, each in part.items() if key != "json_schema"]
        elif isinstance(value, list):
            waiting += cast("list[Any]", value)


def _named(
    value: Any, names: Mapping[str, str], pointer: str, named: dict[str, str], reasoning: str,
    in_call: bool = False,
) -> Any:  # fmt: skip
    """A tag with the names of the tools filled in; adds the name of each tag to ``named``."""
    if isinstance(value, str):
        for mark, name in names.items():
            value = value.replace(mark, name)
        return value
    if isinstance(value, list):
        return [
            _named(each, names, f"{pointer}/{k}", named, reasoning, in_call)
            for k, each in enumerate(cast("list[Any]", value))
        ]
    if not isinstance(value, dict):
        return value
    data = cast("_Tags", value)
    if data.get("type") == "tag":
        written = json.dumps({key: each for key, each in data.items() if key != "type"})
        inside = [name for mark, name in names.items() if mark in written]
        nested = any(mark in json.dumps(each) for each in _tags_in(data) for mark in names)
        edges = str(data.get("begin")) + str(data.get("end"))
        if len(inside) == 1 and not nested:
            named[pointer] = f"{TOOL}{inside[0]}"
        elif not inside and in_call:
            begin = str(data.get("begin")).removeprefix("<parameter=")
            named[pointer] = f"{ARGUMENT}{begin.rstrip('=:>')}"
        elif not inside and any(word in edges.lower() for word in ("think", "analysis")):
            named[pointer] = REASONING
        elif not inside and any(word in edges for word in ("final", "response")):
            named[pointer] = ANSWER
        in_call = in_call or (len(inside) == 1 and not nested)
    return {
        key: _named(each, names, f"{pointer}/{key}", named, reasoning, in_call)
        for key, each in data.items() if key != "json_schema"
    } | {key: data[key] for key in ("json_schema",) if key in data}  # fmt: skip
