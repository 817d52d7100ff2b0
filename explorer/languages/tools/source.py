"""The kind of source that is a conversation with tools: a structural tag that gives calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Final, cast

from explorer.languages.phases.structural import StructuralTag
from explorer.languages.sources.registry import register
from explorer.languages.tools.markups import ANSWER, ARGUMENT, REASONING, TOOL


@register("tools")
@dataclass(frozen=True)
class ToolsTag(StructuralTag):
    """Calls of tools in the markup of a model, and an answer."""

    kind: ClassVar[str] = "tools"
    plain_text: ClassVar[bool] = False

    def parse(self, data: bytes) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The calls, the answer and the reasoning of a text.

        Returns:
            ``calls``, a list of ``{"name": …, "arguments": …}``; ``answer``, a value if the answer
            has a schema, else the text around the calls, empty if it is only white space;
            ``reasoning``, a text.
        """
        conversation: dict[str, Any] = {"reasoning": "", "calls": [], "answer": ""}
        _gather(super().parse(data), conversation)
        answer = conversation["answer"]
        if conversation["calls"] and isinstance(answer, str) and not answer.strip():
            conversation["answer"] = ""  # Only white space between the calls.
        return conversation

    def __str__(self) -> str:
        calls = dict.fromkeys(
            name.removeprefix(TOOL) for _, name in self.names if name.startswith(TOOL)
        )
        return f"tools({list(calls)!r})"


def _arguments(parts: list[Any]) -> object:
    """The arguments of a call: its value, or the values of its arguments by name."""
    named = {
        str(each["tag"]).removeprefix(ARGUMENT): _argument(each["parts"])
        for each in parts
        if str(each.get("tag", "")).startswith(ARGUMENT)
    }
    values = [each["value"] for each in parts if "value" in each]
    objects = [cast("dict[str, object]", each) for each in values if isinstance(each, dict)]
    if named or objects:
        return dict(chain.from_iterable(each.items() for each in (*objects, named)))
    return (values or [{}])[-1]


_WORDS: Final[dict[str, object]] = {"True": True, "False": False, "None": None}
_ENDS: Final = {"'": "'", "[": "]", "{": "}"}


def _argument(parts: list[Any]) -> object:
    """The value of one argument; text between marks, a literal of Python, or nested values."""
    for each in parts:
        if "value" in each:
            return each["value"]
        if "text" in each:
            return each["text"]
        name, inner = str(each.get("tag", "")).removeprefix(ARGUMENT), each["parts"]
        if name in _WORDS:
            return _WORDS[name]
        if name in _ENDS and inner and isinstance(inner[0].get("value"), str):
            literal = f"{name}{inner[0]['value']}{_ENDS[name]}"
            return ast.literal_eval(literal.replace("\n", "\\n").replace("\r", "\\r"))
        if name == "{":
            return _arguments(inner)
        if name == "[":
            return [_argument(item["parts"]) for item in inner]
        return _argument(inner)
    return ""


def _gather(parts: list[Any], into: dict[str, Any], where: str = "") -> None:
    for part in parts:
        name = str(part.get("tag", ""))
        if name.startswith(TOOL):
            into["calls"].append(
                {"name": name.removeprefix(TOOL), "arguments": _arguments(part["parts"])}
            )
        elif "tag" in part:
            _gather(part["parts"], into, name if name in (REASONING, ANSWER) else where)
        elif "value" in part:
            into["answer"] = part["value"]
        elif where == REASONING:
            into["reasoning"] += part["text"]
        elif isinstance(into["answer"], str):
            into["answer"] += part["text"]
