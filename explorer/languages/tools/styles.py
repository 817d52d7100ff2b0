"""The markups that xgrammar has no structural tag for: a table, and the tag of a row.

A row says what stands around all calls, around one, and between two, with NUL in the place of the
name; the arguments are JSON, parameters in a style of `explorer.languages.phases.markup`, or
written as arguments of Python or of Gemma. The facts are those of the models' chat templates;
`tests/languages/tools/templates.py` has each form with its source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from explorer.errors import ConstraintError
from explorer.languages.schema.reading.subschemas import check_well_formed

_Tag = dict[str, Any]
NAME: Final = "\x00"


@dataclass(frozen=True, slots=True)
class CallStyle:
    """One markup of calls.

    Args:
        begin, end: Around a call; NUL stands for the name of its tool. A line break may follow a
            call that stands alone.
        opened, closed: Around all calls that follow each other; empty where each stands alone.
        between: Between two calls.
        arguments: ``"json"``, a style of parameters, ``"python"``, or the mark that stands for the
            quotes of a string in Gemma's notation; ``"list"`` for a JSON list of objects with
            ``name`` and ``arguments``, with any white space.
        ids: The pattern of the id that a call may have.
        think: The marks around the reasoning; empty for a model that has none.
        other: Another form of the same model.
    """

    begin: str = ""
    end: str = ""
    opened: str = ""
    closed: str = ""
    between: str = ""
    arguments: str = "json"
    ids: str = ""
    think: tuple[str, str] = ("", "")
    other: CallStyle | None = None


def _listed(
    opened: str, closed: str, think: tuple[str, str] = ("", ""), ids: str = ""
) -> CallStyle:
    """Calls in a JSON list between two marks."""
    return CallStyle("", "}", opened, closed, ",", "list", ids, think)


_OBJECT: Final = f'{{"name": "{NAME}", "arguments": '
_THINK: Final = ("<think>", "</think>")
_NINE: Final = "[a-zA-Z0-9]{9}"
CALL_STYLES: Final[Mapping[str, CallStyle]] = {
    "mistral": CallStyle(f"[TOOL_CALLS]{NAME}", ids=_NINE, think=("[THINK]", "[/THINK]")),
    "mistral_v3": _listed("[TOOL_CALLS]", "", ids=_NINE),
    "gemma_4": CallStyle(
        f"<|tool_call>call:{NAME}{{", "}<tool_call|>", arguments='<|"|>',
        think=("<|channel>thought\n", "<channel|>"),
    ),
    "functiongemma": CallStyle(
        f"<start_function_call>call:{NAME}{{", "}<end_function_call>", arguments="<escape>"
    ),
    "seed_oss": CallStyle(
        f"<seed:tool_call>\n<function={NAME}>\n", "</function>\n</seed:tool_call>",
        arguments="qwen_xml", think=("<seed:think>", "</seed:think>"),
    ),
    "minimax": CallStyle(
        f'<invoke name="{NAME}">\n', "</invoke>\n", "<minimax:tool_call>\n", "</minimax:tool_call>",
        arguments="minimax_xml", think=_THINK,
    ),
    "hunyuan": _listed("<tool_calls>", "</tool_calls>", _THINK),
    "granite": _listed("<|tool_call|>", ""),
    "granite_20b": CallStyle(f"<function_call> {_OBJECT}", "}"),
    "pythonic": CallStyle(f"{NAME}(", ")", "[", "]", ", ", "python"),
    "olmo_3": CallStyle(
        f"{NAME}(", ")", "<function_calls>\n", "\n</function_calls>", "\n", "python", think=_THINK
    ),
    "lfm_2": CallStyle(
        f"{NAME}(", ")", "<|tool_call_start|>[", "]<|tool_call_end|>", ", ", "python", think=_THINK,
        other=_listed("<|tool_call_start|>", "<|tool_call_end|>", ids=r'[^"\\\x00-\x1f]+'),
    ),
    "phi_4_mini": _listed("functools", ""),
    "xlam": _listed("", ""),
    "ernie_4_5": CallStyle(f"<tool_call>\n{_OBJECT}", "}\n</tool_call>", think=_THINK),
    "internlm": CallStyle(
        f"<|action_start|><|plugin|>\n{_OBJECT}", "}<|action_end|>", think=_THINK,
        other=CallStyle(
            f'<|action_start|><|plugin|>\n{{"name": "{NAME}", "parameters": ', "}<|action_end|>"
        ),
    ),
    "jamba": _listed("<tool_calls>", "</tool_calls>"),
}  # fmt: skip
"""The markups by name."""


def own_tag(
    style: str,
    tools: Sequence[Mapping[str, Any]],
    choice: object,
    *,
    parallel: bool,
    reasoning: str,
) -> _Tag:
    """The format of a markup of `CALL_STYLES`, or of Harmony, for some tools.

    Args:
        tools: Tools in OpenAI's form.
        choice: OpenAI's ``tool_choice``, with checked names.
        parallel: Whether several calls may follow each other.
        reasoning: As in `explorer.tools`.
    """
    tools, must = _chosen(tools, choice)
    if style == "harmony":
        return _harmony(tools, must=must, parallel=parallel, reasoning=reasoning)
    row = CALL_STYLES[style]
    forms = [row] if row.other is None else [row, row.other]
    calls = [each for form in forms for each in _calls(form, tools, parallel=parallel)]
    think = [mark for mark in row.think if mark]
    answer: _Tag = {"type": "any_text", "excludes": think}
    if calls and must:
        several = {"type": "tags_with_separator", "tags": calls, "separator": "",
                   "at_least_one": True,
                   "stop_after_first": _in_one(row) or not parallel}  # fmt: skip
        answer = {"type": "sequence", "elements": [_SPACE, several]}
    elif calls:
        begins = [form.opened or form.begin.partition(NAME)[0] or "[" for form in forms]
        answer = {"type": "triggered_tags", "triggers": [min(begins, key=len)], "tags": calls,
                  "excludes": think, "stop_after_first": not parallel}  # fmt: skip
    return _thinking(row.think, answer, reasoning)


def _chosen(
    tools: Sequence[Mapping[str, Any]], choice: object
) -> tuple[Sequence[Mapping[str, Any]], bool]:
    """The tools that a choice leaves, and whether one of them must be called."""
    if not isinstance(choice, dict):
        return [] if choice == "none" else tools, choice == "required"
    data = cast("_Tag", choice)
    allowed: Any = data.get("allowed_tools")
    if allowed is None:
        named = [data["function"]["name"]]
        return [each for each in tools if each["function"]["name"] in named], True
    named = [(each.get("function") or each)["name"] for each in allowed["tools"]]
    left = [each for each in tools if each["function"]["name"] in named]
    return left, allowed.get("mode") == "required"


def _thinking(marks: tuple[str, str], answer: _Tag, reasoning: str) -> _Tag:
    """An answer after reasoning between two marks, whose beginning may be in the prompt."""
    begin, end = marks
    if reasoning == "disabled" or not end:
        return answer
    inside: _Tag = {"type": "any_text", "excludes": [begin, end]}
    block: _Tag = {"type": "tag", "begin": "", "content": inside, "end": end}
    opened: _Tag = {"type": "const_string", "value": begin}
    if reasoning == "enabled":
        first: list[_Tag] = [{"type": "optional", "content": opened}, block]
    else:
        first = [{"type": "optional", "content": {**block, "begin": begin}}]
    return {"type": "sequence", "elements": [*first, answer]}


def schema_of_tool(function: Mapping[str, Any]) -> Mapping[str, Any] | bool:
    """The schema of a tool's arguments: any JSON where the tool is not strict or has none."""
    parameters = function.get("parameters")
    return True if parameters is None or function.get("strict") is False else parameters


_SPACE: Final[_Tag] = {
    "type": "star",
    "content": {
        "type": "or",
        "elements": [{"type": "const_string", "value": each} for each in " \n\t\r"],
    },
}
"""Any white space of JSON; it does not belong to the call."""


def _in_one(row: CallStyle) -> bool:
    """Whether all calls stand together."""
    return bool(row.opened) or row.arguments == "list"


def _calls(row: CallStyle, tools: Sequence[Mapping[str, Any]], *, parallel: bool) -> list[_Tag]:
    """The tags of calls in one form: one for each tool, or one around all."""
    calls = [_call(row, each["function"]) for each in tools]
    if not calls or not _in_one(row):
        return calls
    content: _Tag = {"type": "tags_with_separator", "tags": calls, "separator": row.between,
                     "at_least_one": True, "stop_after_first": not parallel}  # fmt: skip
    begin, end = row.opened, row.closed
    if row.arguments == "list":
        end = f"]{end}"
        opens = [_SPACE, _fixed("[")] if begin else []
        content, begin = _sequence(*opens, content, _SPACE), begin or "["
    return [{"type": "tag", "begin": begin, "content": content, "end": end}]


def _sequence(*parts: _Tag) -> _Tag:
    return {"type": "sequence", "elements": [*parts]}


def _fixed(text: str) -> _Tag:
    return {"type": "const_string", "value": text}


def _call(row: CallStyle, function: Mapping[str, Any]) -> _Tag:
    schema, name = schema_of_tool(function), str(function["name"])
    begin = row.begin.replace(NAME, name)
    if row.arguments == "python":
        content = _written_out(schema, "=", ", ", "")
    elif row.arguments == "list":
        content = _listed_call(row, name, schema)
    elif row.arguments == "qwen_xml":
        content = _parameters(schema)
    elif row.arguments == "json" or row.arguments.endswith("_xml"):
        content = {"type": "json_schema", "json_schema": schema, "style": row.arguments}
        if row.ids:  # Mistral's, whose calls have no end.
            pattern: _Tag = {"type": "regex", "pattern": row.ids}
            content = _sequence(_optional(_fixed("[CALL_ID]"), pattern), _fixed("[ARGS]"), content)
    else:
        content = _written_out(schema, ":", ",", row.arguments)
    alone = row.end and not row.opened
    end = [row.end, f"{row.end}\n"] if alone else row.end
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def _listed_call(row: CallStyle, name: str, schema: Mapping[str, Any] | bool) -> _Tag:
    """An object of a JSON list up to its end, with any white space between its tokens."""
    tokens: list[_Tag | str] = ["{", '"name"', ":", f'"{name}"', ",", '"arguments"', ":", {
        "type": "json_schema", "json_schema": schema, "style": "json"}]  # fmt: skip
    if row.ids:
        pattern: _Tag = {"type": "regex", "pattern": row.ids}
        member = [",", '"id"', ":", _sequence(_fixed('"'), pattern, _fixed('"'))]
        tokens.append(_optional(*_spaced(member)))
    return _sequence(*_spaced(tokens), _SPACE)


def _spaced(tokens: Sequence[_Tag | str]) -> list[_Tag]:
    """Tokens with any white space before each."""
    made = [_fixed(each) if isinstance(each, str) else each for each in tokens]
    return [part for each in made for part in (_SPACE, each)]


# --- Arguments that are not JSON ----------------------------------------------------------------


def _keywords(schema: Any) -> _Tag:
    """The keywords of a schema, each of the right type.

    Raises:
        UnsupportedSchema: A keyword is not.
    """
    data = cast("_Tag", schema) if isinstance(schema, dict) else {}
    check_well_formed(data, "", 7)
    return data


def _written_out(schema: Any, equals: str, comma: str, quote: str) -> _Tag:
    """Arguments by name, in the order of the schema; in Gemma's notation strings have marks.

    Gemma's template sorts the names, so that order is taken too.

    Args:
        quote: The mark around a string; empty for the notation of Python.
    """
    data = _keywords(schema)
    properties: dict[str, Any] = data.get("properties", {})
    if not properties:
        return _fixed("") if data else {"type": "any_text"}
    required = data.get("required", [])
    left: list[tuple[_Tag, bool]] = [
        ({"type": "tag", "begin": f"{name}{equals}", "end": "",
          "content": _value(each, data, comma, quote)}, name in required)
        for name, each in properties.items()
    ]  # fmt: skip
    by_name = sorted(left, key=lambda each: str(each[0]["begin"]).lower())
    orders = [left, by_name] if quote and by_name != left else [left]
    return _either([_in_order(each, _fixed(comma)) for each in orders])


def _in_order(left: Sequence[tuple[_Tag, bool]], comma: _Tag) -> _Tag:
    """Members in order, with a comma between two, of which only some are required."""
    tails = [_sequence(comma, one) if must else _optional(comma, one) for one, must in left]
    starts: list[_Tag] = []
    for k, (one, must) in enumerate(left):
        starts.append(_sequence(one, *tails[k + 1 :]))
        if must:
            return _either(starts)
    return _optional(_either(starts))


def _either(forms: list[_Tag]) -> _Tag:
    return {"type": "or", "elements": forms} if len(forms) > 1 else forms[0]


def _value(schema: Any, root: _Tag, comma: str, quote: str) -> _Tag:
    """The content of one value."""
    data = _keywords(schema)
    kind = data.get("type")
    below = {name: root[name] for name in ("$defs", "definitions") if name in root}
    json_value: _Tag = {"type": "json_schema", "style": "json", "json_schema": {**below, **data}}
    if not quote:
        return _either([json_value, *_as_python(data)])
    if (values := _values(data)) is not None:
        texts = [each for each in values if isinstance(each, str)]
        others = [each for each in values if not isinstance(each, str)]
        words: _Tag = {"type": "regex", "pattern": "|".join(re.escape(each) for each in texts)}
        forms: list[_Tag] = [{"type": "tag", "begin": quote, "content": words, "end": quote}]
        listed: _Tag = {**json_value, "json_schema": {"enum": others}}
        return _either([*(forms if texts else []), *([listed] if others else [])])
    if kind == "string":
        inside: _Tag = {"type": "any_text"}
        if "pattern" in data:
            inside = {"type": "regex", "pattern": str(data["pattern"])}
        return {"type": "tag", "begin": quote, "content": inside, "end": quote}
    if kind == "array" and isinstance(data.get("items"), dict):
        item = _value(data["items"], root, comma, quote)
        one: _Tag = {"type": "tag", "begin": "", "content": item, "end": ""}
        several: _Tag = {"type": "tags_with_separator", "tags": [one], "separator": comma}
        return {"type": "tag", "begin": "[", "content": several, "end": "]"}
    if kind == "object" and data.get("properties"):
        content = _written_out(schema, ":", comma, quote)
        return {"type": "tag", "begin": "{", "content": content, "end": "}"}
    if kind in ("integer", "number", "boolean", "null"):
        # The template of vLLM for FunctionGemma puts the marks around every value.
        marked: _Tag = {"type": "tag", "begin": quote, "content": json_value, "end": quote}
        return _either([json_value, marked]) if quote == "<escape>" else json_value
    raise ConstraintError(
        "A value without a type, or of several types, is not followed in Gemma's notation.",
        remedy='Give each property one "type", and arrays "items".',
    )


def _values(data: _Tag) -> list[Any] | None:
    """The values that a schema lists."""
    return data.get("enum", [data["const"]] if "const" in data else None)


def _parameters(schema: Any) -> _Tag:
    """Parameters as Seed-OSS writes them: what is not text as Python does, or as JSON."""
    whole: _Tag = {"type": "json_schema", "json_schema": schema, "style": "qwen_xml"}
    data = _keywords(schema)
    properties: dict[str, Any] = data.get("properties", {})
    required: list[str] = data.get("required", [])
    closed = data.get("additionalProperties", False) is False
    if not properties or not closed or not set(required) <= set(properties):
        return whole
    parts: list[_Tag] = []
    for name, each in properties.items():
        alone = {**data, "properties": {name: each}, "required": [name] * (name in required)}
        given = _keywords(each)
        python = _as_python(given) if given.get("type", "string") != "string" else []
        if python:
            tag: _Tag = {"type": "tag", "begin": f"<parameter={name}>", "content": _either(python),
                         "end": "</parameter>"}  # fmt: skip
            python = [_sequence(_SPACE, tag)]
        parts.append(_either([{**whole, "json_schema": alone}, *python]))
    return _sequence(*parts, _SPACE)


_ESCAPE: Final = (
    r"\\(?:['\"\\nrt]|x[0-9a-f]{2}|u[0-9a-ce-f][0-9a-f]{3}|ud[0-7][0-9a-f]{2}|U000[0-9a-f]{5})"
)
_SINGLE: Final = rf"(?:[^'\\\x00-\x1f]|[\n\r\t]|{_ESCAPE})*"
_DOUBLE: Final = rf"(?:[^\"\\\x00-\x1f]|{_ESCAPE})*"
_REPR: Final = rf"(?:'(?:[^'\\\x00-\x1f]|{_ESCAPE})*'|\"{_DOUBLE}\")"
_INTEGER: Final = "-?(?:0|[1-9][0-9]*)"
_PLAIN: Final[Mapping[str, str]] = {
    "string": _REPR, "integer": _INTEGER, "boolean": "(?:True|False)", "null": "None",
    "number": rf"{_INTEGER}(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?",
}  # fmt: skip
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {"boolean": ("True", "False"), "null": ("None",)}
_REMARKS: Final = frozenset({"type", "title", "description", "default", "examples"})


def _as_python(data: _Tag) -> list[_Tag]:
    """A value as Python's ``repr`` writes it, beside JSON; none where keywords say more.

    The quotes, brackets and words are the beginnings of tags, by which `source` knows them.
    """
    kind = str(data.get("type"))
    if kind in _WORDS:
        return [{"type": "tag", "begin": word, "content": _fixed(""), "end": ""}
                for word in _WORDS[kind]]  # fmt: skip
    if (values := _values(data)) is not None:
        texts = [each for each in values if isinstance(each, str)]
        quoted = [each.replace("\\", "\\\\").replace("'", "\\'") for each in texts]
        inside: str | None = "|".join(re.escape(each) for each in quoted) if quoted else None
        kind = "string"
    elif kind == "string":
        inside = _SINGLE if set(data) <= _REMARKS else None
    else:
        whole = _python(data) if kind in ("array", "object") else None
        inside = None if whole is None else whole[2:-2]  # Without its brackets.
    if inside is None:
        return []
    begin, end = {"string": "''", "array": "[]", "object": "{}"}[kind]
    pattern: _Tag = {"type": "regex", "pattern": inside}
    return [{"type": "tag", "begin": begin, "content": pattern, "end": end}]


def _python(schema: Any) -> str | None:
    """The pattern of a value as Python's ``repr`` writes it; ``None`` where keywords say more."""
    data = _keywords(schema)
    kind = str(data.get("type"))
    if kind in _PLAIN:
        return _PLAIN[kind] if set(data) <= _REMARKS else None
    if kind == "array" and set(data) <= {*_REMARKS, "items"}:
        item = _python(data.get("items"))
        return None if item is None else rf"\[(?:{item}(?:, {item})*)?\]"
    closed = data.get("additionalProperties", False) is False
    known = {*_REMARKS, "properties", "required", "additionalProperties"}
    if kind != "object" or not closed or not set(data) <= known:
        return None
    return _python_members(data.get("properties", {}), data.get("required", []))


def _python_members(properties: Mapping[str, Any], required: Sequence[str]) -> str | None:
    left: list[tuple[str, bool]] = []
    for name, each in properties.items():
        value = _python(each)
        if value is None or not re.fullmatch(r"\w+", name, re.ASCII):
            return None
        left.append((f"'{name}': {value}", name in required))
    tails = [f"(?:, {one})" if must else f"(?:, {one})?" for one, must in left]
    starts: list[str] = []
    for k, (one, must) in enumerate(left):
        starts.append("".join([one, *tails[k + 1 :]]))
        if must:
            return rf"\{{(?:{'|'.join(starts)})\}}"
    return rf"\{{(?:{'|'.join(starts)})?\}}" if starts else r"\{\}"


# --- Harmony ------------------------------------------------------------------------------------

_CALL_HEADS: Final = (
    f"<|channel|>commentary to=functions.{NAME}", f" to=functions.{NAME}<|channel|>commentary",
    f"<|channel|>analysis to=functions.{NAME}",
)  # fmt: skip
_FORMS: Final = (" <|constrain|>json", "<|constrain|>json", " json", "")


def _harmony(
    tools: Sequence[Mapping[str, Any]], *, must: bool, parallel: bool, reasoning: str
) -> _Tag:
    """The messages of gpt-oss: analysis, preambles, calls and the final answer.

    The recipient of a call stands in the channel or in the role, and a space may stand before the
    kind of the content, or nothing at all.
    """
    text: _Tag = {"type": "any_text"}
    calls: list[_Tag] = [
        {"type": "tag", "begin": f"{head}{form}<|message|>".replace(NAME, each["function"]["name"]),
         "content": {"type": "json_schema", "json_schema": schema_of_tool(each["function"])},
         "end": "<|call|>"}
        for each in tools for head in _CALL_HEADS for form in _FORMS
    ]  # fmt: skip
    before: list[_Tag] = []
    if reasoning != "disabled":
        before.append({"type": "tag", "begin": "<|channel|>analysis<|message|>", "content": text,
                       "end": "<|end|>"})  # fmt: skip
    if tools:
        before.append({"type": "tag", "begin": "<|channel|>commentary<|message|>", "content": text,
                       "end": "<|end|>"})  # fmt: skip
    final: list[_Tag] = [
        {"type": "tag", "begin": f"<|channel|>final{form}<|message|>", "content": text,
         "end": ["<|return|>", "<|end|>"]} for form in ("", " <|constrain|>json")
    ]  # fmt: skip
    between = "<|start|>assistant"

    def messages(tags: list[_Tag], *, one: bool = False) -> _Tag:
        return {"type": "tags_with_separator", "tags": tags, "separator": between,
                "at_least_one": True, "stop_after_first": one}  # fmt: skip

    every, joint = [*before, *calls, *final], {"type": "const_string", "value": between}
    if parallel and not must:
        return messages(every)
    parts = [messages(calls if must else [*calls, *final], one=True)]
    if before:
        parts.insert(0, _optional(messages(before), joint))
    if parallel:
        parts.append(_optional(joint, messages([*before, *calls])))
    return {"type": "sequence", "elements": parts} if len(parts) > 1 else parts[0]


def _optional(*parts: _Tag) -> _Tag:
    return {"type": "optional", "content": {"type": "sequence", "elements": [*parts]}}
