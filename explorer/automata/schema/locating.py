"""Which part of a schema speaks about the spot where a JSON text stands.

An explanation has the text so far. That text leads to a place in the value (the member ``age`` of
item 2 of …), the place to the subschemas that apply there, and each of those to a span of the
schema's own text, which is what a person sees underlined.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final, Literal

Step = tuple[Literal["member"], str] | tuple[Literal["item"], int]


@dataclass(slots=True)
class _OpenContainer:
    """A container whose end has not come."""

    kind: Literal["object", "array"]
    expects: Literal["key", "value"]
    key: str = ""
    index: int = 0


def steps_to(data: bytes) -> tuple[Step, ...]:
    """The way from the root to the value that a text is at.

    Args:
        data: The beginning of a JSON text.

    Returns:
        The members and items on the way. Before and inside a name, the way to its object.

    Example:
        >>> steps_to(b'{"a": [1, {"b": "x')
        (('member', 'a'), ('item', 1), ('member', 'b'))
        >>> steps_to(b'{"a": [1, {"b')
        (('member', 'a'), ('item', 1))
    """
    stack: list[_OpenContainer] = []
    position = 0
    while position < len(data):
        byte = data[position]
        if byte == 0x22:
            match = _STRING.match(data, position)
            if match is None:
                break  # The text ends inside of this string.
            if stack and stack[-1].kind == "object" and stack[-1].expects == "key":
                stack[-1].key = json.loads(match.group().decode(errors="replace"), strict=False)
            position = match.end()
            continue
        if byte == 0x7B:
            stack.append(_OpenContainer("object", "key"))
        elif byte == 0x5B:
            stack.append(_OpenContainer("array", "value"))
        elif byte in b"}]" and stack:
            stack.pop()
        elif byte == 0x3A and stack:
            stack[-1].expects = "value"
        elif byte == 0x2C and stack:
            if stack[-1].kind == "object":
                stack[-1].expects = "key"
            else:
                stack[-1].index += 1
        position += 1
    steps: list[Step] = []
    for level in stack:
        if level.kind == "array":
            steps.append(("item", level.index))
        elif level.expects == "value":
            steps.append(("member", level.key))
    return tuple(steps)


_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_TOKEN: Final = re.compile(r'[ \t\n\r]*("(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+)', re.DOTALL)


@dataclass(slots=True)
class _Level:
    """A container of the schema's text while it is read."""

    pointer: str
    start: int
    is_object: bool
    key: str = ""
    key_start: int = 0
    index: int = 0
    expects_key: bool = field(default=False)


def spans_of(text: str) -> dict[str, tuple[int, int]]:
    """The span of each value of a JSON text, by its JSON Pointer; of a member with its name.

    Args:
        text: Valid JSON.

    Example:
        >>> text = '{"properties": {"age": {"minimum": 0}}}'
        >>> start, end = spans_of(text)["/properties/age/minimum"]
        >>> text[start:end]
        '"minimum": 0'
    """
    spans: dict[str, tuple[int, int]] = {}
    stack: list[_Level] = []

    def pointer() -> tuple[str, int | None]:
        if not stack:
            return "", None
        level = stack[-1]
        name = level.key if level.is_object else str(level.index)
        escaped = name.replace("~", "~0").replace("/", "~1")
        return f"{level.pointer}/{escaped}", level.key_start if level.is_object else None

    position = 0
    while match := _TOKEN.match(text, position):
        token, start = match.group(1), match.start(1)
        position = match.end()
        if token in "{[":
            here, named = pointer()
            stack.append(
                _Level(here, start if named is None else named, token == "{", expects_key=True)
            )
        elif token in "}]":
            level = stack.pop()
            spans[level.pointer] = (level.start, position)
        elif token == ",":
            stack[-1].index += 1
            stack[-1].expects_key = True
        elif token == ":":
            stack[-1].expects_key = False
        elif stack and stack[-1].is_object and stack[-1].expects_key:
            stack[-1].key = json.loads(token, strict=False)
            stack[-1].key_start = start
        else:
            here, named = pointer()
            spans[here] = (start if named is None else named, position)
    return spans
