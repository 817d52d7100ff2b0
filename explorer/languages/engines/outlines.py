r"""JSON Schema as outlines-core 0.2.14 reads it, under TGI, and under vLLM and SGLang if asked for.

A schema becomes one pattern. White space between the tokens of JSON is at most one space, and the
text begins and ends without any. The first of these keywords that a part has decides it:
``properties``, ``allOf``, ``anyOf``, ``oneOf``, ``prefixItems``, ``enum``, ``const``, ``$ref``,
``type``. Objects with ``properties`` are closed; bounds of numbers, ``additionalProperties`` beside
``properties`` and the like are ignored. A reference may lead back to itself three times. What
nothing describes nests twice.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final, cast

from explorer.automata.tree.nodes import Empty, Node
from explorer.languages.engines.drawing import EngineDrawing, Object, plain_number

_CHAR: Final = r'(?:[^"\\\x00-\x1F\x7F-\x9F]|\\["\\/bfnrt])'
_STRING: Final = rf'"{_CHAR}*"'
_INTEGER: Final = "-?(?:0|[1-9][0-9]*)"
_NUMBER: Final = rf"{_INTEGER}(?:\.[0-9]+)?(?:[eE][+-][0-9]+)?"
_DAY: Final = r"(?:[0-9]{4})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[1-2][0-9]|3[0-1])"
_LOCAL: Final = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ODD: Final = r"\x01-\x08\x0b\x0c\x0e-\x1f"
_ESCAPED: Final = r"\\[\x01-\x09\x0b\x0c\x0e-\x7f]"
_LABEL: Final = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_OCTET: Final = "(?:2(?:5[0-5]|[0-4][0-9])|1[0-9][0-9]|[1-9]?[0-9])"
FORMATS: Final = {
    "date": _DAY,
    "time": r"(?:2[0-3]|[01][0-9]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?Z?",
    "date-time": r"-?(?:[1-9][0-9]*)?[0-9]{4}-(?:1[0-2]|0[1-9])-(?:3[01]|0[1-9]|[12][0-9])"
    r"T(?:2[0-3]|[01][0-9]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{3})?Z?",
    "uuid": "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "email": rf'(?:{_LOCAL}(?:\.{_LOCAL})*|"(?:[{_ODD}\x21\x23-\x5b\x5d-\x7f]|{_ESCAPED})*")@'
    rf"(?:(?:{_LABEL}\.)+{_LABEL}|\[(?:{_OCTET}\.){{3}}(?:{_OCTET}|[a-z0-9-]*[a-z0-9]:"
    rf"(?:[{_ODD}\x21-\x5a\x53-\x7f]|{_ESCAPED})+)\])",
    "uri": r"(?:(?:https?|ftp)://(?:[^\s:@]+(?::[^\s:@]*)?@)?(?:[a-zA-Z\d.-]+\.[a-zA-Z]{2,}|localhost)"
    r"(?::\d+)?(?:/[^\s?#]*)?(?:\?[^\s#]*)?(?:\#[^\s]*)?|urn:[a-zA-Z\d][a-zA-Z\d\-]{0,31}:[^\s]+)",
}  # fmt: skip
"""The formats that it follows; it refuses others."""

DEEPEST: Final = 3
"""The number of times that a reference may lead back to itself."""


class OutlinesDrawing(EngineDrawing):
    """A schema as outlines-core reads it.

    Args:
        text: The schema as JSON.
        compact: Whether there is no white space at all.
        blank: A pattern of the white space between the tokens of JSON.
    """

    def __init__(self, text: str, *, compact: bool = False, blank: str | None = None) -> None:
        super().__init__(text, "Outlines")
        self._open: list[str] = []
        self._blank = "" if compact else " ?" if blank is None else blank
        if blank is not None:
            return
        self.remark(
            "",
            "Between the tokens of JSON it takes at most one space as white space, and around "
            "the JSON none.",
        )  # fmt: skip

    def whole(self) -> Node:
        """The whole schema."""
        return self.value(self.schema, "")

    def blank(self, pointer: str) -> Node:
        """The white space between two tokens of JSON."""
        return self.pattern(self._blank, self.head(pointer)) if self._blank else Empty(0, 0)

    def value(self, schema: Any, pointer: str) -> Node:
        """The texts of a part of the schema."""
        if not isinstance(schema, dict):
            raise self.refused(pointer, "it reads objects alone.")
        part = cast("Object", schema)
        if not part:
            return self._anything(pointer)
        drawn = {
            "properties": self._object, "allOf": self._all_of, "anyOf": self._union,
            "oneOf": self._union, "prefixItems": self._prefix, "enum": self._enum,
            "const": self._const, "$ref": self._reference, "type": self._typed,
        }  # fmt: skip
        keyword = next((name for name in drawn if name in part), "")
        if not keyword:
            raise self.refused(pointer, "it has none of the keywords that decide a part.")
        ignored = sorted(set(part) - _FOLLOWED - {keyword, "type"})
        if ignored:
            self.remark(pointer, f"It ignores {', '.join(ignored)} beside {keyword}.")
        return drawn[keyword](part, pointer)

    # --- objects
    # -----------------------------------------------------------------------------------

    def _object(self, part: Object, pointer: str) -> Node:
        """The listed members in their order, and no others."""
        self.remark(pointer, "An object with properties is closed.")
        properties: Object = part["properties"]
        required = {str(name) for name in part.get("required", [])}
        comma = self.seq(self.blank(pointer), self.text(",", self.head(pointer)))
        blank = self.blank(pointer)
        members: list[Node] = []
        asked: list[bool] = []
        for name, each in properties.items():
            place = f"{pointer}/properties/{name.replace('~', '~0').replace('/', '~1')}"
            try:
                value = self.value(each, place)
            except _TooDeep:
                continue
            key = self.text(f'"{name}"', place)
            asked.append(name in required)
            members.append(
                self.named(
                    self.seq(
                        blank, key, blank, self.text(":", place), blank, value
                    ), place,
                )
            )  # fmt: skip
        inside: Node = Empty(0, 0)
        if any(asked):
            last = max(k for k, is_asked in enumerate(asked) if is_asked)
            made: list[Node] = []
            for k, member in enumerate(members):
                one = self.seq(member, comma) if k < last else member if k == last else self.seq(
                    comma, member
                )  # fmt: skip
                made.append(one if asked[k] else self.maybe(one))
            inside = self.seq(*made)
        elif members:
            ways = [
                self.seq(*(self.maybe(self.seq(other, comma)) for other in members[:k]), member)
                for k, member in enumerate(members)
            ]
            inside = self.maybe(self.either(ways))
        head = self.head(pointer)
        whole = self.seq(self.text("{", head), inside, self.blank(pointer), self.text("}", head))
        return self.named(whole, pointer, "type")

    def _map(self, part: Object, pointer: str, depth: int = 2) -> Node:
        """An object whose members are not listed."""
        least, most = int(part.get("minProperties", 0)), part.get("maxProperties")
        if most == 0:
            return self._brackets("{", Empty(0, 0), "}", pointer)
        if part.get("minProperties") or most:
            self.remark(pointer, "Of bounds on the number of members it follows only 0 and 1.")
        further: Any = part.get("additionalProperties")
        if further is None or further is True:
            kinds = ["string", "number", "boolean", "null"] + (["object", "array"] if depth else [])
            value = self.either([self._plain(kind, pointer, depth - 1) for kind in kinds])
        else:
            value = self.value(further, f"{pointer}/additionalProperties")
        name = self.pattern(_STRING, pointer)
        member = self.seq(
            name, self.blank(pointer), self.text(":", pointer), self.blank(pointer), value
        )
        again = self.repeat(
            self.seq(self.blank(pointer), self.text(",", pointer), self.blank(pointer), member)
        )
        some = self.seq(member, again)
        return self._brackets("{", some if least else self.maybe(some), "}", pointer)

    def _brackets(self, left: str, inside: Node, right: str, pointer: str) -> Node:
        head = self.head(pointer)
        first, last = self.text(left, head), self.text(right, head)
        made = self.seq(first, self.blank(pointer), inside, self.blank(pointer), last)
        if isinstance(inside, Empty):
            made = self.seq(first, self.blank(pointer), last)
        return self.named(made, pointer, "type")

    # --- combinations
    # --------------------------------------------------------------------------------

    def _all_of(self, part: Object, pointer: str) -> Node:
        self.remark(f"{pointer}/allOf", "It writes the parts of an allOf one after the other.")
        return self.seq(
            *(self.value(each, f"{pointer}/allOf/{k}") for k, each in enumerate(part["allOf"]))
        )

    def _union(self, part: Object, pointer: str) -> Node:
        keyword = "anyOf" if "anyOf" in part else "oneOf"
        if keyword == "oneOf":
            self.remark(f"{pointer}/oneOf", "It reads oneOf as anyOf.")
        made = [
            self.value(each, f"{pointer}/{keyword}/{k}") for k, each in enumerate(part[keyword])
        ]
        return self.either(made) if made else Empty(*self.span(pointer))

    def _enum(self, part: Object, pointer: str) -> Node:
        made = [self._literal(each, f"{pointer}/enum") for each in part["enum"]]
        whole = self.either(made) if made else Empty(*self.span(pointer))
        return self.named(whole, pointer, "enum")

    def _const(self, part: Object, pointer: str) -> Node:
        return self.named(self._literal(part["const"], f"{pointer}/const"), pointer, "const")

    def _literal(self, value: Any, pointer: str) -> Node:
        if isinstance(value, dict | list):
            left, right = ("{", "}") if isinstance(value, dict) else ("[", "]")
            parts: list[Node] = []
            blank = self.blank(pointer)
            entries: list[tuple[str | None, Any]] = (
                list(cast("Object", value).items())
                if isinstance(value, dict) else [(None, each) for each in cast("list[Any]", value)]
            )  # fmt: skip
            for k, (name, each) in enumerate(entries):
                if k:
                    parts += [self.blank(pointer), self.text(",", pointer), self.blank(pointer)]
                if name is not None:
                    key = self.text(_json(name), pointer)
                    parts += [key, blank, self.text(":", pointer), blank]
                parts.append(self._literal(each, pointer))
            inside = [self.blank(pointer), *parts] if parts else [self.blank(pointer)]
            return self.seq(
                self.text(left, pointer), *inside, self.blank(pointer), self.text(right, pointer)
            )
        return self.text(_json(value), pointer)

    def _reference(self, part: Object, pointer: str) -> Node:
        ref = str(part["$ref"])
        if ref != "#" and not ref.startswith("#/"):
            raise self.refused(f"{pointer}/$ref", "it follows no reference to another document.")
        if self._open.count(ref) >= DEEPEST:
            raise _TooDeep()
        target, place = self.by_ref(ref, pointer)
        self._open.append(ref)
        try:
            return self.value(target, place)
        finally:
            self._open.pop()

    # --- arrays
    # ----------------------------------------------------------------------------------------

    def _prefix(self, part: Object, pointer: str) -> Node:
        self.remark(
            f"{pointer}/prefixItems", "It demands all of prefixItems, and no further items."
        )
        parts: list[Node] = []
        for k, each in enumerate(part["prefixItems"]):
            if k:
                parts += [self.blank(pointer), self.text(",", pointer), self.blank(pointer)]
            parts.append(self.value(each, f"{pointer}/prefixItems/{k}"))
        made = self.seq(
            self.text("[", pointer),
            self.blank(pointer),
            *parts,
            self.blank(pointer),
            self.text("]", pointer),
        )
        return self.named(made, pointer, "prefixItems")

    def _array(self, part: Object, pointer: str, depth: int = 2) -> Node:
        least, most = int(part.get("minItems", 0)), part.get("maxItems")
        if most == 0:
            return self._brackets("[", Empty(0, 0), "]", pointer)
        if "items" in part:
            item = self.value(part["items"], f"{pointer}/items")
        else:
            kinds = ["boolean", "null", "number", "integer", "string"]
            kinds += ["object", "array"] if depth else []
            item = self.either([self._plain(kind, pointer, depth - 1) for kind in kinds])
        again = self.seq(self.text(",", pointer), self.blank(pointer), item)
        room = None if most is None else int(most) - 1
        some = self.seq(item, self.repeat(again, max(least - 1, 0), room))
        return self._brackets("[", some if least else self.maybe(some), "]", pointer)

    # --- plain types
    # --------------------------------------------------------------------------------------

    def _typed(self, part: Object, pointer: str) -> Node:
        kinds = part["type"]
        if isinstance(kinds, list):
            made = [self._of_type(part, kind, pointer) for kind in cast("list[str]", kinds)]
            return self.either(made) if made else Empty(*self.span(pointer))
        return self._of_type(part, str(kinds), pointer)

    def _of_type(self, part: Object, kind: str, pointer: str) -> Node:
        if kind == "object":
            return self._map(part, pointer)
        if kind == "array":
            return self._array(part, pointer)
        if kind == "string":
            return self._string(part, pointer)
        if kind in ("integer", "number") and set(part) & _BOUNDS:
            self.remark(pointer, "It ignores the bounds of numbers, and multipleOf.")
        return self.named(self._plain(kind, pointer), pointer, "type")

    def _plain(self, kind: str, pointer: str, depth: int = 0) -> Node:
        """Any value of a type; arrays and objects nest to a depth."""
        if kind == "object":
            return self._map({}, pointer, depth)
        if kind == "array":
            return self._array({}, pointer, depth)
        patterns = {
            "string": _STRING, "integer": _INTEGER, "number": _NUMBER, "boolean": "true|false",
            "null": "null",
        }  # fmt: skip
        if kind not in patterns:
            raise self.refused(f"{pointer}/type", f"{kind} is not a type.")
        return self.pattern(patterns[kind], f"{pointer}/type")

    def _string(self, part: Object, pointer: str) -> Node:
        if "minLength" in part or "maxLength" in part:
            least, most = int(part.get("minLength", 0)), part.get("maxLength")
            if most is not None and int(most) < least:
                raise self.refused(pointer, "maxLength is less than minLength.")
            if "pattern" in part or "format" in part:
                self.remark(pointer, "Beside a length it ignores pattern and format.")
            bound = f"{{{least},{'' if most is None else int(most)}}}"
            return self.named(self.pattern(f'"{_CHAR}{bound}"', pointer), pointer, "maxLength")
        if "pattern" in part:
            self.remark(f"{pointer}/pattern", "A pattern is of the whole string, as it is written.")
            pattern = str(part["pattern"])
            if pattern.startswith("^") and pattern.endswith("$"):
                pattern = pattern[1:-1]
            return self.named(
                self.pattern(f'"{pattern}"', f"{pointer}/pattern"), pointer, "pattern"
            )
        if "format" in part:
            known = FORMATS.get(str(part["format"]))
            if known is None:
                raise self.refused(f"{pointer}/format", "it does not know this format.")
            return self.named(self.pattern(f'"{known}"', f"{pointer}/format"), pointer, "format")
        return self.named(self._plain("string", pointer), pointer, "type")

    def _anything(self, pointer: str) -> Node:
        kinds = ("boolean", "null", "number", "integer", "string", "array", "object")
        return self.either([self._plain(kind, pointer, 2) for kind in kinds])


class _TooDeep(Exception):
    """A reference leads back to itself too often: the member that holds it is left out."""


_BOUNDS: Final = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
_FOLLOWED: Final = frozenset({
    "title", "description", "default", "examples", "$schema", "$id", "$defs", "definitions",
    "$comment", "required", "items", "minItems", "maxItems", "minLength", "maxLength", "pattern",
    "format", *_BOUNDS, "minProperties", "maxProperties", "additionalProperties",
})  # fmt: skip


def _json(value: Any) -> str:
    """A value as it writes it: members and items apart, escapes as serde has them."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return str(value)
    if isinstance(value, int | float | Decimal):
        number = float(plain_number(value))
        return repr(number).replace("e-0", "e-")
    short = {
        '"': '\\"',
        "\\": "\\\\",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
    }
    text = "".join(
        short.get(char) or (f"\\u{ord(char):04x}" if char < " " else char) for char in str(value)
    )
    return f'"{text}"'
