"""The markups that xgrammar has no structural tag for: a table, and the tag of a row.

A row says what stands around all calls, around one, and between two, with NUL in the place of the
name; the arguments are JSON, parameters in a style of `explorer.languages.phases.markup`, or
written as arguments of Python or of Gemma. The facts are those of the models' chat templates, whose
rendered forms are in `tests/languages/tools/rendered.py`, each with its source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from explorer.errors import ConstraintError

_Tag = dict[str, Any]
NAME: Final = "\x00"


@dataclass(frozen=True, slots=True)
class CallStyle:
    """One markup of calls.

    Args:
        begin, end: Around a call; NUL stands for the name of its tool.
        opened, closed: Around all calls that follow each other; empty where each stands alone.
        between: Between two calls.
        arguments: ``"json"``, a style of parameters, ``"python"``, or the mark that stands for the
            quotes of a string in Gemma's notation.
        think: The marks around the reasoning; empty for a model that has none.
    """

    begin: str
    end: str
    opened: str = ""
    closed: str = ""
    between: str = ""
    arguments: str = "json"
    think: tuple[str, str] = ("", "")


_OBJECT: Final = f'{{"name": "{NAME}", "arguments": '
_THINK: Final = ("<think>", "</think>")
CALL_STYLES: Final[Mapping[str, CallStyle]] = {
    "mistral": CallStyle(f"[TOOL_CALLS]{NAME}[ARGS]", "", think=("[THINK]", "[/THINK]")),
    "mistral_v3": CallStyle(_OBJECT, "}", "[TOOL_CALLS] [", "]", ", "),
    "gemma_4": CallStyle(
        f"<|tool_call>call:{NAME}{{", "}<tool_call|>", arguments='<|"|>',
        think=("<|channel>thought\n", "<channel|>"),
    ),
    "functiongemma": CallStyle(
        f"<start_function_call>call:{NAME}{{", "}<end_function_call>", arguments="<escape>"
    ),
    "seed_oss": CallStyle(
        f"<function={NAME}>\n", "</function>\n", "<seed:tool_call>\n", "</seed:tool_call>",
        arguments="qwen_xml", think=("<seed:think>", "</seed:think>"),
    ),
    "minimax": CallStyle(
        f'<invoke name="{NAME}">\n', "</invoke>\n", "<minimax:tool_call>\n", "</minimax:tool_call>",
        arguments="minimax_xml", think=_THINK,
    ),
    "hunyuan": CallStyle(_OBJECT, "}", "<tool_calls>[", "]</tool_calls>", ", ", think=_THINK),
    "granite": CallStyle(_OBJECT, "}", "<|tool_call|>[", "]", ", "),
    "granite_20b": CallStyle(f"<function_call> {_OBJECT}", "}"),
    "pythonic": CallStyle(f"{NAME}(", ")", "[", "]", ", ", "python"),
    "olmo_3": CallStyle(
        f"{NAME}(", ")", "<function_calls>\n", "\n</function_calls>", "\n", "python", _THINK
    ),
    "lfm_2": CallStyle(
        f"{NAME}(", ")", "<|tool_call_start|>[", "]<|tool_call_end|>", ", ", "python", _THINK
    ),
    "phi_4_mini": CallStyle(_OBJECT, "}", "functools[", "]", ", "),
    "xlam": CallStyle(_OBJECT, "}", "[", "]", ", "),
    "ernie_4_5": CallStyle(f"<tool_call>\n{_OBJECT}", "}\n</tool_call>\n", think=_THINK),
    "internlm": CallStyle(
        f'<|action_start|><|plugin|>\n{{"name": "{NAME}", "parameters": ', "}<|action_end|>\n",
        think=_THINK,
    ),
    "jamba": CallStyle(_OBJECT, "}", "<tool_calls>[\n    ", "\n]</tool_calls>", ",\n    "),
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
    calls = [_call(row, each["function"]) for each in tools]
    think = [mark for mark in row.think if mark]
    answer: _Tag = {"type": "any_text", "excludes": think}
    if calls and row.opened:
        several = {"type": "tags_with_separator", "tags": calls, "separator": row.between,
                   "at_least_one": True, "stop_after_first": not parallel}  # fmt: skip
        calls = [{"type": "tag", "begin": row.opened, "content": several, "end": row.closed}]
    if calls and must:
        one = bool(row.opened) or not parallel
        answer = {"type": "tags_with_separator", "tags": calls, "separator": "",
                  "at_least_one": True, "stop_after_first": one}  # fmt: skip
        answer = {
            "type": "sequence",
            "elements": [{"type": "regex", "pattern": r"[ \t\r\n]*"}, answer],
        }
    elif calls:
        begins = [row.opened] if row.opened else [row.begin.partition(NAME)[0]]
        answer = {"type": "triggered_tags", "triggers": begins, "tags": calls, "excludes": think,
                  "stop_after_first": not parallel}  # fmt: skip
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


def _call(row: CallStyle, function: Mapping[str, Any]) -> _Tag:
    schema, begin = schema_of_tool(function), row.begin.replace(NAME, str(function["name"]))
    if row.arguments == "python":
        content = _written_out(schema, "=", ", ", "")
    elif row.arguments == "json" or row.arguments.endswith("_xml"):
        content = {"type": "json_schema", "json_schema": schema, "style": row.arguments}
        if row.begin == _OBJECT and row.opened.startswith("[TOOL"):
            # Mistral's older templates write an id of nine characters after the arguments.
            tail: _Tag = {"type": "regex", "pattern": '(?:, "id": "[a-zA-Z0-9]{9}")?'}
            content = {"type": "sequence", "elements": [content, tail]}
    else:
        content = _written_out(schema, ":", ",", row.arguments)
    return {"type": "tag", "begin": begin, "content": content, "end": row.end}


def _written_out(schema: Any, equals: str, comma: str, quote: str) -> _Tag:
    """Arguments by name, in the order of the schema; in Gemma's notation strings have marks.

    Args:
        quote: The mark around a string; empty for the notation of Python.
    """
    data = cast("_Tag", schema) if isinstance(schema, dict) else {}
    properties: dict[str, Any] = data.get("properties", {})
    required = data.get("required", [])
    left: list[tuple[_Tag, bool]] = [
        ({"type": "tag", "begin": f"{name}{equals}", "end": "",
          "content": _value(each, data, comma, quote)}, name in required)
        for name, each in properties.items()
    ]  # fmt: skip
    if not left:
        return {"type": "const_string", "value": ""} if data else {"type": "any_text"}
    separator: _Tag = {"type": "const_string", "value": comma}

    def rest(k: int, *, first: bool) -> _Tag | None:
        """The arguments from k on; ``None`` where nothing is left."""
        if k == len(left):
            return None
        one, must = left[k]
        after, without = rest(k + 1, first=False), rest(k + 1, first=first)
        taken = [*([] if first else [separator]), one, *([after] if after is not None else [])]
        made: _Tag = {"type": "sequence", "elements": taken}
        if must:
            return made
        if without is None:
            return {"type": "optional", "content": made}
        return {"type": "or", "elements": [made, without]}

    made = rest(0, first=True)
    return made if made is not None else {"type": "const_string", "value": ""}


_PYTHON_WORDS: Final = {"boolean": "True|False", "null": "None"}


def _single_quoted(data: _Tag) -> _Tag | None:
    """A string in single quotes, as Python writes one; ``None`` where the schema bounds it."""
    inside: _Tag = {"type": "regex", "pattern": r"(?:[^'\\\x00-\x1f]|\\['\"\\nrt])*"}
    words = data.get("enum", [data["const"]] if "const" in data else None)
    if words is not None:
        escaped = (str(each).replace("\\", "\\\\").replace("'", "\\'") for each in words)
        spelled = [{"type": "const_string", "value": each} for each in escaped]
        inside = {"type": "or", "elements": spelled}
    elif {"pattern", "format", "minLength", "maxLength"} & set(data):
        return None
    return {"type": "tag", "begin": "'", "content": inside, "end": "'"}


def _value(schema: Any, root: _Tag, comma: str, quote: str) -> _Tag:
    """The content of one value."""
    data = cast("_Tag", schema) if isinstance(schema, dict) else {}
    kind = data.get("type")
    below = {name: root[name] for name in ("$defs", "definitions") if name in root}
    json_value: _Tag = {"type": "json_schema", "style": "json", "json_schema": {**below, **data}}
    if not quote:
        word = _PYTHON_WORDS.get(str(kind))
        if word is not None:
            return {"type": "regex", "pattern": word}
        single = _single_quoted(data) if kind == "string" else None
        forms = [json_value] if single is None else [json_value, single]
        return {"type": "or", "elements": forms} if single is not None else json_value
    if kind == "string" and ("enum" in data or "const" in data):
        texts = [str(each) for each in data.get("enum", [data.get("const")])]
        words: list[_Tag] = [
            {"type": "const_string", "value": f"{quote}{each}{quote}"} for each in texts
        ]
        return {"type": "or", "elements": words}
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
        return json_value
    raise ConstraintError(
        "A value without a type, or of several types, is not followed in Gemma's notation.",
        remedy='Give each property one "type", and arrays "items".',
    )


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
