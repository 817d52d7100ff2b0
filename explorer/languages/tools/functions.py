"""The function `tools`, which users call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, cast

from explorer.arguments import flag, instance, listed, mapped, named_way, plain, shown
from explorer.errors import ConstraintError, ExplorerError, UnsupportedSchema
from explorer.languages.constraint import Constraint
from explorer.languages.phases.functions import control_names
from explorer.languages.schema.reading.text import (
    indented,
    is_response_format,
    requested_schema,
    text_of_data,
)
from explorer.languages.tools.markups import model_tag
from explorer.languages.tools.source import ToolsTag
from explorer.vocabulary import Vocabulary

_REMEDY: Final = (
    'Write {"type": "function", "function": {"name": "get_weather", "parameters": {...}}}.'
)


def tools(
    tools: Iterable[Mapping[str, Any]],
    *,
    style: str,
    choice: str | Mapping[str, Any] = "auto",
    parallel: bool = True,
    reasoning: Literal["enabled", "disabled", "auto"] = "disabled",
    response_format: Mapping[str, Any] | None = None,
    control_tokens: Iterable[str] | Vocabulary = (),
    strict: bool = True,
) -> Constraint:
    """Calls of tools in the markup of a model, with the arguments of a request to OpenAI.

    Each tool is a phase, ``tool get_weather``; so are ``reasoning`` and ``answer``.
    `Constraint.parse` gives a dict of ``calls`` (each with ``name`` and ``arguments``), ``answer``
    and ``reasoning``. The markup is that of xgrammar 0.2.8 for the model, or, for models that it
    has not, that of their chat templates (`explorer.languages.tools.styles`).

    Args:
        tools: OpenAI's ``tools``: ``{"type": "function", "function": {"name": …, "parameters":
            {…}}}``. Without ``parameters``, or with ``"strict": false``, arguments are any JSON.
        style: The markup: ``"hermes"`` (Qwen 3), ``"llama"``, ``"harmony"``, ``"deepseek_v3_1"``,
            ``"glm_4_7"``, ``"kimi"``, … The error for an unknown name lists them all.
        choice: ``"auto"``, ``"required"``, ``"none"``, or the name of the tool that is called;
            or OpenAI's ``tool_choice``.
        parallel: Whether several calls may follow each other.
        reasoning: ``"enabled"`` for a block of reasoning first, whose beginning may be in the
            prompt (of Qwen 3 it is not); ``"auto"`` for a whole block or none.
        response_format: OpenAI's ``response_format`` for an answer without calls.
        control_tokens: As in `structural_tag`; a vocabulary for the names of its control tokens.
        strict: As in `json_schema`.

    Raises:
        ConstraintError: A tool is malformed or given twice, or its schema cannot be followed; the
            choice names no given tool, a call is required without tools, or the markup is not known
            or not supported (``"cohere"``, ``"minimax_m3"``).
        MissingDependency: xgrammar is not installed.

    Source:
        xgrammar 0.2.8, ``get_model_structural_tag``.

    Example:
        >>> city = {"properties": {"city": {"type": "string"}}, "required": ["city"]}
        >>> weather = {"type": "function", "function": {"name": "weather", "parameters": city}}
        >>> c = tools([weather], style="llama", choice="required")  # doctest: +SKIP
        >>> c.parse('{"name": "weather", "parameters": {"city": "Bonn"}}')  # doctest: +SKIP
        {'reasoning': '', 'calls': [{'name': 'weather', 'arguments': {'city': 'Bonn'}}], ...}
    """
    known = [_tool(each, k) for k, each in enumerate(_listed(tools))]
    names = [str(each["function"]["name"]) for each in known]
    for name in names:
        if names.count(name) > 1:
            raise ConstraintError(
                f"There are {names.count(name)} tools {name!r}.", remedy="Give each its own name."
            )
    way = named_way(
        "reasoning", reasoning, ("enabled", "disabled", "auto"),
        'one of "enabled", "disabled" and "auto"', error=ConstraintError,
    )  # fmt: skip
    style = instance("style", style, str, "the name of a markup", error=ConstraintError)
    answer: Any = None
    if response_format is not None:
        if not is_response_format(response_format):
            raise ConstraintError(
                f"response_format={shown(response_format)} is not one of OpenAI's.",
                remedy='Write {"type": "json_schema", "json_schema": {...}}.',
            )
        asks_for_text = response_format.get("type") == "text"
        answer = None if asks_for_text else requested_schema(response_format)
    parallel, controls = flag("parallel", parallel), control_names(control_tokens)
    chosen, strict = _choice(choice, names), flag("strict", strict)
    tag: Mapping[str, object] = {}
    try:
        tag, by_pointer = model_tag(
            style, known, chosen, parallel=parallel, reasoning=way, answer=answer
        )
        made = _source(tag, by_pointer, controls, strict=strict)
    except ExplorerError as error:
        if tag or isinstance(error, UnsupportedSchema):  # Else it is about the style.
            for number, each in enumerate(known):
                _check_alone(style, each, number, controls, strict=strict)
        raise error
    return Constraint(made.with_met_controls() if isinstance(control_tokens, Vocabulary) else made)


def _source(
    tag: Mapping[str, object], by_pointer: Mapping[str, str], controls: tuple[str, ...], *,
    strict: bool,
) -> ToolsTag:  # fmt: skip
    text = indented(text_of_data(tag))
    return ToolsTag.of(text, controls, tuple(by_pointer.items()), strict=strict)


def _check_alone(
    style: str, tool: Mapping[str, Any], number: int, controls: tuple[str, ...], *, strict: bool
) -> None:
    """Raise the error of a tool that is refused even alone, with its name."""
    try:
        tag, by_pointer = model_tag(
            style, [tool], "required", parallel=True, reasoning="disabled", answer=None
        )
        _source(tag, by_pointer, controls, strict=strict)
    except ExplorerError as error:
        cause = error.__cause__ if isinstance(error, ConstraintError) else None
        told = cause if isinstance(cause, ExplorerError) else error  # Without a place in the tag.
        raise ConstraintError(
            f"tools[{number}], {tool['function']['name']!r}: {told.message}",
            remedy=told.remedy, evidence=told.evidence,
        ) from error  # fmt: skip


def _listed(tools: object) -> list[object]:
    if isinstance(tools, Mapping):
        raise ConstraintError("tools is one tool, not a list of them.", remedy="Write [tool].")
    return listed("tools", tools, "a list of tools", error=ConstraintError)


def _tool(given: object, number: int) -> dict[str, Any]:
    """A tool reduced to the members that matter, in OpenAI's form."""
    tool = cast("Mapping[str, Any]", given if isinstance(given, Mapping) else {})
    function: object = tool.get("function")
    if tool.get("type") == "function" and "name" in tool and function is None:
        function = tool  # The form of OpenAI's newer interfaces.
    if not isinstance(function, Mapping) or tool.get("type", "function") != "function":
        what = shown(cast("object", given))
        raise ConstraintError(f"tools[{number}], {what}, is not a tool.", remedy=_REMEDY)
    data = cast("Mapping[str, Any]", function)
    name, parameters = data.get("name"), data.get("parameters")
    if not isinstance(name, str) or not name or not name.isprintable():
        raise ConstraintError(f"tools[{number}] has the name {shown(name)}.", remedy=_REMEDY)
    if not isinstance(parameters, Mapping | None):
        raise ConstraintError(
            f"The parameters of tools[{number}], {name!r}, are not an object.",
            remedy="Give the JSON Schema of an object.",
        )
    made: dict[str, Any] = {"name": name, "parameters": parameters}
    if "strict" in data:
        made["strict"] = data["strict"]
    return {"type": "function", "function": made}


def _choice(choice: object, names: list[str]) -> object:
    """A choice in OpenAI's form, with checked names."""
    if isinstance(choice, Mapping):
        data = mapped("choice", cast("object", choice), "a choice of tools", error=ConstraintError)
        if isinstance(name := data.get("function"), str):
            data["function"] = {"name": name}
        asked = _names_in([data.get("function"), data.get("allowed_tools")])
        if not asked:
            raise ConstraintError(
                f"choice={shown(data)} names no tool.",
                remedy=f'Write {{"type": "function", "function": {{"name": {_known(names)}}}}}.',
            )
        for name in asked:
            _check_choice(name, names)
        return data
    choice = plain(choice) if isinstance(choice, str) else None if choice is None else shown(choice)
    if choice == "required" and not names:
        raise ConstraintError(
            "A call is required, and there is no tool.", remedy='Give tools, or choice="auto".'
        )
    if choice in ("auto", "required", "none"):
        return choice
    _check_choice(choice, names)
    return {"type": "function", "function": {"name": choice}}


def _names_in(value: object) -> list[object]:
    """The values of all members ``name`` in some JSON."""
    if isinstance(value, list):
        return [name for each in cast("list[object]", value) for name in _names_in(each)]
    if not isinstance(value, Mapping):
        return []
    data = cast("Mapping[str, object]", value)
    below = [name for each in data.values() for name in _names_in(each)]
    return [data["name"], *below] if "name" in data else below


def _known(names: list[str]) -> str:
    return " or ".join(f'"{name}"' for name in names) or '"…"'


def _check_choice(name: object, names: list[str]) -> None:
    """Refuse a choice of a tool that was not given.

    Raises:
        ConstraintError: The name is not one of the tools.
    """
    if name in names:
        return
    close = get_close_matches(name, names, 1) if isinstance(name, str) else []
    remedy = f"Did you mean {close[0]!r}?" if close else (
        f'Give "auto", "required", "none" or one of {", ".join(names) or "some tools"}.'
    )  # fmt: skip
    raise ConstraintError(f"choice={shown(name)} is not the name of a tool.", remedy=remedy)
