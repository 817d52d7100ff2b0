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
from typing import Any, Final, cast

from explorer.automata.construction.operations import intersection
from explorer.automata.machine import Dfa
from explorer.automata.tree.charset import char_set
from explorer.automata.tree.nodes import Deferred, Empty, Node
from explorer.budget import Meter
from explorer.languages.engines.drawing import (
    CONTROLS,
    EngineDrawing,
    Object,
    both,
    bounds_of,
    but,
    pattern_machine,
    plain_number,
    within,
)
from explorer.languages.regex import compile_pattern
from explorer.languages.regex.source import Regex as RegexSource
from explorer.languages.schema.text.numbers import multiples
from explorer.languages.schema.text.strings import among

_OBJECT: Final = ("properties", "additionalProperties", "unevaluatedProperties")
_ARRAY: Final = ("items", "prefixItems", "unevaluatedItems")
_INTEGER: Final = "0|-?[1-9][0-9]*"
_NUMBER: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_DECIMAL: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]{1,6})?"
_NO_ESCAPES: Final = r'[^"\\\x00-\x1f]*'
_HOUR, _SIXTY = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
_DAY: Final = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME: Final = rf"{_HOUR}:{_SIXTY}:(?:{_SIXTY}|60)(?:\.[0-9]+)?(?:Z|[+-]{_HOUR}:{_SIXTY})"
_SPAN: Final = "T(?:[0-9]+S|[0-9]+M(?:[0-9]+S)?|[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?)"
_ATOM: Final = r"[a-zA-Z0-9_!#$%&'*+/=?^`{|}~-]"
_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"
_LATE: Final = "(?:25[0-5]|(?:2[0-4]|1?[0-9])?[0-9])"
_HEX: Final = "[0-9a-fA-F]{1,4}"
_HOST: Final = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_CODE: Final = "%[0-9A-Fa-f]{2}"
_FREE: Final = r"a-zA-Z0-9_.~!$&'()*+,;="
_USER, _REG, _PATH, _QUERY, _NOCOLON = (
    f"(?:[{_FREE}{more}-]|{_CODE})" for more in (":", "", ":@", ":@/?", "@")
)
_REST: Final = rf"(?:\?{_QUERY}*)?(?:#{_QUERY}*)?"
_AUTHORITY: Final = rf"//(?:{_USER}*@)?{_REG}*(?::[0-9]*)?(?:/{_PATH}*)*"
_NAME: Final = rf"(?:[a-zA-Z0-9_]|{_CODE})"
_VARIABLE: Final = rf"{_NAME}(?:\.?{_NAME})*(?::[1-9][0-9]{{0,3}}|\*)?"
_POINTER: Final = r"(?:/(?:[\x00-.0-}\x7f-\U0010ffff]|~[01])*)*"

FORMATS: Final = {
    "date": _DAY, "time": _TIME, "date-time": f"{_DAY}T{_TIME}",
    "email": rf'(?:{_ATOM}+(?:\.{_ATOM}+)*|\\"(?:\\[ -~]|[ !#-\[\]-~])*\\")@'
    r"[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?(?:\.[A-Za-z0-9][-A-Za-z0-9]*[A-Za-z0-9])*",
    "duration": "P(?:(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)"
    f"(?:{_SPAN})?|{_SPAN}|[0-9]+W)",
    "ipv4": rf"(?:{_OCTET}\.){{3}}{_OCTET}",
    "ipv6": "|".join((
        f"(?:{_HEX}:){{7}}{_HEX}", f"(?:{_HEX}:){{1,7}}:",
        *(f"(?:{_HEX}:){{1,{7 - k}}}(?::{_HEX}){{1,{k}}}" for k in range(1, 7)),
        f":(?:(?::{_HEX}){{1,7}}|:)", rf"::(?:ffff(?::0{{1,4}})?:)?(?:{_LATE}\.){{3}}{_LATE}",
        rf"(?:{_HEX}:){{1,4}}:(?:{_LATE}\.){{3}}{_LATE}",
    )),
    "hostname": rf"{_HOST}(?:\.{_HOST})*",
    "uuid": "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "uri": rf"[a-zA-Z][a-zA-Z+.-]*:(?:{_AUTHORITY}|/?(?:{_PATH}+(?:/{_PATH}*)*)?){_REST}",
    "uri-reference": rf"(?:{_AUTHORITY}|/(?:{_PATH}+(?:/{_PATH}*)*)?|"
    rf"{_NOCOLON}+(?:/{_PATH}*)*)?{_REST}",
    "uri-template": rf"(?:[!#-$&(-;=?-\[\]_a-z~]|{_CODE}|"
    rf"\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}})*",
    "json-pointer": _POINTER, "relative-json-pointer": rf"(?:0|[1-9][0-9]*)(?:#|{_POINTER})",
}  # fmt: skip
"""The formats that it follows: what stands between the quotes."""

WHITE: Final = char_set([(9, 10), (13, 13), (32, 32)])
ANY: Final = "any value"
WIDEST: Final = 10_000
"""The widest range whose multiples it lists; of a wider one it ignores multipleOf."""


class XGrammarDrawing(EngineDrawing):
    """A schema as xgrammar reads it.

    Args:
        text: The schema as JSON.
        compact: Whether the server forbids free white space.
    """

    separators = (", ", ": ")
    """The comma and the colon where the server forbids free white space."""

    def __init__(self, text: str, *, compact: bool = False, blank: str | None = None) -> None:
        super().__init__(text, "xgrammar")
        del blank  # It follows no pattern of white space.
        self.compact = compact
        if not compact:
            self.remark("", "It takes no white space before and after the JSON.")

    def whole(self) -> Node:
        """The whole schema."""
        return self.value(self.schema, "")

    # --- white space -----------------------------------------------------------------------------

    def blank(self, pointer: str) -> Node:
        """The white space between two tokens of JSON."""
        return Empty(0, 0) if self.compact else self.repeat(self.one(WHITE, pointer))

    def comma(self, pointer: str) -> Node:
        """A comma with its white space."""
        pointer = self.head(pointer)
        if self.compact:
            return self.text(self.separators[0], pointer)
        return self.seq(self.blank(pointer), self.text(",", pointer), self.blank(pointer))

    def member(self, key: Node, value: Node, pointer: str) -> Node:
        """A member: a name, a colon and a value."""
        pointer = self.head(pointer)
        if self.compact:
            return self.seq(key, self.text(self.separators[1], pointer), value)
        return self.seq(
            key, self.blank(pointer), self.text(":", pointer), self.blank(pointer), value
        )

    def around(self, left: str, inside: Node, right: str, pointer: str) -> Node:
        """Brackets around something that is not empty."""
        pointer = self.head(pointer)
        return self.seq(
            self.text(left, pointer),
            self.blank(pointer),
            inside,
            self.blank(pointer),
            self.text(right, pointer),
        )

    def empty(self, left: str, right: str, pointer: str) -> Node:
        """Brackets around nothing."""
        pointer = self.head(pointer)
        return self.seq(self.text(left, pointer), self.blank(pointer), self.text(right, pointer))

    # --- values
    # ------------------------------------------------------------------------------------

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
        if "$ref" in part:
            return self._reference(part, pointer)
        if "const" in part:
            made = self._constant(part["const"], f"{pointer}/const")
            return self.named(made, pointer, "const")
        if "enum" in part:
            return self._enum(part, pointer)
        for keyword in ("anyOf", "oneOf"):
            if keyword in part:
                return self._union(part, keyword, pointer)
        if "allOf" in part:
            listed = part["allOf"]
            if len(listed) == 1:
                return self.value(listed[0], f"{pointer}/allOf/0", alone=False)
            self.remark(f"{pointer}/allOf", "Of an allOf of several parts it follows none.")
            return self.any_value()
        kinds = part.get("type")
        if not alone and kinds in ("array", "object") and not set(part) - _ANNOTATIONS - {"type"}:
            self.remark(pointer, "Behind a reference a type alone is the empty array or object.")
            left, right = ("[", "]") if kinds == "array" else ("{", "}")
            return self.named(self.empty(left, right, pointer), pointer, "type")
        if isinstance(kinds, list):
            listed = cast("list[str]", kinds)
            made = [self._of_type(part, kind, pointer) for kind in listed]
            return self.either(made) if made else self.any_value()
        if isinstance(kinds, str):
            return self._of_type(part, kinds, pointer)
        if any(name in part for name in _OBJECT):
            return self._object(part, pointer)
        if any(name in part for name in _ARRAY):
            return self._array(part, pointer)
        if set(part) - _ANNOTATIONS:
            self.remark(
                pointer, "A part without a type is any value: its keywords are not followed."
            )
        return self.any_value()

    def _reference(self, part: Object, pointer: str) -> Node:
        ref = str(part["$ref"])
        if ref != "#" and not ref.startswith("#/"):
            self.remark(f"{pointer}/$ref", "It follows no reference to another document.")
            return self.any_value()
        target, place = self.by_ref(ref, pointer)
        if set(part) - _ANNOTATIONS - {"$ref"}:
            self.remark(pointer, "It follows no keyword beside $ref.")
        return self.rule(place or "#", lambda: self.value(target, place, alone=False))

    def _constant(self, value: Any, pointer: str) -> Node:
        return self.text(_json(value), pointer)

    def _enum(self, part: Object, pointer: str) -> Node:
        values = part["enum"]
        if not values:
            raise self.refused(f"{pointer}/enum", "an enum must not be empty.")
        if any(isinstance(each, int | float | Decimal) for each in values):
            self.remark(f"{pointer}/enum", "A number of an enum has one spelling, such as 1.")
        if set(part) - _ANNOTATIONS - {"enum", "type"}:
            self.remark(pointer, "It follows no keyword beside enum.")
        machine = among([_json(each) for each in values], Meter())
        return self.named(self.machine(machine, f"{pointer}/enum"), pointer, "enum")

    def _union(self, part: Object, keyword: str, pointer: str) -> Node:
        options = part[keyword]
        if set(part) - _ANNOTATIONS - {keyword}:
            self.remark(pointer, f"It follows no keyword beside {keyword}.")
        if keyword == "oneOf":
            self.remark(f"{pointer}/oneOf", "It reads oneOf as anyOf.")
        if not options:
            return Empty(*self.span(pointer))
        return self.either(
            [self.value(each, f"{pointer}/{keyword}/{k}") for k, each in enumerate(options)]
        )

    def _of_type(self, part: Object, kind: str, pointer: str) -> Node:
        drawn = {
            "integer": self._integer, "number": self._number, "string": self._string,
            "array": self._array, "object": self._object,
        }.get(kind)  # fmt: skip
        if drawn is not None:
            return drawn(part, pointer)
        words = {"boolean": ["true", "false"], "null": ["null"]}.get(kind)
        if words is None:
            raise self.refused(f"{pointer}/type", f"{kind} is not a type.")
        made = self.either([self.text(word, f"{pointer}/type") for word in words])
        return self.named(made, pointer, "type")

    def any_value(self) -> Node:
        """Any JSON value."""

        def draw() -> Node:
            words = [self.text(word, "") for word in ("true", "false", "null")]
            free = {"additionalProperties": True}
            return self.either([
                self.pattern(_NUMBER, ""), self._free_string(""), *words,
                self._array({"items": True}, ""), self._object(free, ""),
            ])  # fmt: skip

        return self.rule(ANY, draw)

    # --- numbers
    # -------------------------------------------------------------------------------------

    def _integer(self, part: Object, pointer: str) -> Node:
        self.remark(f"{pointer}/type", "An integer has one spelling: no 1.0, no 1e3, no -0.")
        bounds, machine = bounds_of(part), pattern_machine(_INTEGER)
        if any(Decimal(str(bound)) % 1 for bound, _ in bounds):
            raise self.refused(pointer, "a bound of an integer must be whole.")
        step = part.get("multipleOf")
        if bounds:
            machine = within(machine, bounds)
            listed = self._multiples(part, pointer)
            if listed is not None:
                machine = among(listed, Meter())
            elif step is not None:
                self.remark(f"{pointer}/multipleOf", "Beside a bound it ignores multipleOf.")
        elif step is not None and plain_number(step) % 1 == 0:
            machine = both(machine, multiples(int(plain_number(step)), 0, Meter()))
        elif step is not None:
            self.remark(f"{pointer}/multipleOf", "It ignores a multipleOf that is not whole.")
        return self._numeric(part, machine, pointer)

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

    def _number(self, part: Object, pointer: str) -> Node:
        bounds = bounds_of(part)
        if "multipleOf" in part:
            self.remark(f"{pointer}/multipleOf", "Of a number it ignores multipleOf.")
        if not bounds:
            return self._numeric(part, pattern_machine(_NUMBER), pointer)
        self.remark(pointer, "A bounded number has at most six decimals and no exponent.")
        machine = within(pattern_machine(_DECIMAL), bounds)
        negative = all(Decimal(str(bound)) < 0 for bound, order in bounds if order.startswith(">"))
        zero = r"(?!-0$)" if negative else r"(?!-0(?:\.0*)?$)"
        return self._numeric(part, both(machine, pattern_machine(rf"{zero}(?s:.*)")), pointer)

    def _numeric(self, part: Object, machine: Dfa, pointer: str) -> Node:
        named = [name for name in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum",
                                   "multipleOf") if name in part]  # fmt: skip
        keyword = named[0] if len(named) == 1 else "" if named else "type"
        return self.named(self.machine(machine, f"{pointer}/{keyword}"), pointer, keyword)

    def written(self, pattern: str, pointer: str) -> Node:
        """A pattern of the user: of the whole string, with ASCII classes and no escapes."""
        plain = re.sub(r"\(\?[=!][^()]*\)", "", pattern)  # It ignores lookaheads.
        RegexSource.read(plain)  # So that its errors come here.

        def make(meter: Meter) -> Dfa:
            made = compile_pattern(f"(?as:{plain})", meter)[1]
            return intersection(made, pattern_machine(_NO_ESCAPES), meter)

        return Deferred(*self.span(pointer), make)

    # --- strings
    # ---------------------------------------------------------------------------------------

    def _free_string(self, pointer: str) -> Node:
        quoted = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"'
        return self.pattern(quoted, pointer)

    def _string(self, part: Object, pointer: str) -> Node:
        bounded = part.get("minLength") or "maxLength" in part
        known = part.get("format") if part.get("format") in FORMATS else None
        keyword = "format" if known else "pattern" if "pattern" in part else ""
        if keyword and bounded:
            self.remark(pointer, f"Beside {keyword} it drops minLength and maxLength.")
        if known:
            if "pattern" in part:
                self.remark(f"{pointer}/pattern", "Beside format it drops pattern.")
            inside = self.pattern(FORMATS[known], f"{pointer}/format")
        elif keyword:
            self.remark(f"{pointer}/pattern", "A pattern is of the whole string, without escapes.")
            inside = self.written(str(part["pattern"]), f"{pointer}/pattern")
        elif bounded:
            self.remark(pointer, "A string with bounds on its length holds no escapes.")
            keyword = "maxLength" if "maxLength" in part else "minLength"
            chars = but((10, 10), (13, 13), (34, 34), (92, 92))
            inside = self.repeat(
                self.one(chars, f"{pointer}/{keyword}"), int(part.get("minLength", 0)),
                None if "maxLength" not in part else int(part["maxLength"]),
            )  # fmt: skip
        else:
            return self.named(self._free_string(f"{pointer}/type"), pointer, "type")
        quote = self.text('"', f"{pointer}/type")
        return self.named(
            self.seq(quote, self.named(inside, pointer, keyword), quote), pointer, "type"
        )

    # --- arrays
    # ----------------------------------------------------------------------------------------

    def _array(self, part: Object, pointer: str) -> Node:
        prefix: list[Any] = part.get("prefixItems", [])
        least, most = int(part.get("minItems", 0)), part.get("maxItems")
        if "uniqueItems" in part or "contains" in part:
            self.remark(pointer, "It ignores uniqueItems and contains.")
        more = next((name for name in ("items", "unevaluatedItems") if name in part), "")
        further: Any = part[more] if more else False
        plain = not set(part) & {"prefixItems", "minItems", "maxItems", "contains", "uniqueItems"}
        if not more and plain:
            further = True
        elif not more:
            self.remark(pointer, "Further items are excluded, unless items is given (strict_mode).")
        if isinstance(further, list):
            raise self.refused(f"{pointer}/items", "items must be an object or a boolean.")
        if most is not None and least > int(most):
            raise self.refused(pointer, "minItems is greater than maxItems.")
        if most is not None and int(most) < len(prefix):
            raise self.refused(pointer, "maxItems is less than the number of prefixItems.")
        if further is False and least > len(prefix):
            raise self.refused(pointer, "minItems is greater than the number of prefixItems.")
        items = [self.value(each, f"{pointer}/prefixItems/{k}") for k, each in enumerate(prefix)]
        comma = self.comma(pointer)
        rest: Node = Empty(0, 0)
        if further is not False and (most is None or int(most) > len(prefix)):
            item = self.value(further, f"{pointer}/{more}") if more else self.any_value()
            room = None if most is None else int(most) - len(prefix)
            if not items:
                first = max(least - 1, 0)
                again = self.repeat(
                    self.seq(comma, item), first, None if room is None else room - 1
                )
                inside = self.around("[", self.seq(item, again), "]", pointer)
                every = [inside] if least else [inside, self.empty("[", "]", pointer)]
                return self.named(self.either(every), pointer, "type")
            rest = self.repeat(self.seq(comma, item), max(least - len(items), 0), room)
        if not items:
            return self.named(self.empty("[", "]", pointer), pointer, "type")
        for k in range(len(items) - 1, -1, -1):
            rest = self.seq(*([comma] if k else []), items[k], rest)
            rest = self.maybe(rest) if k >= least else rest
        return self.named(self.around("[", rest, "]", pointer), pointer, "type")

    # --- objects
    # ---------------------------------------------------------------------------------------

    def _object(self, part: Object, pointer: str) -> Node:
        properties: Object = part.get("properties", {})
        patterns: Object = part.get("patternProperties", {})
        least, most = int(part.get("minProperties", 0)), part.get("maxProperties")
        if (
            part.get("dependentRequired")
            or part.get("dependentSchemas")
            or part.get("dependencies")
        ):
            self.remark(pointer, "It ignores dependentRequired and dependentSchemas.")
        more = next((name for name in ("additionalProperties", "unevaluatedProperties")
                     if name in part), "")  # fmt: skip
        further: Any = part[more] if more else False
        names = part.get("propertyNames")
        plain = not set(part) & {"properties", "patternProperties", "propertyNames",
                                 "minProperties",
                                 "maxProperties", "required"}  # fmt: skip
        if not more and plain:
            further = True
        elif not more and (properties or not names):
            self.remark(
                pointer, "An object is closed (strict_mode): members that the schema does not list "
                "are excluded, unless additionalProperties is given.",
            )  # fmt: skip
        required = {str(name) for name in part.get("required", [])}
        if required - set(properties):
            self.remark(
                f"{pointer}/required", "It demands no member that properties does not describe."
            )
        others = self._others(part, names, patterns, further, more, pointer)
        if least > len(properties) and not others:
            raise self.refused(pointer, "minProperties is greater than the number of properties.")
        if not properties:
            return self._named_freely(others, least, most, pointer)
        listed = [
            self.named(
                self.member(
                    self._constant(name, f"{pointer}/properties/{_escaped(name)}"),
                    self.value(each, f"{pointer}/properties/{_escaped(name)}"), pointer,
                ), f"{pointer}/properties/{_escaped(name)}",
            ) for name, each in properties.items()
        ]  # fmt: skip
        asked = [name in required for name in properties]
        room = None if most is None else int(most)
        inside = self._members(listed, asked, others, least, room, pointer)
        made: list[Node] = []
        if inside is not None:
            made.append(self.around("{", inside, "}", pointer))
        if not any(asked) and least == 0:
            made.append(self.empty("{", "}", pointer))
        if not made:
            raise self.refused(pointer, "its bounds on the number of members exclude each other.")
        return self.named(self.either(made), pointer, "type")

    def _members(
        self, listed: list[Node], asked: list[bool], others: Node | None, least: int,
        most: int | None, pointer: str,
    ) -> Node | None:  # fmt: skip
        """At least one member: the listed ones in order, then others."""
        comma = self.comma(pointer)
        counted = least > 0 or most is not None
        known: dict[tuple[int, int], Node | None] = {}

        def after(k: int, count: int) -> Node | None:
            """The rest of an object before the listed member k, after a number of members."""
            count = count if counted else min(count, 1)
            if (k, count) not in known:
                made = options(k, count)
                # A part is a rule, because two parts go on with it.
                name = f"{pointer}: after {k} listed and {count} written"
                known[k, count] = self.rule(name, lambda: self.either(made)) if made else None
            return known[k, count]

        def options(k: int, count: int) -> list[Node]:
            room = None if most is None else most - count
            if room is not None and room < 0:
                return []
            if k < len(listed):
                taken, left = after(k + 1, count + 1), None if asked[k] else after(k + 1, count)
                made = [] if left is None else [left]
                if taken is not None:
                    made.append(self.seq(*([comma] if count else []), listed[k], taken))
                return made
            short = max(least - count, 0)
            if others is None or room == 0:
                return [Empty(*self.span(pointer))] if short == 0 and count else []
            if count:
                return [self.repeat(self.seq(comma, others), short, room)]
            again = self.seq(comma, others)
            left_room = None if room is None else room - 1
            return [self.seq(others, self.repeat(again, max(short - 1, 0), left_room))]

        return after(0, 0)

    def _others(
        self, part: Object, names: Any, patterns: Object, further: Any, more: str, pointer: str
    ) -> Node | None:
        """A member that ``properties`` does not list; ``None`` where there is none."""
        made: list[Node] = []
        for name, each in patterns.items():
            place = f"{pointer}/patternProperties/{_escaped(name)}"
            self.remark(place, "A pattern of patternProperties is of the whole name.")
            quote = self.text('"', place)
            key = self.seq(quote, self.written(name, place), quote)
            made.append(self.named(self.member(key, self.value(each, place), pointer), place))
        properties = part.get("properties", {})
        if names is not None and not properties and not patterns:
            key = self._string_name(names, f"{pointer}/propertyNames")
            value: Any = {} if further in (False, True) else further
            place = f"{pointer}/{more}" if more else pointer
            return self.member(key, self.value(value, place), pointer)
        if further is not False and (properties or not patterns):
            place = f"{pointer}/{more}" if more else pointer
            key = self._free_string(place) if patterns else self._other_name(properties, place)
            made.append(self.named(self.member(key, self.value(further, place), pointer), place))
        return self.either(made) if made else None

    def _string_name(self, names: Any, pointer: str) -> Node:
        if names is True or not isinstance(names, dict):
            return self._free_string(pointer)
        held = cast("Object", names)
        if "enum" in held or "const" in held or "$ref" in held:
            return self.value(held, pointer)
        return self._string({**held, "type": "string"}, pointer)

    def _other_name(self, properties: Object, pointer: str) -> Node:
        """A name that is not one of the listed, in a spelling without escapes of letters."""
        if not properties:
            return self._free_string(pointer)
        quoted = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"'
        known = "|".join(re.escape(_json(name)) for name in properties)
        return self.pattern(rf"(?!(?:{known})$){quoted}", pointer)

    def _named_freely(self, others: Node | None, least: int, most: Any, pointer: str) -> Node:
        if others is None or most == 0:
            return self.named(self.empty("{", "}", pointer), pointer, "type")
        room = None if most is None else int(most) - 1
        again = self.repeat(self.seq(self.comma(pointer), others), max(least - 1, 0), room)
        made = [self.around("{", self.seq(others, again), "}", pointer)]
        if least == 0:
            made.append(self.empty("{", "}", pointer))
        return self.named(self.either(made), pointer, "type")


_ANNOTATIONS: Final = frozenset({
    "title", "description", "default", "examples", "$schema", "$id", "$defs", "definitions",
    "$comment", "deprecated", "readOnly", "writeOnly", "nullable", "$anchor",
})  # fmt: skip


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _json(value: Any) -> str:
    """A value in the one spelling that xgrammar gives it."""
    if isinstance(value, dict):
        members = cast("Object", value).items()
        return "{" + ",".join(f"{_json(name)}:{_json(each)}" for name, each in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, cast("list[Any]", value))) + "]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return str(value)
    if isinstance(value, int | float | Decimal):
        number = float(str(value))
        return (
            str(int(number)) if abs(number) < 1e15 and number == int(number) else f"{number:.17g}"
        )
    return '"' + "".join(map(_character, str(value))) + '"'


_SHORT: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def _character(char: str) -> str:
    return _SHORT.get(char) or (
        f"\\u{ord(char):04x}" if ord(char) <= CONTROLS[1] or char == "\x7f" else char
    )
