"""The members of a structural tag, read with a check of their type and an error with a place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Final, cast

from explorer.arguments import shown
from explorer.automata.tree.nodes import Deferred, Source
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, ConstraintError
from explorer.languages.phases.control import Name, loaded_name
from explorer.languages.phases.formats import FixedPiece, Span
from explorer.languages.phases.leftmost import Marked, marked, shown_string
from explorer.languages.schema.diagnosis.locating import spans_of
from explorer.languages.schema.source import JsonSchema, indented

Object = dict[str, object]
SCHEMAS: Final = frozenset({"json_schema", "schema"})
"""The members that hold a JSON Schema."""

MOST_PARTS: Final = 100
"""The most parts of a schema that are checked before its machine is built."""

_REQUIRED: Final = object()

_EXAMPLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("value", "separator"), '", "'),
    **dict.fromkeys(("format", "content"), '{"type": "any_text"}'),
    **dict.fromkeys(("elements", "structures"), "[{…}]"),
    "begin": '"<tool_call>"',
    "end": '"</tool_call>"',
    "grammar": '"root ::= [0-9]+"',
    "json_schema": '{"type": "object"}',
    "max": "3",
    "min": "1",
    "pattern": '"[0-9]+"',
    "rules": '[["<tool_call>", {"type": "any_text"}]]',
    "tags": '[{"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"}]',
    "token": '"<tool_call>"',
    "trigger_tokens": '["<tool_call>"]',
    "triggers": '["<tool_call>"]',
}
"""An example of a value for each required member."""


def wrong_tag(pointer: str, reason: str, remedy: str = "") -> ConstraintError:
    """The error for a place of a structural tag.

    Args:
        pointer: The JSON Pointer of the place.
        reason: A clause without a full stop.
    """
    return ConstraintError(
        f"The structural tag cannot be followed at {pointer or 'its top'}: {reason}.",
        remedy=remedy or "Write it as xgrammar 0.2.8 reads it.",
        evidence={"pointer": pointer, "reason": reason},
    )


class TagMembers:
    """The data of a structural tag.

    Args:
        text: The JSON.
        controls: Names in the strings that stand for control tokens.

    Attributes:
        tokens: The control tokens read so far.
    """

    def __init__(self, text: str, controls: tuple[str, ...]) -> None:
        self.text, self.controls = text, controls
        self.tokens: dict[Name, None] = {}
        try:
            data: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise wrong_tag("", f"it is not JSON ({error})") from error
        self.spans = spans_of(text, SCHEMAS)
        if not isinstance(data, dict):
            raise wrong_tag("", "it is not an object")
        self.data = cast("Object", data)

    # The parts of objects.

    def member(
        self, owner: Object, pointer: str, name: str, kind: type, what: str,
        default: object = _REQUIRED,
    ) -> object:  # fmt: skip
        """A member of an object, checked to have a type."""
        if name not in owner and default is not _REQUIRED:
            return default
        value = self.needed(owner, pointer, name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise wrong_tag(f"{pointer}/{name}", f"{shown(value)} is not {what}")
        return value

    def only(self, owner: Object, pointer: str, *known: str) -> None:
        """Refuse members that are not known."""
        for name in owner:
            if name not in known:
                close = get_close_matches(name, known, 1)
                raise wrong_tag(
                    f"{pointer}/{name}", f"there is no such member; there are {', '.join(known)}",
                    f"Did you mean {close[0]!r}?" if close else "Leave it out.",
                )  # fmt: skip

    def flag(self, owner: Object, pointer: str, name: str, default: bool = False) -> bool:
        """A member that is true or false."""
        return bool(self.member(owner, pointer, name, bool, "true or false", default))

    def count(self, owner: Object, pointer: str, name: str) -> int | None:
        """A member that is a limit; ``None`` for no limit."""
        value = owner.get(name)
        if value is None or (type(value) is int and 0 <= value < 2**31):
            return value
        raise wrong_tag(f"{pointer}/{name}", f"{shown(value)} is not a count")

    def listed(self, owner: Object, pointer: str, name: str) -> list[object]:
        """A member that is a list of at least one entry."""
        value = cast("list[object]", self.member(owner, pointer, name, list, "a list"))
        if not value:
            raise wrong_tag(f"{pointer}/{name}", "it is empty", "Give at least one entry.")
        return value

    def objects(self, owner: Object, pointer: str, name: str) -> list[tuple[Object, str]]:
        """The objects of a list, each with its JSON Pointer."""
        return [
            (self.object(each, f"{pointer}/{name}/{k}"), f"{pointer}/{name}/{k}")
            for k, each in enumerate(self.listed(owner, pointer, name))
        ]

    def object(self, value: object, pointer: str) -> Object:
        """The value, checked to be an object."""
        if not isinstance(value, dict):
            raise wrong_tag(pointer, f"{shown(value)} is not an object")
        return cast("Object", value)

    def strings(self, owner: Object, pointer: str, name: str) -> frozenset[Marked]:
        """A member that is a list of non-empty strings; empty if it is missing."""
        given = cast("list[object]", self.member(owner, pointer, name, list, "a list", ()))
        return frozenset(self.string(each, f"{pointer}/{name}/{k}") for k, each in enumerate(given))

    def needed(self, owner: Object, pointer: str, name: str) -> object:
        """A required member of an object."""
        if name in owner:
            return owner[name]
        raise wrong_tag(
            f"{pointer}/{name}", f"the member {name!r} is missing",
            f'Give it, such as "{name}": {_EXAMPLES[name]}.',
        )  # fmt: skip

    def string(self, value: object, pointer: str, *, empty: bool = False) -> Marked:
        """A string, with the names of control tokens replaced by these tokens."""
        if not isinstance(value, str):
            raise wrong_tag(pointer, f"{shown(value)} is not a string")
        if not value and not empty:
            raise wrong_tag(pointer, "it is empty", "Give a string of at least one character.")
        string = marked(value, self.controls)
        self.tokens.update((each[0], None) for each in string if isinstance(each, tuple))
        return string

    def token(self, value: object, pointer: str) -> Name:
        """A token by its name or id."""
        try:
            token = loaded_name(value)
        except ConstraintError:
            raise wrong_tag(
                pointer, f"{shown(value)} is not a token", "Give its name or its id."
            ) from None
        self.tokens[token] = None
        return token

    def token_list(self, owner: Object, pointer: str, name: str) -> tuple[Name, ...]:
        """A member that is a list of tokens; empty if it is missing."""
        given = cast("list[object]", self.member(owner, pointer, name, list, "a list", ()))
        return tuple(self.token(each, f"{pointer}/{name}/{k}") for k, each in enumerate(given))

    # The places in the text.

    def span(self, pointer: str) -> Span:
        """The span of a value."""
        return self.spans.get(pointer, (0, 0))

    def fixed(self, *strings: tuple[Marked, str], label: str = "") -> FixedPiece:
        """The piece of some strings, given with their JSON Pointers, with spans of characters."""
        placed: list[tuple[Marked, tuple[Span, ...]]] = []
        for string, pointer in strings:
            start, end = self.span(pointer)
            text = shown_string(string)
            first = end - 1 - len(text)
            if self.text[first : end - 1] == text and first > start:
                spans: list[Span] = []
                for each in string:
                    size = len(each) if isinstance(each, str) else len(str(each[0]))
                    spans.append((first, first + size))
                    first += size
                placed.append((string, tuple(spans)))
            else:
                placed.append((string, ((start, end),) * len(string)))
        return FixedPiece(tuple(placed), label)


def stands_in_strings(text: object) -> bool:
    """Whether a text can occur in JSON only inside one string."""
    if not isinstance(text, str) or '"' in text:
        return False
    return any(char not in " \t\n\r{}[],:+-.0123456789eEtrufalsn" for char in text)


def schema_in_text(schema: Mapping[str, object] | bool) -> object:
    """A schema as JSON text; unchanged if it is not JSON, so that a later error names the place."""
    try:
        return indented(json.dumps(schema, ensure_ascii=False, allow_nan=False))
    except ValueError:
        return schema


def decoded_schema(schema: object) -> object:
    """A schema as data; the older form may give it as JSON text."""
    if not isinstance(schema, str):
        return schema
    try:
        return cast("object", json.loads(schema))
    except ValueError:
        return schema


def check_schemas(source: Source) -> None:
    """Raise the errors of schemas now, not when their machines are built.

    Raises:
        UnsupportedSchema: A keyword cannot be followed, or is not well formed.
    """
    for child in source.children:
        check_schemas(child)
    if isinstance(source, JsonSchema) and not source.on_stack and not source.may_wait:
        with suppress(BudgetExceeded):
            waiting = [source.outline]
            for outline in waiting:  # The list grows while it is read.
                parts = (part for _, part, _ in outline(Meter()).parts)
                late = (part.outline for part in parts if isinstance(part, Deferred))
                waiting += [each for each in late if each][: MOST_PARTS - len(waiting)]
