"""The reasons why a text does not go on with a byte: keywords, options, or JSON itself.

What decides is looked for in the order in which it is surest: an item that came before, white
space, a keyword (`deciding`), a name that came before, the order of members, JSON's own grammar, a
limit of depth. An option is a reason only if the text could go on with another value of it; so the
machine of that other schema is discovered as far as the text goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Protocol

from explorer.budget import Meter
from explorer.languages.schema.diagnosis.deciding import (
    deciding,
    excluding,
    hard_to_decide,
    names_again,
)
from explorer.languages.schema.diagnosis.plain_json import (
    BLANK,
    LARGEST,
    exceeds_floats,
    in_text,
    rule_of_json,
)
from explorer.languages.schema.diagnosis.remedies import space_option, without_keyword
from explorer.languages.schema.once.reading import repeated_item
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.subschemas import Schema, Subschema
from explorer.languages.schema.reading.text import Spot, spot_of
from explorer.languages.schema.values.containers import MOST_TRACKED
from explorer.languages.schema.values.places import Site
from explorer.languages.schema.values.sets import ValueSets

_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_CLOSING: Final = ("additionalProperties", "unevaluatedProperties")


class Reason(NamedTuple):
    """A part of a schema that decides.

    Args:
        pointer: Its JSON Pointer.
        clause: What decides there besides the keyword; empty for the keyword alone.
        alone: Whether the clause decides and the keyword does not.
    """

    pointer: str
    clause: str = ""
    alone: bool = False


class Following(Protocol):
    """Tells the bytes that may follow a text under a schema that is changed a little."""

    def __call__(
        self, text: bytes, options: Mapping[str, Any] = ..., schema: Schema | None = None
    ) -> bytes | None:
        """The bytes; ``None`` if no word begins so, or such a schema cannot be made.

        Args:
            options: Options with other values.
            schema: Another schema in place of the schema itself.
        """
        ...


@dataclass(frozen=True)
class ReasonSearch:
    """A search for the reasons why texts of a schema do not go on.

    Args:
        schema, root: The schema, as data and as the subschema of the whole value.
        options: Its options.
        limited: Whether the depth of values has a limit.
        following: Tells what may follow a text if the schema or an option is changed.
    """

    schema: Schema
    root: Subschema
    options: SchemaOptions
    limited: bool
    following: Following

    def of(self, data: bytes, byte: int | None, rest: bytes = b"") -> list[Reason]:
        """The deciding parts, or, if nothing decides alone, the subschemas of the innermost place.

        Args:
            data: The text so far.
            byte: The byte that fails; ``None`` asks what must come before the text may end.
            rest: What was written after it.
        """
        spot = spot_of(data)
        places = [ValueSets(self.options, Meter()).place([self.root])]
        for kind, step in spot.steps:
            above = places[-1]
            places.append(above.member(str(step)) if kind == "member" else above.item)
        if (again := repeated_item(data, byte)) is not None:
            level, item = again
            unique = [
                Reason(f"{sub.pointer}/uniqueItems", f"{item} came before")
                for sub in places[level].subschemas if sub.keyword("uniqueItems") is True
            ]  # fmt: skip
            if unique:
                return unique
        described = [place for place in places if place.subschemas]
        innermost = [sub.pointer for sub in described[-1].subschemas] if described else []
        around = innermost or [""]
        pointers = deciding(spot, places, byte, self.options)
        if byte is not None:
            if clause := self._white_space(data, spot, byte):
                return [Reason(around[0], clause, alone=True)]
            if exceeds_floats(data, byte):
                bounds = [Reason(each) for each in pointers if _keyword(each) in _BOUNDS]
                return bounds or [Reason(around[0], LARGEST, alone=True)]
            if again := self._name_again(data, spot, byte, rest, places, pointers):
                names, clause, place = again
                closing = [each for each in pointers if _keyword(each) in _CLOSING]
                listing = [
                    f"{sub.pointer}/properties" for sub in place.subschemas
                    if not sub.named_at("properties").keys().isdisjoint(names)
                ]  # fmt: skip
                return [Reason((closing or listing or pointers or around)[0], clause)]
            if not pointers and (
                clause := self._rule(data, spot, byte) or self._limit(data, spot, byte)
            ):
                return [Reason(around[0], clause, alone=True)]
        if not pointers and spot.outline is not None and spot.outline[:1] == b"[":
            pointers = self._hard(data, byte, places[-2])
        if not pointers:
            excluded = [each for each in map(excluding, innermost) if each]
            return list(map(Reason, excluded or innermost))
        reasons = [Reason(each) for each in pointers]
        is_json = byte is None or not rule_of_json(data, byte)
        if is_json and self._order_decides(spot, places, byte):
            clause = 'property_order="schema", where "any" takes every order'
            reasons.append(Reason(pointers[-1], clause, alone=True))
        return reasons

    def _name_again(
        self,
        data: bytes,
        spot: Spot,
        byte: int,
        rest: bytes,
        places: list[Site],
        pointers: list[str],
    ) -> tuple[list[str], str, Site] | None:
        """The names that came before and decide, their clause, and the place of their object."""
        place = places[-1]
        written = rest.lstrip(BLANK)
        closes = bool(pointers) and all(_keyword(each) in _CLOSING for each in pointers)
        if closes and byte == ord(",") and written[:1] == b'"' and len(written) > 1:
            # No other name is left, so the comma fails already; the text tells which one follows.
            spot, place = spot_of(data + b',"'), places[-2]
            byte, rest = written[1], written[2:]
        names, clause = names_again(spot, place, byte, rest, self.options)
        return (names, clause, place) if names else None

    def _order_decides(self, spot: Spot, places: list[Site], byte: int | None) -> bool:
        """Whether the members could be written so in another order."""
        is_object, names = (spot.outline or b"")[:1] == b"{", places[-1].names
        if not is_object or self.options.property_order == "any" or len(names) > MOST_TRACKED:
            return False
        return not deciding(spot, places, byte, replace(self.options, property_order="any"))

    def _rule(self, data: bytes, spot: Spot, byte: int) -> str:
        """The rule of JSON that refuses a byte; empty if JSON allows it."""
        may_close = True
        if spot.outline in (b"[", b"{") and not spot.value:
            closing = ord("]" if spot.outline == b"[" else "}")
            may_close = closing in (self.following(data) or b"]}")
        return rule_of_json(data, byte, may_close=may_close)

    def _limit(self, data: bytes, spot: Spot, byte: int) -> str:
        """A clause for the limit of depth without which a byte could follow; empty without one."""
        if not self.limited or spot.outline not in (b"[", b"{"):
            return ""
        deepest, most = self.options.free_depth, self.options.depth.recursion
        if self._would_follow(data, byte, {"free_depth": deepest + 1}):
            return f"free_depth={deepest}, the deepest that values nest"
        if self._would_follow(data, byte, {"max_depth": most + 1}):
            return f"max_depth={most}, with which references are followed {most + 1} deep"
        if self._would_follow(data, byte, {"max_depth": None, "recursion": "stack"}):
            # The limits cannot be raised any more.
            return 'the limits of depth, of which recursion="stack" has none'
        return ""

    def _white_space(self, data: bytes, spot: Spot, byte: int) -> str:
        """A clause for white space that is written or missing; empty if it does not decide."""
        pattern, given = self.options.whitespace_pattern, self.options.whitespace
        is_missing = byte not in BLANK
        if self.options.spaces or in_text(spot):
            return ""
        never = given == "compact" or (given == "dumps" and data[-1:] not in (b",", b":"))
        if is_missing and never and pattern is None:
            return ""
        if given == "pretty" and self._limit(data, spot, byte):
            return ""  # A new line follows a bracket only if something may stand inside.
        freer = {"whitespace": "flexible", "whitespace_pattern": None}
        if not self._would_follow(data, byte, freer):
            return ""
        what = "some"
        if not is_missing:
            what = "no more" if data[-1:] and data[-1] in BLANK else "no"
            if set(self.following(data) or b"").intersection(BLANK):
                what = "other"
        return f"{space_option(self.options)}, which has {what} white space here"

    def _hard(self, data: bytes, byte: int | None, place: Site) -> list[str]:
        """The keywords that no outline decides and without which a byte could follow; else all."""
        every = hard_to_decide(place)
        closing = ord("]") if byte is None else byte
        needed: list[str] = []
        for pointer in every:
            around = pointer.rpartition("/")[0]
            counts = ("minContains", "maxContains") if _keyword(pointer) == "contains" else ()
            for each in (*(f"{around}/{count}" for count in counts), pointer):
                less = without_keyword(self.schema, each)
                if less is not None and self._would_follow(data, closing, {}, less):
                    needed.append(each)
                    break
        return needed or every

    def _would_follow(
        self, data: bytes, byte: int, options: Mapping[str, Any], schema: Schema | None = None
    ) -> bool:
        following = self.following(data, options, schema)
        return following is not None and byte in following


def _keyword(pointer: str) -> str:
    return pointer.rpartition("/")[2]
