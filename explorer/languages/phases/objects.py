"""The objects of a structural tag: their members, checked, and errors that name a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, cast

from explorer.arguments import shown
from explorer.errors import ConstraintError

Object = dict[str, object]

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


@dataclass(frozen=True)
class TagObject:
    """An object of a structural tag, and its JSON Pointer.

    Its methods raise the error for the place of a member that is not as it should be.
    """

    data: Object
    pointer: str

    @classmethod
    def of(cls, value: object, pointer: str) -> TagObject:
        """A value, checked to be an object."""
        if not isinstance(value, dict):
            raise wrong_tag(pointer, f"{shown(value)} is not an object")
        return cls(cast("Object", value), pointer)

    def at(self, name: str) -> str:
        """The JSON Pointer of a member."""
        return f"{self.pointer}/{name}"

    def only(self, *known: str) -> None:
        """Refuse members that are not known."""
        for name in self.data:
            if name not in known:
                close = get_close_matches(name, known, 1)
                raise wrong_tag(
                    self.at(name), f"there is no such member; there are {', '.join(known)}",
                    f"Did you mean {close[0]!r}?" if close else "Leave it out.",
                )  # fmt: skip

    def needed(self, name: str) -> object:
        """A required member."""
        if name in self.data:
            return self.data[name]
        raise wrong_tag(
            self.at(name), f"the member {name!r} is missing",
            f'Give it, such as "{name}": {_EXAMPLES[name]}.',
        )  # fmt: skip

    def member(self, name: str, kind: type, what: str, default: object = _REQUIRED) -> object:
        """A member, checked to have a type."""
        if name not in self.data and default is not _REQUIRED:
            return default
        value = self.needed(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise wrong_tag(self.at(name), f"{shown(value)} is not {what}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """A member that is true or false."""
        return bool(self.member(name, bool, "true or false", default))

    def count(self, name: str) -> int | None:
        """A member that is a limit; ``None`` for no limit."""
        value = self.data.get(name)
        if value is None or (type(value) is int and 0 <= value < 2**31):
            return value
        raise wrong_tag(self.at(name), f"{shown(value)} is not a count")

    def entries(self, name: str, *, empty: bool = False) -> list[tuple[object, str]]:
        """The entries of a list, each with its JSON Pointer.

        Args:
            empty: Whether the list may be empty or missing; else it has at least one entry.
        """
        default = () if empty else _REQUIRED
        value = cast("list[object]", self.member(name, list, "a list", default))
        if not value and not empty:
            raise wrong_tag(self.at(name), "it is empty", "Give at least one entry.")
        return [(each, f"{self.at(name)}/{k}") for k, each in enumerate(value)]

    def objects(self, name: str) -> list[TagObject]:
        """The objects of a list."""
        return [TagObject.of(*entry) for entry in self.entries(name)]
