"""JSON Schema as a machine over compact JSON text.

A schema is worked out place by place. What applies to a place is a conjunction of subschemas; its
cases (`explorer.automata.schema.cases`) are turned into sets of values (`values`), type by type,
and joined; what must not hold is taken away. Members of objects and arrays are places of their own.

In the order of the schema, the members of an object are written as its ``properties`` are, and
others after them. That order belongs to the place, not to one subschema, so that intersection and
difference of two schemas at one place speak of the same texts.

Open values (anything goes) and recursion are followed to a stated depth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, Literal, cast

from explorer.automata import operations
from explorer.automata.machine import Dfa
from explorer.automata.product import difference, intersection
from explorer.automata.regex import UnsupportedSyntax, compile_pattern
from explorer.automata.schema import numbers, strings
from explorer.automata.schema.arrays import ArraySketch
from explorer.automata.schema.cases import Case, Expansion, in_place
from explorer.automata.schema.ecma import translated
from explorer.automata.schema.formats import FORMATS
from explorer.automata.schema.keywords import (
    anchored,
    contains_bounds,
    decimal,
    equal,
    evaluates_item,
    has_contains,
    prefix,
    prefix_keyword,
    rest_of_items,
    size,
)
from explorer.automata.schema.making import Depth, Order, Site
from explorer.automata.schema.objects import ObjectSketch
from explorer.automata.schema.places import Place
from explorer.automata.schema.subschemas import Schema, Subschema
from explorer.automata.schema.values import Values, empty
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.errors import RegexError, UnsupportedSchema

MOST_PARTS: Final = 64
"""The most kinds of names that the patterns of ``patternProperties`` may divide names into."""

TYPES: Final = ("null", "boolean", "number", "string", "array", "object")


class Compiler:
    """From subschemas to sets of values; everything is worked out once.

    Args:
        order: ``"schema"`` or ``"any"``.
        assert_formats: Whether ``format`` constrains.
        strict: Whether a keyword that cannot be followed raises; else it is noted in `ignored`.
        meter: Watches every limit.
    """

    def __init__(self, order: Order, *, assert_formats: bool, strict: bool, meter: Meter) -> None:
        self.ordered = order == "schema"
        self.meter = meter
        self.ignored: list[UnsupportedSchema] = []
        self._formats = assert_formats
        self._strict = strict
        self._made: dict[object, Schema] = {}
        self._expansion = Expansion(self._made)
        self._values: dict[object, Values] = {}
        self._places: dict[object, Site] = {}
        self._patterns: dict[str, Dfa] = {}
        self._recursive: dict[object, bool] = {}
        self._texts: dict[int, tuple[Values, Dfa]] = {}
        self._open: dict[Depth, Values] = {}

    # Places.

    def place(self, subschemas: Iterable[Subschema]) -> Site:
        """The place where these apply from outside."""
        subs = tuple(subschemas)
        key = tuple(sub.key for sub in subs)
        if key not in self._places:
            made: Site = Place(self, subs)
            self._places[key] = made
        return self._places[key]

    def also_in_place(self, sub: Subschema) -> list[Subschema]:
        """What else may apply where a subschema does, constants by their structure included."""
        found = list(in_place(sub))
        for case in self._expansion.choices(sub, sub.below, evaluated=False):
            for held, _ in case:
                found += held
        return found

    # Values.

    def values(self, subschemas: tuple[Subschema, ...], place: Site, depth: Depth) -> Values:
        """The values that satisfy all of some subschemas.

        Args:
            subschemas: What applies.
            place: Where.
            depth: How much deeper the value may go.
        """
        self.meter.check_time("The machine of a schema")
        subschemas = tuple(sub for sub in subschemas if sub.schema is not True and sub.schema != {})
        if not subschemas and not place.subschemas:
            return self._open_values(depth)
        key = (frozenset((sub.key, sub.referenced) for sub in subschemas), place.key, depth)
        known = self._values.get(key)
        if known is None:
            known = self._values[key] = self._of_cases(subschemas, place, depth)
        return known

    def _of_cases(self, subschemas: tuple[Subschema, ...], place: Site, depth: Depth) -> Values:
        result = empty()
        for case in self._expansion.cases(subschemas):
            values = self._plain(case, place, depth)
            for sub in case.met:
                if values.is_empty():
                    break
                values = values.meet(self.values((sub,), place, depth), self.meter)
            for sub in case.excluded:
                if values.is_empty():
                    break
                both = self.values((*case.plain, *case.met, sub), place, depth)
                values = values.minus(both, self.meter)
            result = result.join(values, self.meter)
        return result

    def text(self, values: Values) -> Dfa:
        """The compact texts of a set of values."""
        known = self._texts.get(id(values))
        if known is None:
            known = self._texts[id(values)] = (values, values.text(self.meter))
        return known[1]

    def _open_values(self, depth: Depth) -> Values:
        depth = replace(depth, recursion=0)
        if depth not in self._open:
            self._open[depth] = self._plain(Case((), (), ()), self.place(()), depth)
        return self._open[depth]

    def _plain(self, case: Case, place: Site, depth: Depth) -> Values:
        subs = case.plain
        types = self._types(subs)
        scalars = self._scalars(subs)
        word_list: list[str] = []
        if "null" in types and (scalars is None or any(value is None for value in scalars)):
            word_list.append("null")
        if "boolean" in types:
            for value, word in ((True, "true"), (False, "false")):
                if scalars is None or any(each is value for each in scalars):
                    word_list.append(word)
        number = strings.nothing()
        if "number" in types or "integer" in types:
            number = self._number(subs, scalars, integer="number" not in types)
        string = self._string(subs, scalars) if "string" in types else strings.nothing()
        array = strings.nothing()
        if "array" in types and scalars is None:
            array = self._array(subs, place, depth)
        members = strings.nothing()
        if "object" in types and scalars is None:
            members = self._object(subs, place, depth)
        return Values(frozenset(word_list), number, string, array, members)

    def _types(self, subs: tuple[Subschema, ...]) -> set[str]:
        types = {*TYPES, "integer"}
        for sub in subs:
            given = sub.keyword("type")
            if given is None:
                continue
            wanted = {given} if isinstance(given, str) else set(cast("list[str]", given))
            if unknown := wanted - {*TYPES, "integer"}:
                raise UnsupportedSchema(
                    f"{sorted(map(str, unknown))[0]!r} is not a type.",
                    pointer=sub.pointer + "/type", keyword="type",
                    remedy=f"The types are {', '.join(TYPES)} and integer.",
                )  # fmt: skip
            if "number" in wanted:
                wanted.add("integer")
            types &= wanted
        return types

    def _scalars(self, subs: tuple[Subschema, ...]) -> list[object] | None:
        """The values that ``enum`` and ``const`` leave; ``None`` where they say nothing.

        Arrays and objects among them were made into cases before.
        """
        left: list[object] | None = None
        for sub in subs:
            for keyword in ("const", "enum"):
                if keyword == "const" and sub.draft < 6:
                    continue
                schema = cast("dict[str, Any]", sub.schema)
                if keyword not in schema:
                    continue
                given = [schema["const"]] if keyword == "const" else list(schema["enum"])
                if any(isinstance(value, dict | list) for value in given):
                    continue
                left = (
                    given if left is None else [v for v in left if any(equal(v, g) for g in given)]
                )
        return left

    # Numbers.

    def _number(
        self, subs: tuple[Subschema, ...], scalars: list[object] | None, *, integer: bool
    ) -> Dfa:
        parts: list[Dfa] = [numbers.any_integer() if integer else numbers.any_number()]
        if scalars is not None:
            given = [v for v in scalars if isinstance(v, int | float) and not isinstance(v, bool)]
            if not given:
                return strings.nothing()
            same = [self._compared(decimal(value), "=") for value in given]
            parts.append(operations.union(same, self.meter) if len(same) > 1 else same[0])
        for sub in subs:
            for keyword, wanted in (
                ("minimum", "=>"), ("maximum", "=<"),
                ("exclusiveMinimum", ">"), ("exclusiveMaximum", "<"),
            ):  # fmt: skip
                bound = sub.keyword(keyword)
                if isinstance(bound, bool) or not isinstance(bound, int | float):
                    continue
                if sub.draft == 4 and sub.keyword(f"exclusive{keyword.capitalize()}") is True:
                    wanted = wanted.strip("=")
                parts.append(self._compared(decimal(bound), wanted))
            divisor = sub.keyword("multipleOf")
            if isinstance(divisor, int | float) and not isinstance(divisor, bool):
                made = self._multiples(sub, decimal(divisor))
                parts += [made] if made is not None else []
        return self._all(parts)

    def _compared(self, bound: Decimal, wanted: str) -> Dfa:
        key = f"compared {bound} {wanted}"
        if key not in self._patterns:
            self._patterns[key] = numbers.compared(bound, lambda it: it in wanted, self.meter)
        return self._patterns[key]

    def _multiples(self, sub: Subschema, divisor: Decimal) -> Dfa | None:
        decimals = max(0, -cast("int", divisor.normalize().as_tuple().exponent))
        numerator = int(divisor.scaleb(decimals))
        if numerator < 1 or numerator > numbers.LARGEST_MODULUS or decimals > 30:
            self.refuse(
                sub, "multipleOf",
                f"Multiples of {divisor} need a machine with {numerator:,} remainders.",
                f"Use a divisor whose digits are at most {numbers.LARGEST_MODULUS:,}.",
            )  # fmt: skip
            return None
        key = f"multiples {divisor}"
        if key not in self._patterns:
            self._patterns[key] = numbers.multiples(numerator, decimals, self.meter)
        return self._patterns[key]

    def _all(self, parts: list[Dfa]) -> Dfa:
        result = parts[0]
        for part in parts[1:]:
            if part is not result:
                result = intersection(result, part, self.meter)
        return result

    # Strings.

    def _string(self, subs: tuple[Subschema, ...], scalars: list[object] | None) -> Dfa:
        parts: list[Dfa] = []
        if scalars is not None:
            parts.append(strings.among([v for v in scalars if isinstance(v, str)], self.meter))
        minimum, maximum = 0, None
        for sub in subs:
            minimum = max(minimum, size(sub, "minLength") or 0)
            most = size(sub, "maxLength")
            if most is not None:
                maximum = most if maximum is None else min(maximum, most)
            if isinstance(pattern := sub.keyword("pattern"), str):
                made = self.pattern(sub, pattern, "pattern")
                parts += [made] if made is not None else []
            if self._formats and isinstance(name := sub.keyword("format"), str) and name in FORMATS:
                key = f"format {name}"
                if key not in self._patterns:
                    self._patterns[key] = compile_pattern(FORMATS[name], self.meter)[1]
                parts.append(self._patterns[key])
        if maximum is not None and maximum < minimum:
            return strings.nothing()
        if minimum or maximum is not None:
            parts.append(strings.length_between(minimum, maximum))
        return self._all(parts) if parts else any_text()

    def pattern(self, sub: Subschema, pattern: str, keyword: str) -> Dfa | None:
        """The texts in which a pattern of ECMA-262 is found; ``None`` if it was ignored."""
        if pattern not in self._patterns:
            try:
                python = translated(pattern)
                found = anchored(python) or f"(?s:.*)(?:{python})(?s:.*)"
                self._patterns[pattern] = compile_pattern(found, self.meter)[1]
            except (RegexError, UnsupportedSyntax, ValueError, IndexError) as error:
                reason = getattr(error, "message", str(error))
                self.refuse(sub, keyword, f"The pattern {pattern!r} cannot be read: {reason}", "")
                return None
        return self._patterns[pattern]

    def matches(self, sub: Subschema, pattern: str, name: str) -> bool:
        """Whether a pattern is found in a name."""
        found = self.pattern(sub, pattern, "patternProperties")
        return found is None or found.accepts(name.encode(errors="surrogatepass"))

    # Arrays.

    def _array(self, subs: tuple[Subschema, ...], place: Site, depth: Depth) -> Dfa:
        minimum, maximum = 0, None
        longest = 0
        for sub in subs:
            minimum = max(minimum, size(sub, "minItems") or 0)
            most = size(sub, "maxItems")
            if most is not None:
                maximum = most if maximum is None else min(maximum, most)
            longest = max(longest, len(prefix(sub)))
        below = self._deeper(depth, "arrays", subs)
        if below is None:
            maximum = 0
        contains = [(sub, *contains_bounds(sub)) for sub in subs if has_contains(sub)]
        contains = [item for item in contains if item[1] > 0 or item[2] is not None]
        if maximum is not None and maximum < minimum:
            return strings.nothing()
        unique = any(sub.keyword("uniqueItems") is True for sub in subs)
        unique = unique and (maximum is None or maximum > 1)
        last = max(longest, minimum, *(item[1] for item in contains), 0)
        last = last if maximum is None else maximum
        return ArraySketch(self, subs, place, below, contains, unique, last, maximum, minimum).dfa()

    def item_values(
        self, subs: tuple[Subschema, ...], index: int, place: Site, depth: Depth
    ) -> Values:
        """What may stand at an index."""
        applying: list[Subschema] = []
        left: dict[int, Subschema] = {}
        for sub in subs:
            leading = prefix(sub)
            rest = rest_of_items(sub)
            if index < len(leading):
                applying.append(sub.below(leading[index], prefix_keyword(sub), index))
            elif rest is not None:
                applying.append(sub.below(*rest))
            if sub.draft >= 2019 and "unevaluatedItems" in cast("dict[str, Any]", sub.schema):
                left[id(sub.schema)] = sub
        values = self.values(tuple(applying), place.item, depth)
        for owner, sub in left.items():
            group = [each for each in subs if each is sub or owner in each.owners]
            if any(evaluates_item(each, index, owner) for each in group):
                continue
            unevaluated = sub.below(sub.keyword("unevaluatedItems"), "unevaluatedItems")
            allowed = self.values((unevaluated,), place.item, depth)
            for each in group:
                if each.draft >= 2020 and has_contains(each):
                    part = each.below(each.keyword("contains"), "contains")
                    allowed = allowed.join(self.values((part,), place.item, depth), self.meter)
            values = values.meet(allowed, self.meter)
        return values

    # Objects.

    def _object(self, subs: tuple[Subschema, ...], place: Site, depth: Depth) -> Dfa:
        minimum, maximum = 0, None
        required: dict[str, None] = {}
        for sub in subs:
            minimum = max(minimum, size(sub, "minProperties") or 0)
            most = size(sub, "maxProperties")
            if most is not None:
                maximum = most if maximum is None else min(maximum, most)
            needed = sub.keyword("required")
            for name in cast("list[str]", needed) if isinstance(needed, list) else ():
                required.setdefault(name)
        below = self._deeper(depth, "objects", subs)
        if below is None:
            maximum = 0
        minimum = max(minimum, len(required))
        if maximum is not None and maximum < minimum:
            return strings.nothing()
        named: dict[str, tuple[Dfa, Values]] = {}
        others: list[tuple[Dfa, Values]] = []
        if below is not None:
            allowed = self._names_allowed(subs, place, below)
            for name in place.names:
                data = name.encode(errors="surrogatepass")
                if not any(0xD800 <= ord(char) <= 0xDFFF for char in name) and (
                    allowed is None or allowed.accepts(data)
                ):
                    values = self._member_values(subs, name, None, place, below)
                    if not values.is_empty():
                        named[name] = (strings.among([name], self.meter), values)
            others = self._others(subs, place, below, allowed)
        if any(name not in named for name in required):
            return strings.nothing()
        sketch = ObjectSketch(self, place.names, named, others, set(required), minimum, maximum)
        return sketch.dfa()

    def _names_allowed(self, subs: tuple[Subschema, ...], place: Site, depth: Depth) -> Dfa | None:
        allowed: Dfa | None = None
        for sub in subs:
            names = sub.keyword("propertyNames")
            if isinstance(names, bool | dict) and sub.draft >= 6:
                part = sub.below(cast("Schema", names), "propertyNames")
                texts = self.values((part,), self.place((part,)), depth).string
                allowed = texts if allowed is None else intersection(allowed, texts, self.meter)
        return allowed

    def _others(
        self, subs: tuple[Subschema, ...], place: Site, depth: Depth, allowed: Dfa | None
    ) -> list[tuple[Dfa, Values]]:
        """The members that are not named, by the patterns that their names match."""
        names = any_text() if allowed is None else allowed
        if place.names:
            names = difference(names, strings.among(list(place.names), self.meter), self.meter)
        patterns: dict[str, Dfa] = {}
        for sub in subs:
            for pattern in sub.named_at("patternProperties"):
                found = self.pattern(sub, pattern, "patternProperties")
                if found is not None:
                    patterns[pattern] = found
        parts: list[tuple[Dfa, frozenset[str]]] = [(names, frozenset())]
        for pattern, found in patterns.items():
            split: list[tuple[Dfa, frozenset[str]]] = []
            for part, matched in parts:
                split.append((intersection(part, found, self.meter), matched | {pattern}))
                split.append((difference(part, found, self.meter), matched))
            parts = [item for item in split if item[0].num_states]
            if len(parts) > MOST_PARTS:
                raise UnsupportedSchema(
                    "The patterns of patternProperties overlap in too many ways.",
                    pointer=subs[0].pointer, keyword="patternProperties",
                    remedy="Use fewer patterns, or patterns that exclude each other.",
                )  # fmt: skip
        result: list[tuple[Dfa, Values]] = []
        for part, matched in parts:
            if part.num_states:
                values = self._member_values(subs, None, matched, place, depth)
                if not values.is_empty():
                    result.append((part, values))
        return result

    def _member_values(
        self, subs: tuple[Subschema, ...], name: str | None, matched: frozenset[str] | None,
        place: Site, depth: Depth,
    ) -> Values:  # fmt: skip
        """The values of a member: by its name, or by the patterns that its name matches."""
        applying: list[Subschema] = []
        evaluated_by: list[Subschema] = []
        left: dict[int, Subschema] = {}
        for sub in subs:
            schema = cast("dict[str, Any]", sub.schema)
            known = False
            if name is not None and name in schema.get("properties", {}):
                applying.append(sub.below(schema["properties"][name], "properties", name))
                known = True
            for pattern, part in schema.get("patternProperties", {}).items():
                hit = (
                    pattern in matched
                    if matched is not None
                    else self.matches(sub, pattern, cast("str", name))
                )
                if hit:
                    applying.append(sub.below(part, "patternProperties", pattern))
                    known = True
            additional = schema.get("additionalProperties")
            if isinstance(additional, bool | dict) and not known:
                part = cast("Schema", additional)
                applying.append(sub.below(part, "additionalProperties"))
                known = True
            if known:
                evaluated_by.append(sub)
            if sub.draft >= 2019 and "unevaluatedProperties" in schema:
                left[id(schema)] = sub
        for owner, sub in left.items():
            inside = [each for each in subs if each is not sub and owner in each.owners]
            done = any(each is sub or owner in each.owners for each in evaluated_by)
            # A nested unevaluatedProperties evaluates whatever is left.
            done = done or any(id(each.schema) in left for each in inside)
            if not done:
                part = cast("Schema", sub.keyword("unevaluatedProperties"))
                applying.append(sub.below(part, "unevaluatedProperties"))
        return self.values(tuple(applying), place.member(name), depth)

    # Depth.

    def _deeper(
        self, depth: Depth, kind: Literal["objects", "arrays"], subs: tuple[Subschema, ...]
    ) -> Depth | None:
        """The depth inside a container; ``None`` if nothing may be inside."""
        if any(sub.referenced and self._is_recursive(sub) for sub in subs):
            if depth.recursion == 0:
                return None
            return replace(depth, recursion=depth.recursion - 1)
        if subs:
            return depth
        left = getattr(depth, kind)
        if left == 0 or depth.total == 0:
            return None
        return replace(depth, total=depth.total - 1, **{kind: left - 1})

    def _is_recursive(self, sub: Subschema) -> bool:
        """Whether a value of a subschema may hold a value of the same subschema."""
        key = (id(sub.schema), sub.key[1])
        if key not in self._recursive:
            seen: set[object] = set()
            todo = list(self._inside(sub))
            self._recursive[key] = False
            while todo:
                below = todo.pop()
                if not isinstance(below.schema, dict):
                    continue
                other = (id(below.schema), below.key[1])
                if other == key:
                    self._recursive[key] = True
                    break
                if other not in seen:
                    seen.add(other)
                    todo += self._inside(below)
                    todo += in_place(below)
        return self._recursive[key]

    def _inside(self, sub: Subschema) -> list[Subschema]:
        place = Place(self, [sub])
        found: list[Subschema] = []
        for each in place.subschemas:
            for keyword in ("properties", "patternProperties"):
                found += [each.below(p, keyword, n) for n, p in each.named_at(keyword).items()]
            for keyword in ("prefixItems", "items"):
                parts = each.schemas_at(keyword)
                found += [each.below(p, keyword, k) for k, p in enumerate(parts)]
            for keyword in (
                "items", "additionalItems", "contains", "unevaluatedItems", "additionalProperties",
                "unevaluatedProperties",
            ):  # fmt: skip
                if (single := each.schema_at(keyword)) is not None:
                    found.append(each.below(single, keyword))
        return found

    def refuse(self, sub: Subschema, keyword: str, reason: str, remedy: str) -> None:
        """Raise for a keyword that cannot be followed, or note it.

        Raises:
            UnsupportedSchema: The compiler is strict.
        """
        error = UnsupportedSchema(
            reason, pointer=f"{sub.pointer}/{keyword}", keyword=keyword,
            remedy=remedy or "Leave the keyword out, or give strict=False to ignore it.",
        )  # fmt: skip
        if self._strict:
            raise error
        self.ignored.append(error)
