r"""JSON Schema as outlines-core 0.2.14 reads it, under TGI, and under vLLM and SGLang if asked for.

A schema becomes one pattern, and what is drawn here is that pattern, letter by letter; each piece
of it knows the part of the schema that it comes from. White space between the tokens of JSON is at
most one space, and the text begins and ends without any. The first of these keywords that a part
has decides it: ``properties``, ``allOf``, ``anyOf``, ``oneOf``, ``prefixItems``, ``enum``,
``const``, ``$ref``, ``type``. Objects with ``properties`` are closed; bounds of numbers,
``additionalProperties`` beside ``properties`` and the like are ignored. References nest four times;
a member that needs a fifth is left out. What nothing describes nests twice.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final, cast

from explorer.automata.tree.nodes import Node
from explorer.languages.engines.drawing import (
    EngineDrawing,
    Object,
    spelled,
)
from explorer.languages.engines.patterns import facts

_CHAR: Final = r'([^"\\\x00-\x1F\x7F-\x9F]|\\["\\/bfnrt])'
_PLAIN: Final = {
    "string": f'"{_CHAR}*"', "integer": "(-)?(0|[1-9][0-9]*)",
    "number": r"((-)?(0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-][0-9]+)?",
    "boolean": "(true|false)", "null": "null",
}  # fmt: skip
_ITEMS: Final = ("boolean", "null", "number", "integer", "string")
_VALUES: Final = ("string", "number", "boolean", "null")
DEEPEST: Final = 3
"""The most references that lead to another reference, one inside the other."""


class OutlinesDrawing(EngineDrawing):
    """A schema as outlines-core reads it.

    Args:
        text: The schema as JSON.
        compact: Whether there is no white space at all.
        blank: A pattern of the white space between the tokens of JSON.
    """

    engine = "outlines"

    def __init__(self, text: str, *, compact: bool = False, blank: str | None = None) -> None:
        super().__init__(text, "" if compact else "[ ]?" if blank is None else blank)
        self._references = 0
        if blank is None:
            self.say("", "whole")

    def whole(self) -> Node:
        """The whole schema."""
        return self.draw(self.marked())

    def marked(self) -> str:
        """The pattern of the whole schema, with marks."""
        try:
            return self.value(self.schema, "")
        except _TooDeep as error:
            raise self.refused("", "references nest too deep.") from error

    # --- parts

    def value(self, schema: Any, pointer: str) -> str:
        """The pattern of a part of the schema."""
        if not isinstance(schema, dict):
            raise self.refused(pointer, "it reads objects alone.")
        part = cast("Object", schema)
        if not part:
            options = [self._of_type({}, kind, pointer) for kind in (*_ITEMS, "array", "object")]
            return f"({')|('.join(options)})"
        drawn = {
            "properties": self._object, "allOf": self._union, "anyOf": self._union,
            "oneOf": self._union, "prefixItems": self._prefix, "enum": self._enum,
            "const": self._const, "$ref": self._reference, "type": self._typed,
        }  # fmt: skip
        keyword = next((name for name in drawn if name in part), "")
        if not keyword:
            raise self.refused(pointer, "it has none of the keywords that decide a part.")
        ignored = sorted(set(part) - _FOLLOWED - {keyword, "type"})
        if ignored:
            self.say(pointer, "beside", ignored=", ".join(ignored), keyword=keyword)
        return self.at(pointer, keyword) + drawn[keyword](part, pointer)

    def _object(self, part: Object, pointer: str) -> str:
        """The listed members in their order, and no others."""
        self.say(pointer, "closed")
        required = {str(name) for name in part.get("required", [])}
        mark, blank = self.at(pointer), self.blank
        comma = f"{mark}{blank},"
        listed = list(cast("Object", part["properties"]).items())
        last = max((k for k, (name, _) in enumerate(listed) if name in required), default=-1)
        inside, ways, before = "", list[str](), ""
        for k, (name, each) in enumerate(listed):
            place = f"{pointer}/properties/{name.replace('~', '~0').replace('/', '~1')}"
            key = f'{self.at(place, "")}{blank}"{_escaped(name)}"{blank}:{blank}'
            try:
                member = key + self.value(each, place)
            except _TooDeep:
                continue
            one = member + comma if k < last else member if k == last else comma + member
            inside += one if name in required else f"({one})?"
            ways.append(before + member)
            before += f"({member}{comma})?"
        if last < 0:
            inside = f"({'|'.join(ways)})?"
        return rf"{mark}\{{{inside}{mark}{blank}\}}"

    def _map(self, part: Object, pointer: str, depth: int = 2) -> str:
        """An object whose members are not listed."""
        mark, blank = self.at(pointer), self.blank
        if part.get("maxProperties") == 0:
            return rf"{mark}\{{{blank}\}}"
        if part.get("minProperties") or part.get("maxProperties"):
            self.say(pointer, "members")
        further: Any = part.get("additionalProperties")
        if further is None or further is True:
            value = self._any_of(
                (*_VALUES, *(("object", "array") if depth else ())), pointer, depth
            )
        else:
            value = self.value(further, f"{pointer}/additionalProperties")
        member = f"{mark}{_PLAIN['string']}{blank}:{blank}{value}{mark}"
        least = "" if part.get("minProperties") else "?"
        return rf"{mark}\{{{blank}({member}({blank},{blank}{member}){{0,}}){least}{blank}\}}"

    def _any_of(self, kinds: tuple[str, ...], pointer: str, depth: int) -> str:
        return f"({'|'.join(self._of_type({}, kind, pointer, depth - 1) for kind in kinds)})"

    def _union(self, part: Object, pointer: str) -> str:
        keyword = next(name for name in ("allOf", "anyOf", "oneOf") if name in part)
        if keyword != "anyOf":
            self.say(f"{pointer}/{keyword}", keyword)
        options = enumerate(part[keyword])
        made = [self.value(each, f"{pointer}/{keyword}/{k}") for k, each in options]
        if keyword == "oneOf":
            return _apart(made)
        return f"({('' if keyword == 'allOf' else '|').join(made)})"

    def _enum(self, part: Object, pointer: str) -> str:
        return f"({'|'.join(map(self._literal, part['enum']))})"

    def _const(self, part: Object, pointer: str) -> str:
        return self._literal(part["const"])

    def _literal(self, value: Any) -> str:
        blank = self.blank
        comma = f"{blank},{blank}"
        if isinstance(value, dict):
            members = comma.join(
                f"{_escaped(_json(name))}{blank}:{blank}{self._literal(each)}"
                for name, each in cast("Object", value).items()
            )
            return rf"\{{{blank}{members}{blank}\}}"
        if isinstance(value, list):
            items = comma.join(map(self._literal, cast("list[Any]", value)))
            return rf"\[{blank}{items}{blank}\]"
        return _escaped(_json(value))

    def _reference(self, part: Object, pointer: str) -> str:
        ref = str(part["$ref"])
        if ref != "#" and not ref.startswith("#/"):
            raise self.refused(f"{pointer}/$ref", "it follows no reference to another document.")
        if self._references > DEEPEST:
            raise _TooDeep()
        target, place = self.by_ref(ref, pointer)
        self._references += 1
        try:
            return self.value(target, place)
        finally:
            self._references -= 1

    def _prefix(self, part: Object, pointer: str) -> str:
        self.say(f"{pointer}/prefixItems", "prefixItems")
        mark, blank, items = (
            self.at(pointer, "prefixItems"),
            self.blank,
            enumerate(part["prefixItems"]),
        )
        inside = f"{mark}{blank},{blank}".join(
            self.value(each, f"{pointer}/prefixItems/{k}") for k, each in items
        )
        return rf"\[{blank}{inside}{mark}{blank}\]"

    def _array(self, part: Object, pointer: str, depth: int = 2) -> str:
        least, most = int(part.get("minItems", 0)), part.get("maxItems")
        mark, blank = self.at(pointer), self.blank
        if most == 0:
            return rf"{mark}\[{blank}\]"
        if "items" in part:
            item = f"({self.value(part['items'], f'{pointer}/items')})"
        else:
            item = self._any_of((*_ITEMS, *(("object", "array") if depth else ())), pointer, depth)
        often = f"{{{max(least - 1, 0)},{'' if most is None else int(most) - 1}}}"
        inside = f"({mark}{item}{mark}(,{blank}{item}){often}){'' if least else '?'}"
        return rf"{mark}\[{blank}{inside}{mark}{blank}\]"

    # --- plain types

    def _typed(self, part: Object, pointer: str) -> str:
        kinds = part["type"]
        if not isinstance(kinds, list):
            return self._of_type(part, str(kinds), pointer)
        return _apart([self._of_type(part, kind, pointer) for kind in cast("list[str]", kinds)])

    def _of_type(self, part: Object, kind: str, pointer: str, depth: int = 2) -> str:
        """Any value of a type; arrays and objects that nothing describes nest to a depth."""
        if kind == "object":
            return self._map(part, pointer, depth)
        if kind == "array":
            return self._array(part, pointer, depth)
        if kind == "string":
            return self._string(part, pointer)
        if kind in ("integer", "number") and set(part) & _BOUNDS:
            self.say(pointer, "bounds")
        if kind not in _PLAIN:
            raise self.refused(f"{pointer}/type", f"{kind} is not a type.")
        return self.at(pointer) + _PLAIN[kind]

    def _string(self, part: Object, pointer: str) -> str:
        if "minLength" in part or "maxLength" in part:
            least, most = int(part.get("minLength", 0)), part.get("maxLength")
            if most is not None and int(most) < least:
                raise self.refused(pointer, "maxLength is less than minLength.")
            if "pattern" in part or "format" in part:
                self.say(pointer, "length")
            mark = self.at(pointer, "minLength" if most is None else "maxLength")
            return f'{mark}"{_CHAR}{{{least},{"" if most is None else int(most)}}}"'
        if "pattern" in part:
            self.say(f"{pointer}/pattern", "pattern")
            pattern = str(part["pattern"])
            if pattern.startswith("^") and pattern.endswith("$"):
                pattern = pattern[1:-1]
            return f'{self.at(pointer, "pattern")}("{pattern}")'
        if "format" in part:
            known = facts("outlines")["formats"].get(str(part["format"]))
            if known is None:
                raise self.refused(f"{pointer}/format", "it does not know this format.")
            return f'{self.at(pointer, "format")}"{known}"'
        return self.at(pointer) + _PLAIN["string"]


class _TooDeep(Exception):
    """References nest too deep: the member that holds them is left out."""


def _apart(options: list[str]) -> str:
    return f"((?:{')|(?:'.join(options)}))" if options else "()"


_BOUNDS: Final = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
_FOLLOWED: Final = frozenset({
    "title", "description", "default", "examples", "$schema", "$id", "$defs", "definitions",
    "$comment", "required", "items", "minItems", "maxItems", "minLength", "maxLength", "pattern",
    "format", *_BOUNDS, "minProperties", "maxProperties", "additionalProperties",
})  # fmt: skip


def _escaped(text: str) -> str:
    """A text as a pattern, as Rust's regex crate escapes it."""
    return re.sub(r"([\\.+*?()|\[\]{}^$#&\-~])", r"\\\1", text)


def _number(value: float) -> str:
    """A number as Rust writes it."""
    return (
        f"{Decimal(repr(value)):f}" if "e-05" in repr(value) else repr(value).replace("e-0", "e-")
    )


def _json(value: Any) -> str:
    return spelled(value, _number, -(2**63), 2**64 - 1)
