"""The part of a schema that applies at the spot where a JSON text stops.

An explanation knows the text so far. That text leads to a place in the value (the member ``age`` of
item 2 of …), the place leads to the subschemas that apply there, and each subschema to a span of
the schema's own text, which is shown underlined.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final, Literal

Step = tuple[Literal["member"], str] | tuple[Literal["item"], int]


@dataclass(frozen=True, slots=True)
class Spot:
    """The spot at which the beginning of a JSON text stops.

    Args:
        steps: The members and items on the way to the value there. Before and inside a name, the
            way to its object.
        value: The text of that value so far; empty before it and inside a name.
        outline: The compact text of the innermost open array or object so far, with each finished
            value in it written ``0``; ``None`` outside of all.
        is_finished: Whether the value may be complete: a closed string, array or object, or a
            number or word, which could still go on.
    """

    steps: tuple[Step, ...]
    value: bytes
    outline: bytes | None
    is_finished: bool

    @property
    def awaits_value(self) -> bool:
        """Whether a value may begin here: at the start, after a colon, where an item may stand."""
        around = self.outline
        inside = around is None or around[:1] == b"[" or around.endswith(b":")
        return inside and not self.value


@dataclass(slots=True)
class _OpenContainer:
    """A container that has not ended yet."""

    kind: Literal["object", "array"]
    expects: Literal["key", "value"]
    key: str = ""
    index: int = 0
    outline: bytes = b""


def spot_of(data: bytes) -> Spot:
    """The spot at which a text stops.

    Example:
        >>> spot = spot_of(b'{"a": [1, 2], "b": "x')
        >>> spot.steps, spot.value, spot.outline
        ((('member', 'b'),), b'"x', b'{"a":0,"b":')
        >>> spot_of(b'{"a": 1, "b').outline
        b'{"a":0,"b'
    """
    stack: list[_OpenContainer] = []
    position = 0
    value = b""  # Of the innermost container's current value, or of the whole text.
    finished = False

    def is_key() -> bool:
        return bool(stack) and stack[-1].kind == "object" and stack[-1].expects == "key"

    while position < len(data):
        byte = data[position]
        if byte in b" \t\n\r":
            position += 1
        elif byte in b"{[":
            kind: Literal["object", "array"] = "object" if byte == 0x7B else "array"
            stack.append(
                _OpenContainer(kind, "key" if kind == "object" else "value", outline=b"%c" % byte)
            )
            value, finished = b"", False
            position += 1
        elif byte in b"}]":
            if stack:
                stack.pop()
            value, finished = b"0", True
            position += 1
        elif byte in b",:":
            if stack:
                level = stack[-1]
                level.outline += b"0," if byte == 0x2C else b":"
                level.expects = "value" if byte == 0x3A or level.kind == "array" else "key"
                level.index += byte == 0x2C
            value, finished = b"", False
            position += 1
        else:
            match = _STRING.match(data, position) or _REST.match(data, position)
            assert match is not None
            text, position = match.group(), match.end()
            closed = text[:1] != b'"' or _STRING.fullmatch(text) is not None
            if is_key():
                stack[-1].outline += text
                if closed:
                    stack[-1].key = json.loads(text.decode(errors="replace"), strict=False)
            else:
                value, finished = text, closed
    steps: list[Step] = []
    for level in stack:
        if level.kind == "array":
            steps.append(("item", level.index))
        elif level.expects == "value":
            steps.append(("member", level.key))
    return Spot(tuple(steps), value, stack[-1].outline if stack else None, finished)


_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_REST: Final = re.compile(rb'"(?:[^"\\]|\\.)*\\?|[^ \t\n\r\[\]{},:"]+', re.DOTALL)
_TOKEN: Final = re.compile(r'[ \t\n\r]*("(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+)', re.DOTALL)
_BLANK: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


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


def spans_of(text: str, whole: frozenset[str] = frozenset()) -> dict[str, tuple[int, int]]:
    """The span of each value of a JSON text, by JSON Pointer; a member's span includes its name.

    Args:
        whole: The names of members whose values get one span, without spans inside.

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
        if not level.is_object:
            return f"{level.pointer}/{level.index}", None
        escaped = level.key.replace("~", "~0").replace("/", "~1")
        return f"{level.pointer}/{escaped}", level.key_start

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
            if stack[-1].key in whole:
                begin = _BLANK.match(text, position).end()  # pyright: ignore[reportOptionalMemberAccess] - It matches anywhere.
                _, position = _DECODER.raw_decode(text, begin)
                spans[pointer()[0]] = stack[-1].key_start, position
        elif stack and stack[-1].is_object and stack[-1].expects_key:
            plain = "\\" not in token
            stack[-1].key = token[1:-1] if plain else json.loads(token, strict=False)
            stack[-1].key_start = start
        else:
            here, named = pointer()
            spans[here] = (start if named is None else named, position)
    return spans
