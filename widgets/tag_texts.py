"""Structural tags that the editor offers: reasoning before an answer, and calls of tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, cast

_Json = dict[str, object]

WIDTH: Final = 88
"""The most characters of a line that could be broken."""


def _closed(**properties: _Json) -> _Json:
    """A schema of an object with these properties, each required, and no others."""
    return {
        "type": "object", "properties": properties, "required": [*properties],
        "additionalProperties": False,
    }  # fmt: skip


def _schema(schema: _Json) -> _Json:
    return {"type": "json_schema", "json_schema": schema}


def _tag(begin: str, content: _Json, end: str) -> _Json:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def _call(name: str, arguments: _Json) -> _Json:
    """A call in the markup of Hermes and Qwen."""
    begin = f'<tool_call>\n{{"name": "{name}", "arguments": '
    return _tag(begin, _schema(arguments), "}\n</tool_call>")


def _text(form: _Json) -> str:
    return _lines({"type": "structural_tag", "format": form}, 0)


def _lines(value: object, indent: int) -> str:
    """JSON in which a member that fits on a line stands on one."""
    flat = json.dumps(value)
    if len(flat) + indent <= WIDTH or not isinstance(value, dict | list):
        return flat
    inner = indent + 1
    if isinstance(value, dict):
        members = cast("_Json", value).items()
        parts = [f"{json.dumps(name)}: {_lines(each, inner)}" for name, each in members]
    else:
        parts = [_lines(each, inner) for each in cast("list[object]", value)]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return begin + ",".join(f"\n{' ' * inner}{each}" for each in parts) + f"\n{' ' * indent}{end}"


_ANSWER: Final = _schema(
    _closed(answer={"type": "string", "maxLength": 40}, sure={"type": "boolean"})
)
_ANY: Final[_Json] = {"type": "any_text"}
_CALLS: Final = [
    _call("get_weather", _closed(city={"type": "string", "maxLength": 20})),
    _call("get_time", _closed(zone={"enum": ["UTC", "CET"]})),
]

TAG_TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "think, then answer": _text(
            {"type": "sequence", "elements": [_tag("<think>", _ANY, "</think>"), _ANSWER]}
        ),
        "a call of a tool": _text(
            {
                "type": "triggered_tags", "triggers": ["<tool_call>"], "tags": _CALLS[:1],
                "at_least_one": False, "stop_after_first": True,
            }
        ),
        "calls of several tools": _text(
            {
                "type": "tags_with_separator", "tags": _CALLS, "separator": "\n",
                "at_least_one": True, "stop_after_first": False,
            }
        ),
        "channels of Harmony": _text(
            {
                "type": "sequence",
                "elements": [
                    _tag("<|channel|>analysis<|message|>", _ANY, "<|end|>"),
                    _tag("<|start|>assistant<|channel|>final<|message|>", _ANSWER, "<|return|>"),
                ],
            }
        ),
    }
)  # fmt: skip
"""JSON by the name of the preset, in xgrammar's format."""
