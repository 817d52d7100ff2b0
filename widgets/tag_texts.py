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


def _token(name: str) -> _Json:
    return {"type": "token", "token": name}


def _text_of(value: str) -> _Json:
    return {"type": "const_string", "value": value}


def _row(*elements: _Json) -> _Json:
    return {"type": "sequence", "elements": [*elements]}


def _tag(begin: str | _Json, content: _Json, end: str | _Json) -> _Json:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def _call(*tools: _Json) -> _Json:
    """A call of one of some tools, in the markup of Hermes and Qwen."""
    either: _Json = {"type": "or", "elements": [*tools]}
    one = tools[0] if len(tools) == 1 else either
    return _tag(_token("<tool_call>"), one, _token("</tool_call>"))


def _tool(name: str, arguments: _Json) -> _Json:
    """The name and the arguments of a tool, as a phase of its own."""
    return _tag(f'\n{{"name": "{name}", "arguments": ', _schema(arguments), "}\n")


def _channel(name: str, content: _Json, end: str) -> _Json:
    """A message of Harmony in a channel."""
    inner = _row(_token("<|message|>"), content)
    return _row(_token("<|channel|>"), _tag(name, inner, _token(end)))


def _text(form: _Json) -> str:
    return _lines({"type": "structural_tag", "format": form}, 0)


def _lines(value: object, indent: int) -> str:
    """JSON in which a member is on one line if it fits."""
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
_CITY: Final = _closed(city={"type": "string", "maxLength": 20})
_WEATHER: Final = _tool("get_weather", _CITY)
_TIME: Final = _tool("get_time", _closed(zone={"enum": ["UTC", "CET"]}))

TAG_TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "think, then answer": _text(
            _row(
                _tag(_token("<think>"), _ANY, _token("</think>")), _text_of("\n\n"), _ANSWER,
            )
        ),
        "a call of a tool": _text(
            {
                "type": "token_triggered_tags", "trigger_tokens": ["<tool_call>"],
                "tags": [_call(_WEATHER)], "at_least_one": False, "stop_after_first": True,
            }
        ),
        "calls of several tools": _text(
            {
                "type": "tags_with_separator", "tags": [_call(_WEATHER, _TIME)],
                "separator": "\n", "at_least_one": True, "stop_after_first": False,
            }
        ),
        "channels of Harmony": _text(
            _row(
                _channel("analysis", _ANY, "<|end|>"),
                _token("<|start|>"), _text_of("assistant"),
                {
                    "type": "or",
                    "elements": [
                        _row(
                            _token("<|channel|>"),
                            _tag(
                                "commentary to=functions.get_weather",
                                _row(
                                    _token("<|constrain|>"), _text_of("json"),
                                    _token("<|message|>"), _schema(_CITY),
                                ),
                                _token("<|call|>"),
                            ),
                        ),
                        _channel("final", _ANSWER, "<|return|>"),
                    ],
                },
            )
        ),
    }
)  # fmt: skip
"""JSON by the name of the preset, in xgrammar's format; the markup's tokens are control tokens."""
