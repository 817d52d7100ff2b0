r"""JSON Schema as llguidance 1.9.1 reads it: what the schema says, in spellings of its own.

There is no white space around the outermost value. An integer is written plainly, a bounded number
without an exponent; a string has ``\u00XX`` for control characters alone, and no ``\/``. Schemas
with keywords that only JSON Schema's own reading follows (`allOf` of several parts,
`patternProperties`, a part without a type, …) are judged by that.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Final, cast

from explorer.automata.construction.operations import dfa_to_nfa
from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import Node
from explorer.budget import Meter
from explorer.errors import UnsupportedSchema
from explorer.languages.engines.drawing import (
    Object,
    both,
    bounds_of,
    pattern_machine,
    plain_number,
    within,
)
from explorer.languages.engines.xgrammar import ANNOTATIONS, NUMBER, PLAIN_INTEGER, XGrammarDrawing
from explorer.languages.schema.text.ecma import searched, translated
from explorer.languages.schema.text.formats import FORMATS
from explorer.languages.schema.text.numbers import multiples
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.schema.text.strings import among

_INTEGER: Final = "-?(?:0|[1-9][0-9]*)"
_DECIMAL: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
_CODE: Final = r"u00(?:0[0-9a-fA-F]|1[0-9a-fA-F]|7[fF])"
_ANY_CODE: Final = "u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
_NAME: Final = rf'"(?:[^"\\\x00-\x1f\x7f]|\\(?:["\\bfnrt]|{_ANY_CODE}))*"'
_ATOM: Final = r"[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
KNOWN_FORMATS: Final = {
    **{name: FORMATS[name] for name in ("date", "time", "date-time", "duration", "hostname",
                                        "ipv4", "ipv6", "uuid", "uri")},
    "email": rf"{_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}(?:\.{_LABEL})*|\[{FORMATS['ipv4']}\])",
}  # fmt: skip


class LLGuidanceDrawing(XGrammarDrawing):
    """A schema as llguidance reads it.

    Args:
        text: The schema as JSON.
        compact: Whether the server forbids free white space.
    """

    engine = "llguidance"
    separators = (",", ":")
    string = rf'"(?:[^"\\\x00-\x1f\x7f]|\\(?:["\\bfnrt]|{_CODE}))*"'

    def elsewhere(self, pointer: str) -> UnsupportedSchema:
        """The error for a part that is judged by JSON Schema's own reading."""
        return UnsupportedSchema("it is not drawn", pointer=pointer, keyword=NOT_DRAWN)

    def refused(self, pointer: str, reason: str) -> UnsupportedSchema:
        """The same: llguidance refuses a schema when a text comes to it, or leaves a member out."""
        return self.elsewhere(pointer)

    def value(self, schema: Any, pointer: str, *, alone: bool = True) -> Node:
        """The texts of a part of the schema."""
        part = cast("Object", schema) if isinstance(schema, dict) else {}
        if set(part) & _NOT_DRAWN:
            raise self.elsewhere(pointer)
        for keyword in ("$ref", "anyOf", "oneOf", "allOf"):
            if keyword in part and set(part) - ANNOTATIONS - {keyword}:
                raise self.elsewhere(pointer)
        if len(part.get("allOf", [0])) > 1 or ("enum" in part and "const" in part):
            raise self.elsewhere(pointer)
        if part and not set(part) & {"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"}:
            if set(part) - ANNOTATIONS:
                raise self.elsewhere(pointer)
            return self.any_value()
        return super().value(schema, pointer)

    def _enum(self, part: Object, pointer: str) -> Node:
        if set(part) - ANNOTATIONS - {"enum"}:
            raise self.elsewhere(pointer)
        return self.either(
            [self.literal(each, pointer, "enum") for each in part["enum"]], pointer, "enum"
        )

    def literal(self, value: Any, pointer: str, keyword: str) -> Node:
        """One value: numbers as they are, strings and what is in brackets in any spelling."""
        if isinstance(value, str):
            return self.machine(_quoted(among([value], Meter())), pointer, keyword)
        if isinstance(value, list | dict):
            signs = "[]" if isinstance(value, list) else "{}"
            entries = [
                self.colon.join(self.hold(self.literal(each, pointer, keyword)) for each in entry)
                for entry in _entries(cast("Object | list[Any]", value))
            ]
            return self.brackets(signs, self.comma.join(entries), pointer, may_be_empty=False)
        if isinstance(value, bool) or value is None:
            return self.draw(self.at(pointer, keyword) + json.dumps(value))
        number = Decimal(repr(plain_number(value))).normalize()
        return self.draw(self.at(pointer, keyword) + re.escape(f"{number:f}"))

    # --- numbers and strings

    def integer(self, part: Object, pointer: str) -> Node:
        """An integer."""
        self.say(f"{pointer}/type", "integer")
        bounds, machine = bounds_of(part), pattern_machine(_INTEGER)
        if bounds:
            # Between two bounds, of which the lower is negative, it takes -0.
            below = {order[0]: within(pattern_machine("-1"), [(bound, order)]).accepts(b"-1")
                     for bound, order in bounds}  # fmt: skip
            signed = "<" in below and below.get(">", False)
            machine = within(pattern_machine(_INTEGER if signed else PLAIN_INTEGER), bounds)
        step = part.get("multipleOf")
        if step is not None:
            if plain_number(step) % 1:
                raise self.elsewhere(pointer)
            machine = both(machine, multiples(int(plain_number(step)), 0, Meter()))
        return self.numeric(part, machine, pointer)

    def number(self, part: Object, pointer: str) -> Node:
        """A number."""
        bounds = bounds_of(part)
        if "multipleOf" in part:
            raise self.elsewhere(pointer)
        if not bounds:
            return self.numeric(part, pattern_machine(NUMBER), pointer)
        self.say(pointer, "number")
        machine = within(pattern_machine(_DECIMAL), bounds)
        return self.numeric(
            part, both(machine, pattern_machine(r"(?!-0(?:\.0*)?$)(?s:.*)")), pointer
        )

    def text(self, part: Object, pointer: str) -> Node:
        """A string."""
        machine = pattern_machine("(?s:.*)")
        keyword = ""
        if "pattern" in part:
            keyword = "pattern"
            machine = both(machine, pattern_machine(searched(translated(str(part["pattern"])))))
        if "format" in part:
            keyword = "format"
            if part["format"] not in KNOWN_FORMATS:
                raise self.elsewhere(pointer)
            machine = both(machine, pattern_machine(KNOWN_FORMATS[part["format"]]))
        if "minLength" in part or "maxLength" in part:
            keyword = keyword or ("maxLength" if "maxLength" in part else "minLength")
            least, most = int(part.get("minLength", 0)), part.get("maxLength", "")
            machine = both(machine, pattern_machine(f"(?s:.{{{least},{most}}})"))
        self.say(pointer, "string")
        if not keyword:
            return self.draw(self.at(pointer) + self.string)
        return self.machine(_quoted(machine), pointer, keyword)

    # --- containers

    def _array(self, part: Object, pointer: str) -> Node:
        return super()._array({"items": True, **part}, pointer)

    def _object(self, part: Object, pointer: str) -> Node:
        listed, required = part.get("properties", {}), part.get("required", [])
        counted = part.get("minProperties") or "maxProperties" in part
        if counted and not set(listed) <= set(required):
            raise self.elsewhere(pointer)
        more: Any = part.get("additionalProperties", True)
        unlisted = {name: more for name in required if name not in listed}
        if any(each is False for each in {**listed, **unlisted}.values()):
            raise self.elsewhere(pointer)
        whole = {**part, "properties": {**listed, **unlisted}, "additionalProperties": more}
        return super()._object(whole, pointer)

    def other_name(self, properties: Object, pointer: str) -> str:
        """A name that is not one of the listed."""
        if not properties:
            return self.string
        return self.but(
            [json.dumps(name, ensure_ascii=False) for name in properties], _NAME, pointer
        )


def _entries(value: Object | list[Any]) -> list[tuple[Any, ...]]:
    """The items of an array, or the members of an object, as tuples."""
    return [(each,) for each in value] if isinstance(value, list) else list(value.items())


NOT_DRAWN: Final = "not drawn"
_NOT_DRAWN: Final = frozenset({
    "patternProperties", "propertyNames", "not", "if", "then", "else", "contains", "uniqueItems",
    "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedItems",
    "unevaluatedProperties", "$dynamicRef", "$recursiveRef",
})  # fmt: skip


def _quoted(texts: Dfa) -> Dfa:
    """The literals of some texts: control characters, quotes and backslashes as escapes."""
    sketch = Sketch(Meter())
    begin, end = sketch.state(), sketch.state()
    nfa = dfa_to_nfa(texts)
    first = sketch.states(nfa.num_states)
    sketch.byte(begin, 0x22, first + nfa.start)
    for start, low, high, after in nfa.arcs.tolist():
        source, target = first + start, first + after
        for byte in range(low, min(high, 0x7F) + 1):
            short = json.dumps(chr(byte))[1:-1].encode()
            if len(short) < 3:
                sketch.text(source, short, target)
            if byte < 0x20 or byte == 0x7F:
                digits = f"{byte:02x}"
                for code in {digits, digits.upper(), digits[0] + digits[1].upper()}:
                    sketch.text(source, f"\\u00{code}".encode(), target)
        if high > 0x7F:
            sketch.interval(source, max(low, 0x80), high, target)
    for state in nfa.accepting.tolist():
        sketch.byte(first + state, 0x22, end)
    return sketch.finish(begin, [end])
