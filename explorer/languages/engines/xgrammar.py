r"""JSON Schema as xgrammar 0.2.8 reads it, under vLLM, SGLang and TensorRT-LLM.

The outermost value has no white space around it; inside there is any, or, where the server forbids
it, ``", "`` and ``": "``. Of an object or array, what the schema does not list is excluded
(``strict_mode``). Of the keywords of a part one decides, in this order: ``$ref``, ``const``,
``enum``, ``anyOf``, ``oneOf``, ``allOf``, ``type``; a part with none of these, nor with properties
or items, is any value. Strings with bounds on their length hold no escapes, and patterns are of the
whole string, without escapes.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, ClassVar, Final, cast

from explorer.automata.construction.operations import intersection
from explorer.automata.machine import Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.nodes import Deferred, Node
from explorer.budget import Meter
from explorer.languages.engines.drawing import (
    EngineDrawing,
    Object,
    both,
    bounds_of,
    pattern_machine,
    plain_number,
    spelled,
    within,
)
from explorer.languages.engines.patterns import facts, pattern_tree
from explorer.languages.schema.text.numbers import multiples
from explorer.languages.schema.text.strings import among

_OBJECT: Final = ("properties", "additionalProperties", "unevaluatedProperties")
_ARRAY: Final = ("items", "prefixItems", "unevaluatedItems")
PLAIN_INTEGER: Final = "0|-?[1-9][0-9]*"
NUMBER: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_DECIMAL: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]{1,6})?"
_NO_ESCAPES: Final = r'[^"\\\x00-\x1f]*'
WIDEST: Final = 10_000
"""The widest range whose multiples it lists; of a wider one it ignores multipleOf."""


class XGrammarDrawing(EngineDrawing):
    """A schema as xgrammar reads it.

    Args:
        text: The schema as JSON.
        compact: Whether the server forbids free white space.
        blank: The same; it follows no pattern of white space.
    """

    engine = "xgrammar"
    separators: ClassVar = (", ", ": ")
    """The comma and the colon where the server forbids free white space."""
    string: ClassVar = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"'
    """Any string."""

    def __init__(self, text: str, *, compact: bool = False, blank: str | None = None) -> None:
        super().__init__(text, "" if compact else r"[\t\n\r ]*")
        free = (f"{self.blank},{self.blank}", f"{self.blank}:{self.blank}")
        self.comma, self.colon = self.separators if compact else free
        if not compact:
            self.say("", "whole")

    def whole(self) -> Node:
        """The whole schema."""
        return self.value(self.schema, "")

    def brackets(self, signs: str, inside: str, pointer: str, *, may_be_empty: bool) -> Node:
        """Brackets around something, and around nothing."""
        left, right = signs
        filled = f"{self.blank}{inside}{self.at(pointer)}" if inside else ""
        body = f"(?:{filled})?" if may_be_empty and inside else filled
        return self.draw(rf"{self.at(pointer)}\{left}{body}{self.blank}\{right}")

    # --- values

    def value(self, schema: Any, pointer: str, *, alone: bool = True) -> Node:
        """The texts of a part of the schema.

        Args:
            alone: Whether a part that says nothing but its type, array or object, is any of them;
                behind a reference it is empty instead.
        """
        if schema is True:
            return self.any_value()
        if schema is False:
            raise self.refused(pointer, "false allows no value.")
        part = cast("Object", schema)
        drawn = {
            "$ref": self._reference, "const": self._const, "enum": self._enum,
            "anyOf": self._union, "oneOf": self._union, "allOf": self._all_of,
        }  # fmt: skip
        for keyword, draw in drawn.items():
            if keyword in part:
                return draw(part, pointer)
        kinds = part.get("type")
        if not alone and kinds in ("array", "object") and not set(part) - ANNOTATIONS - {"type"}:
            self.say(pointer, "alone")
            return self.brackets("[]" if kinds == "array" else "{}", "", pointer, may_be_empty=True)
        if isinstance(kinds, list) and kinds:
            return self.either(
                [self._of_type(part, str(kind), pointer) for kind in cast("list[Any]", kinds)],
                pointer,
            )
        if isinstance(kinds, str):
            return self._of_type(part, kinds, pointer)
        if any(name in part for name in _OBJECT):
            return self._object(part, pointer)
        if any(name in part for name in _ARRAY):
            return self._array(part, pointer)
        if set(part) - ANNOTATIONS:
            self.say(pointer, "typeless")
        return self.any_value()

    def either(self, options: list[Node], pointer: str, keyword: str = "type") -> Node:
        """One of some nodes."""
        return self.draw(self.at(pointer, keyword) + "|".join(map(self.hold, options)))

    def _reference(self, part: Object, pointer: str) -> Node:
        ref = str(part["$ref"])
        if ref != "#" and not ref.startswith("#/"):
            self.say(f"{pointer}/$ref", "elsewhere")
            return self.any_value()
        target, place = self.by_ref(ref, pointer)
        if set(part) - ANNOTATIONS - {"$ref"}:
            self.say(pointer, "beside", keyword="$ref")
        return self.rule(place or "#", lambda: self.value(target, place, alone=False))

    def literal(self, value: Any, pointer: str, keyword: str) -> Node:
        """One value, in the engine's spelling."""
        return self.draw(self.at(pointer, keyword) + re.escape(_json(value)))

    def _const(self, part: Object, pointer: str) -> Node:
        return self.literal(part["const"], pointer, "const")

    def _enum(self, part: Object, pointer: str) -> Node:
        values = part["enum"]
        if not values:
            raise self.refused(f"{pointer}/enum", "an enum must not be empty.")
        if any(isinstance(each, int | float | Decimal) for each in values):
            self.say(f"{pointer}/enum", "enum")
        if set(part) - ANNOTATIONS - {"enum", "type"}:
            self.say(pointer, "beside", keyword="enum")
        return self.machine(among([_json(each) for each in values], Meter()), pointer, "enum")

    def _union(self, part: Object, pointer: str) -> Node:
        keyword = "anyOf" if "anyOf" in part else "oneOf"
        if set(part) - ANNOTATIONS - {keyword}:
            self.say(pointer, "beside", keyword=keyword)
        if keyword == "oneOf":
            self.say(f"{pointer}/oneOf", "oneOf")
        options = enumerate(part[keyword])
        return self.either(
            [self.value(each, f"{pointer}/{keyword}/{k}") for k, each in options], pointer, keyword
        )

    def _all_of(self, part: Object, pointer: str) -> Node:
        if len(part["allOf"]) == 1:
            return self.value(part["allOf"][0], f"{pointer}/allOf/0", alone=False)
        self.say(f"{pointer}/allOf", "allOf")
        return self.any_value()

    def _of_type(self, part: Object, kind: str, pointer: str) -> Node:
        if kind in ("boolean", "null"):
            return self.draw(self.at(pointer) + ("null" if kind == "null" else "true|false"))
        drawn = {
            "integer": self.integer, "number": self.number, "string": self.text,
            "array": self._array, "object": self._object,
        }.get(kind)  # fmt: skip
        if drawn is None:
            raise self.refused(f"{pointer}/type", f"{kind} is not a type.")
        return drawn(part, pointer)

    def any_value(self) -> Node:
        """Any JSON value."""

        def draw() -> Node:
            held = [
                self._array({"items": True}, ""),
                self._object({"additionalProperties": True}, ""),
            ]
            nested = "|".join(map(self.hold, held))
            return self.draw(f"{self.at('')}{NUMBER}|{self.string}|true|false|null|{nested}")

        return self.rule(":any value", draw)

    # --- numbers and strings

    def integer(self, part: Object, pointer: str) -> Node:
        """An integer."""
        self.say(f"{pointer}/type", "integer")
        bounds, machine = bounds_of(part), pattern_machine(PLAIN_INTEGER)
        if any(Decimal(str(bound)) % 1 for bound, _ in bounds):
            raise self.refused(pointer, "a bound of an integer must be whole.")
        step = part.get("multipleOf")
        if bounds:
            machine = within(machine, bounds)
            listed = self._multiples(part, pointer)
            if listed is not None:
                machine = among(listed, Meter())
            elif step is not None:
                self.say(f"{pointer}/multipleOf", "bounded step")
        elif step is not None and plain_number(step) % 1 == 0:
            machine = both(machine, multiples(int(plain_number(step)), 0, Meter()))
        elif step is not None:
            self.say(f"{pointer}/multipleOf", "fraction step")
        return self.numeric(part, machine, pointer)

    def _multiples(self, part: Object, pointer: str) -> list[str] | None:
        """The multiples between two bounds, if they are few."""
        bounds, step = bounds_of(part), part.get("multipleOf")
        lows = [int(float(str(b))) + (o == ">") for b, o in bounds if o.startswith(">")]
        highs = [int(float(str(b))) - (o == "<") for b, o in bounds if o.startswith("<")]
        if step is None or plain_number(step) % 1 or not lows or not highs:
            return None
        low, high, by = max(lows), min(highs), int(plain_number(step))
        if high - low >= WIDEST:
            return None
        listed = [str(each) for each in range(low + -low % by, high + 1, by)]
        if not listed:
            raise self.refused(pointer, "no multiple is within the bounds.")
        return listed

    def number(self, part: Object, pointer: str) -> Node:
        """A number."""
        bounds = bounds_of(part)
        if "multipleOf" in part:
            self.say(f"{pointer}/multipleOf", "step")
        if not bounds:
            return self.numeric(part, pattern_machine(NUMBER), pointer)
        self.say(pointer, "number")
        machine = within(pattern_machine(_DECIMAL), bounds)
        negative = all(Decimal(str(bound)) < 0 for bound, order in bounds if order.startswith(">"))
        zero = r"(?!-0$)" if negative else r"(?!-0(?:\.0*)?$)"
        return self.numeric(part, both(machine, pattern_machine(rf"{zero}(?s:.*)")), pointer)

    def numeric(self, part: Object, machine: Dfa, pointer: str) -> Node:
        """A number of a machine, named by the one keyword that bounds it, or by its part."""
        named = [name for name in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum",
                                   "multipleOf") if name in part]  # fmt: skip
        return self.machine(machine, pointer, named[0] if len(named) == 1 else "type")

    def written(self, pattern: str, pointer: str) -> str:
        """A pattern of the user: of the whole string, and without escapes."""
        plain = re.sub(r"\(\?[=!][^()]*\)", "", pattern)  # It ignores lookaheads.
        tree = pattern_tree(plain, "xgrammar").whole()  # Now, so that its errors come here.

        def make(meter: Meter) -> Dfa:
            return intersection(build(tree, meter), pattern_machine(_NO_ESCAPES), meter)

        return self.hold(Deferred(*self.span(pointer), make))

    def text(self, part: Object, pointer: str) -> Node:
        """A string."""
        formats = facts("xgrammar")["formats"]
        bounded = part.get("minLength") or "maxLength" in part
        known = part.get("format") if part.get("format") in formats else None
        keyword = "format" if known else "pattern" if "pattern" in part else ""
        if keyword and bounded:
            self.say(pointer, "length", keyword=keyword)
        if known:
            if "pattern" in part:
                self.say(f"{pointer}/pattern", "format")
            inside = f"(?:{formats[known]})"
        elif keyword:
            self.say(f"{pointer}/pattern", "pattern")
            inside = self.written(str(part["pattern"]), f"{pointer}/pattern")
        elif bounded:
            self.say(pointer, "bounded")
            keyword = "maxLength" if "maxLength" in part else "minLength"
            most = int(part["maxLength"]) if "maxLength" in part else ""
            inside = rf'[^\n\r"\\]{{{int(part.get("minLength", 0))},{most}}}'
        else:
            return self.draw(self.at(pointer) + self.string)
        mark = self.at(pointer)
        return self.draw(f'{mark}"{self.at(pointer, keyword)}{inside}{mark}"')

    # --- arrays

    def _array(self, part: Object, pointer: str) -> Node:
        prefix: list[Any] = part.get("prefixItems", [])
        least, most = int(part.get("minItems", 0)), part.get("maxItems")
        room = None if most is None else int(most) - len(prefix)
        if "uniqueItems" in part or "contains" in part:
            self.say(pointer, "items")
        more = next((name for name in ("items", "unevaluatedItems") if name in part), "")
        counted = set(part) & {"prefixItems", "minItems", "maxItems", "contains", "uniqueItems"}
        further: Any = part[more] if more else not counted
        if not more and counted:
            self.say(pointer, "further items")
        if isinstance(further, list):
            raise self.refused(f"{pointer}/items", "items must be an object or a boolean.")
        limits = [
            *([] if most is None else [int(most)]),
            *([len(prefix)] if further is False else []),
        ]
        if any(least > limit for limit in limits) or (room is not None and room < 0):
            raise self.refused(pointer, "its bounds on the number of items exclude each other.")
        items = [
            self.hold(self.value(each, f"{pointer}/prefixItems/{k}"))
            for k, each in enumerate(prefix)
        ]
        comma, rest = f"{self.at(pointer)}{self.comma}", ""
        if further is not False and room != 0:
            item = self.value(further, f"{pointer}/{more}") if more else self.any_value()
            rest = _times(comma, self.hold(item), max(least - len(items), 0), room, not items)
        for k in range(len(items) - 1, -1, -1):
            rest = (comma if k else "") + items[k] + rest
            rest = f"(?:{rest})?" if k >= max(least, 1) else rest
        return self.brackets("[]", rest, pointer, may_be_empty=least == 0)

    # --- objects

    def _object(self, part: Object, pointer: str) -> Node:
        properties: Object = part.get("properties", {})
        least, most = int(part.get("minProperties", 0)), part.get("maxProperties")
        room = None if most is None else int(most)
        if any(part.get(name) for name in _DEPENDENT):
            self.say(pointer, "dependent")
        more = next((name for name in _OBJECT[1:] if name in part), "")
        bare = not set(part) & _NOT_BARE
        further: Any = part[more] if more else bare
        names = part.get("propertyNames")
        if not more and not bare and (properties or not names):
            self.say(pointer, "closed")
        required = {str(name) for name in part.get("required", [])}
        if required - set(properties):
            self.say(f"{pointer}/required", "required")
        others = self._others(part, names, further, more, pointer)
        comma = f"{self.at(pointer)}{self.comma}"
        if not properties:
            rest = _times(comma, others, least, room, True) if others and room != 0 else ""
            return self.brackets("{}", rest, pointer, may_be_empty=least == 0)
        listed = [self._member(name, each, pointer) for name, each in properties.items()]
        asked = [name in required for name in properties]
        inside = self._members(listed, asked, others, least, room, pointer)
        empty = not any(asked) and least == 0
        if inside is None and not empty:
            raise self.refused(pointer, "its bounds on the number of members exclude each other.")
        held = "" if inside is None else self.hold(inside)
        return self.brackets("{}", held, pointer, may_be_empty=empty)

    def _member(self, name: str, schema: Any, pointer: str) -> str:
        place = f"{pointer}/properties/{_escaped(name)}"
        key = self.hold(self.literal(name, place, ""))
        return key + self.at(pointer) + self.colon + self.hold(self.value(schema, place))

    def _members(
        self, listed: list[str], asked: list[bool], others: str, least: int, most: int | None,
        pointer: str,
    ) -> Node | None:  # fmt: skip
        """At least one member: the listed ones in order, then others."""
        comma = f"{self.at(pointer)}{self.comma}"
        counted = least > 0 or most is not None
        known: dict[tuple[int, int], Node | None] = {}

        def after(k: int, count: int) -> Node | None:
            """The rest of an object before the listed member k, after a number of members."""
            count = count if counted else min(count, 1)
            if (k, count) not in known:
                made = options(k, count)
                # A part is a rule, because two parts go on with it.
                name = f":{pointer} after {k} listed and {count} written"
                whole = self.at(pointer) + "|".join(f"(?:{each})" for each in made)
                known[k, count] = self.rule(name, lambda: self.draw(whole)) if made else None
            return known[k, count]

        def options(k: int, count: int) -> list[str]:
            room = None if most is None else most - count
            if room is not None and room < 0:
                return []
            if k < len(listed):
                taken, left = after(k + 1, count + 1), None if asked[k] else after(k + 1, count)
                made = [] if left is None else [self.hold(left)]
                if taken is not None:
                    made.append((comma if count else "") + listed[k] + self.hold(taken))
                return made
            short = max(least - count, 0)
            if not others or room == 0:
                return [""] if short == 0 and count else []
            return [_times(comma, others, short, room, not count)]

        return after(0, 0)

    def _others(self, part: Object, names: Any, further: Any, more: str, pointer: str) -> str:
        """A member that ``properties`` does not list; empty where there is none."""
        properties: Object = part.get("properties", {})
        patterns: Object = part.get("patternProperties", {})
        place = f"{pointer}/{more}" if more else pointer
        made: list[str] = []
        for name, each in patterns.items():
            of = f"{pointer}/patternProperties/{_escaped(name)}"
            self.say(of, "names")
            key = f'{self.at(of, "")}"{self.written(name, of)}"{self.at(pointer)}{self.colon}'
            made.append(key + self.hold(self.value(each, of)))
        if names is not None and not properties and not patterns:
            key = self.hold(self._string_name(names, f"{pointer}/propertyNames"))
            value: Any = {} if further in (False, True) else further
            return f"{key}{self.at(pointer)}{self.colon}{self.hold(self.value(value, place))}"
        if further is not False and (properties or not patterns):
            key = self.string if patterns else self.other_name(properties, place)
            colon = f"{self.at(pointer)}{self.colon}"
            made.append(self.at(place, "") + key + colon + self.hold(self.value(further, place)))
        return f"(?:{'|'.join(made)})" if made else ""

    def _string_name(self, names: Any, pointer: str) -> Node:
        if names is True or not isinstance(names, dict):
            return self.draw(self.at(pointer) + self.string)
        held = cast("Object", names)
        if "enum" in held or "const" in held or "$ref" in held:
            return self.value(held, pointer)
        return self.text({**held, "type": "string"}, pointer)

    def other_name(self, properties: Object, pointer: str) -> str:
        """A name that is not one of the listed, in a spelling without escapes of letters."""
        return self.but([_json(name) for name in properties], self.string, pointer)

    def but(self, names: list[str], string: str, pointer: str) -> str:
        """The strings of a pattern without those of some names."""
        known = "|".join(map(re.escape, names))
        made = pattern_machine(rf"(?!(?:{known})$){string}" if names else string)
        return self.hold(self.machine(made, pointer, ""))


_DEPENDENT: Final = ("dependentRequired", "dependentSchemas", "dependencies")
_NOT_BARE: Final = {
    "properties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
    "required",
}  # fmt: skip
ANNOTATIONS: Final = frozenset({
    "title", "description", "default", "examples", "$schema", "$id", "$defs", "definitions",
    "$comment", "deprecated", "readOnly", "writeOnly", "nullable", "$anchor",
})  # fmt: skip
"""The keywords that say nothing of the texts."""


def _times(comma: str, piece: str, least: int, most: int | None, first: bool) -> str:
    """A piece again and again, after a comma each; but the first, where nothing is before it."""
    if not first:
        return f"(?:{comma}{piece}){{{least},{'' if most is None else most}}}"
    room = "" if most is None else most - 1
    return f"{piece}(?:{comma}{piece}){{{max(least - 1, 0)},{room}}}"


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _number(value: float) -> str:
    """A number as xgrammar writes it."""
    whole = abs(value) < 1e15 and value == int(value)
    return str(int(value)) if whole else f"{value:.17g}"


def _json(value: Any) -> str:
    """A value in the one spelling that xgrammar gives it."""
    return spelled(value, _number, -(2**63), 2**63 - 1).replace("\x7f", "\\u007f")
