r"""JSON Schema as llguidance 1.9.1 reads it: what the schema says, in spellings of its own.

There is no white space around the outermost value. An integer is written plainly, a bounded number
without an exponent; a string has ``\u00XX`` for control characters alone, and no ``\/``. Schemas
with keywords that only JSON Schema's own reading follows (`allOf` of several parts,
`patternProperties`, a part without a type, …) are judged by that.
"""

from __future__ import annotations

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
from explorer.languages.engines.xgrammar import XGrammarDrawing
from explorer.languages.schema.text.ecma import searched, translated
from explorer.languages.schema.text.formats import FORMATS
from explorer.languages.schema.text.numbers import multiples
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.schema.text.strings import among

_NUMBER: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_DECIMAL: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
_CODE: Final = r"u00(?:0[0-9a-fA-F]|1[0-9a-fA-F]|7[fF])"
_STRING: Final = rf'"(?:[^"\\\x00-\x1f\x7f]|\\(?:["\\bfnrt]|{_CODE}))*"'
_ANY_CODE: Final = "u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
_NAME: Final = rf'"(?:[^"\\\x00-\x1f\x7f]|\\(?:["\\bfnrt]|{_ANY_CODE}))*"'
_SHORT: Final = {8: b"b", 9: b"t", 10: b"n", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}
KNOWN_FORMATS: Final = (
    "date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri",
)  # fmt: skip


class LLGuidanceDrawing(XGrammarDrawing):
    """A schema as llguidance reads it.

    Args:
        text: The schema as JSON.
        compact: Whether the server forbids free white space.
    """

    separators = (",", ":")
    """The comma and the colon where the server forbids free white space."""

    def __init__(self, text: str, *, compact: bool = False, blank: str | None = None) -> None:
        super().__init__(text, compact=compact, blank=blank)
        self.engine = "llguidance"

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
            if keyword in part and set(part) - _BESIDE - {keyword}:
                raise self.elsewhere(pointer)
        if len(part.get("allOf", [0])) > 1 or ("enum" in part and "const" in part):
            raise self.elsewhere(pointer)
        if part and not set(part) & {"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"}:
            if set(part) - _BESIDE:
                raise self.elsewhere(pointer)
            return self.any_value()
        return super().value(schema, pointer)

    def _enum(self, part: Object, pointer: str) -> Node:
        if set(part) - _BESIDE - {"enum"}:
            raise self.elsewhere(pointer)
        made = [self._literal(each, f"{pointer}/enum") for each in part["enum"]]
        return self.named(self.either(made), pointer, "enum")

    def _constant(self, value: Any, pointer: str) -> Node:
        return self._literal(value, pointer)

    def _literal(self, value: Any, pointer: str) -> Node:
        if isinstance(value, str):
            return self.machine(_quoted(among([value], Meter())), pointer)
        if isinstance(value, bool) or value is None:
            return self.text({True: "true", False: "false", None: "null"}[value], pointer)
        if isinstance(value, list):
            items = [self._literal(each, pointer) for each in cast("list[Any]", value)]
            return self._listed("[", items, "]", pointer)
        if isinstance(value, dict):
            members = [
                self.member(self._literal(name, pointer), self._literal(each, pointer), pointer)
                for name, each in cast("Object", value).items()
            ]
            return self._listed("{", members, "}", pointer)
        number = Decimal(repr(plain_number(value))).normalize()
        return self.text(f"{number:f}", pointer)

    def _listed(self, left: str, items: list[Node], right: str, pointer: str) -> Node:
        if not items:
            return self.empty(left, right, pointer)
        rest = [part for item in items[1:] for part in (self.comma(pointer), item)]
        return self.around(left, self.seq(items[0], *rest), right, pointer)

    # --- numbers and strings ---------------------------------------------------------------------

    def _integer(self, part: Object, pointer: str) -> Node:
        self.remark(f"{pointer}/type", "An integer has one spelling: no 1.0 and no 1e3.")
        bounds, machine = bounds_of(part), pattern_machine("-?(?:0|[1-9][0-9]*)")
        if bounds:
            machine = within(pattern_machine("0|-?[1-9][0-9]*"), bounds)
        step = part.get("multipleOf")
        if step is not None:
            if plain_number(step) % 1:
                raise self.elsewhere(pointer)
            machine = both(machine, multiples(int(plain_number(step)), 0, Meter()))
        return self._numeric(part, machine, pointer)

    def _number(self, part: Object, pointer: str) -> Node:
        bounds = bounds_of(part)
        if "multipleOf" in part:
            raise self.elsewhere(pointer)
        if not bounds:
            return self._numeric(part, pattern_machine(_NUMBER), pointer)
        self.remark(pointer, "A bounded number has no exponent.")
        machine = within(pattern_machine(_DECIMAL), bounds)
        return self._numeric(
            part, both(machine, pattern_machine(r"(?!-0(?:\.0*)?$)(?s:.*)")), pointer
        )

    def _free_string(self, pointer: str) -> Node:
        return self.pattern(_STRING, pointer)

    def _string(self, part: Object, pointer: str) -> Node:
        machine = pattern_machine("(?s:.*)")
        keyword = ""
        if "pattern" in part:
            keyword = "pattern"
            machine = both(machine, pattern_machine(searched(translated(str(part["pattern"])))))
        if "format" in part:
            keyword = "format"
            if part["format"] not in KNOWN_FORMATS:
                raise self.elsewhere(pointer)
            machine = both(machine, pattern_machine(FORMATS[part["format"]]))
        if "minLength" in part or "maxLength" in part:
            keyword = keyword or ("maxLength" if "maxLength" in part else "minLength")
            least, most = int(part.get("minLength", 0)), part.get("maxLength", "")
            machine = both(machine, pattern_machine(f"(?s:.{{{least},{most}}})"))
        if not keyword:
            return self.named(self._free_string(f"{pointer}/type"), pointer, "type")
        return self.named(self.machine(_quoted(machine), f"{pointer}/{keyword}"), pointer, keyword)

    # --- containers ------------------------------------------------------------------------------

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

    def _other_name(self, properties: Object, pointer: str) -> Node:
        if not properties:
            return self._free_string(pointer)
        known = "|".join(re.escape(_plain(name)) for name in properties)
        return self.pattern(rf"(?!(?:{known})$){_NAME}", pointer)


NOT_DRAWN: Final = "not drawn"
_NOT_DRAWN: Final = frozenset({
    "patternProperties", "propertyNames", "not", "if", "then", "else", "contains", "uniqueItems",
    "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedItems",
    "unevaluatedProperties", "$dynamicRef", "$recursiveRef",
})  # fmt: skip
_BESIDE: Final = frozenset({
    "title", "description", "default", "examples", "$schema", "$id", "$defs", "definitions",
    "$comment", "deprecated", "readOnly", "writeOnly",
})  # fmt: skip


def _plain(name: str) -> str:
    escaped = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escaped.get(char, char) for char in name) + '"'


def _quoted(texts: Dfa) -> Dfa:
    """The literals of some texts: control characters, quotes and backslashes as escapes."""
    meter = Meter()
    sketch = Sketch(meter)
    begin, end = sketch.state(), sketch.state()
    nfa = dfa_to_nfa(texts)
    first = sketch.states(nfa.num_states)
    sketch.byte(begin, 0x22, first + nfa.start)
    for source, low, high, target in nfa.arcs.tolist():
        source, target = source + first, target + first
        for byte in range(low, min(high, 0x7F) + 1):
            if byte in _SHORT:
                sketch.text(source, b"\\" + _SHORT[byte], target)
            if byte < 0x20 or byte == 0x7F:
                tens, ones = f"{byte:02x}"
                middle, last = sketch.state(), sketch.state()
                sketch.text(source, b"\\u00", middle)
                for digit in {tens, tens.upper()}:
                    sketch.byte(middle, ord(digit), last)
                for digit in {ones, ones.upper()}:
                    sketch.byte(last, ord(digit), target)
            elif byte not in _SHORT:
                sketch.byte(source, byte, target)
        if high > 0x7F:
            sketch.interval(source, max(low, 0x80), high, target)
    for state in nfa.accepting.tolist():
        sketch.byte(first + state, 0x22, end)
    return sketch.finish(begin, [end])
