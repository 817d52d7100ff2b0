"""Random schemas with applicators inside each other, and values that they may be about.

The schemas are those that two validators read alike: patterns without what ECMA 262 and Python
understand differently, bounds and divisors that a float holds exactly. Names, strings and numbers
come from small pools, so that keywords speak about the same ones. A reference may lead anywhere,
except back to where it stands without a step into a value.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

NAMES: Final = ("a", "b", "c", "ab", "x1", "é")
PATTERNS: Final[dict[str, tuple[str, ...]]] = {
    "^a": ("a", "ab", "abc", "aé"),
    "b$": ("b", "ab", "xb"),
    "[0-9]": ("x1", "12", "a0"),
    "^[a-c]+$": ("a", "cab", "bb"),
    "^[^-]{2}$": ("ab", "x1", "日é"),
    "^(ab|ba)*$": ("", "ab", "baab"),
    "^$": ("",),
    "é": ("é", "aé"),
    "[^a]": ("b", "x1", "é"),
}
"""Patterns, each with strings that have it."""
STRINGS: Final = (
    "", "a", "b", "ab", "ba", "abc", "x1", "12", "é", "日", "😀", 'q"', "\\", "/", "\n", "\x7f",
    "\x01", "aa", "aaaa", "a b", "null", "\u2028",
)  # fmt: skip
NUMBERS: Final = (
    0, 1, -1, 2, 3, 4, 5, 6, 7, 8, 10, -2, -3, 12, 100, 0.5, 1.5, -0.5, 2.5, 0.25, 1e-07, 12.75,
    -7.5, 10**16, 1e22, 2**53, 3.0, -0.0,
)  # fmt: skip
TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")
SCALARS: Final[tuple[Any, ...]] = (None, True, False, *NUMBERS, *STRINGS)

_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "$ref", "dependentSchemas")


class RandomSchemas:
    """Draws schemas.

    Args:
        draw: The source of chance.
        size: About how many subschemas one has.
    """

    def __init__(self, draw: random.Random, size: int = 8) -> None:
        self._draw = draw
        self._size = size
        self._left = 0
        self._definitions: list[str] = []

    def schema(self) -> dict[str, Any]:
        """A schema of draft 2020-12."""
        draw = self._draw
        self._definitions = [f"d{k}" for k in range(draw.choice([0, 0, 1, 2, 3]))]
        self._left = draw.randint(1, self._size)
        root = self._object_schema(-1)
        definitions: dict[str, Any] = {}
        for k, name in enumerate(self._definitions):
            self._left = draw.randint(1, max(1, self._size // 2))
            definitions[name] = self._any_schema(k)
        if definitions:
            root["$defs"] = definitions
        return root

    def _any_schema(self, inside: int | None) -> Any:
        """A subschema.

        Args:
            inside: The definition that it stands in without a step into a value, -1 for the root;
                ``None`` after such a step, where every reference may stand.
        """
        if self._draw.random() < 0.06:
            return self._draw.random() < 0.5
        if self._left <= 0:
            return self._small_schema()
        return self._object_schema(inside)

    def _small_schema(self) -> dict[str, Any]:
        """A subschema without others in it."""
        draw = self._draw
        about = draw.choice(TYPES)
        schema: dict[str, Any] = {"type": about} if draw.random() < 0.7 else {}
        if about == "array" or about == "object":
            keyword = "Items" if about == "array" else "Properties"
            if draw.random() < 0.5:
                schema[draw.choice(["min", "max"]) + keyword] = draw.randint(0, 2)
        else:
            self._about(schema, about)
        return schema

    def _object_schema(self, inside: int | None) -> dict[str, Any]:
        draw = self._draw
        self._left -= 1
        schema: dict[str, Any] = {}
        if self._left > 0 and draw.random() < 0.5:
            for _ in range(draw.choice([1, 1, 2])):
                self._applicator(schema, inside)
        if not schema or draw.random() < 0.7:
            about = draw.choice([*TYPES, "object", "object", "array", "string"])
            if draw.random() < 0.6:
                types = [about]
                if draw.random() < 0.25:
                    types += [each for each in draw.sample(TYPES, 2) if each not in types]
                schema["type"] = types if len(types) > 1 else about
            self._about(schema, about)
            if draw.random() < 0.15:
                self._about(schema, draw.choice(TYPES))
        return schema

    def _about(self, schema: dict[str, Any], about: str) -> None:
        draw = self._draw
        if draw.random() < 0.08:
            schema["const"] = self._constant()
        elif draw.random() < 0.1:
            schema["enum"] = [self._constant() for _ in range(draw.randint(1, 4))]
        if about in ("integer", "number"):
            self._about_numbers(schema)
        elif about == "string":
            self._about_strings(schema)
        elif about == "array":
            self._about_arrays(schema)
        elif about == "object":
            self._about_objects(schema)

    def _constant(self) -> Any:
        draw = self._draw
        if draw.random() < 0.75:
            return draw.choice(SCALARS)
        return value(draw, 2)

    def _about_numbers(self, schema: dict[str, Any]) -> None:
        draw = self._draw
        for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if draw.random() < 0.25:
                schema[keyword] = draw.choice(NUMBERS)
        if draw.random() < 0.25:
            schema["multipleOf"] = draw.choice([1, 2, 3, 0.5, 0.25, 5, 10, 2.5])

    def _about_strings(self, schema: dict[str, Any]) -> None:
        draw = self._draw
        if draw.random() < 0.3:
            schema["minLength"] = draw.randint(0, 3)
        if draw.random() < 0.3:
            schema["maxLength"] = draw.randint(0, 4)
        if draw.random() < 0.35:
            schema["pattern"] = draw.choice(tuple(PATTERNS))

    def _about_arrays(self, schema: dict[str, Any]) -> None:
        draw = self._draw
        if draw.random() < 0.35:
            schema["prefixItems"] = self._several(None, 3)
        if draw.random() < 0.45:
            schema["items"] = self._any_schema(None)
        if draw.random() < 0.3:
            schema["contains"] = self._any_schema(None)
            if draw.random() < 0.5:
                schema["minContains"] = draw.randint(0, 2)
            if draw.random() < 0.5:
                schema["maxContains"] = draw.randint(0, 2)
        if draw.random() < 0.2:
            schema["minItems"] = draw.randint(0, 3)
        if draw.random() < 0.2:
            schema["maxItems"] = draw.randint(0, 4)
        if draw.random() < 0.12:
            schema["uniqueItems"] = True
            if draw.random() < 0.8:
                schema["items"] = {"enum": [draw.choice(SCALARS) for _ in range(3)]}
        if draw.random() < 0.15:
            schema["unevaluatedItems"] = self._any_schema(None)

    def _about_objects(self, schema: dict[str, Any]) -> None:
        draw = self._draw
        if draw.random() < 0.75:
            names = draw.sample(NAMES, draw.randint(1, 4))
            schema["properties"] = {name: self._any_schema(None) for name in names}
        if draw.random() < 0.4:
            schema["required"] = draw.sample(NAMES, draw.randint(1, 2))
        if draw.random() < 0.2:
            patterns = draw.sample(tuple(PATTERNS), draw.randint(1, 2))
            schema["patternProperties"] = {each: self._any_schema(None) for each in patterns}
        if draw.random() < 0.35:
            schema["additionalProperties"] = (
                False if draw.random() < 0.5 else self._any_schema(None)
            )
        if draw.random() < 0.12:
            names_: dict[str, Any] = {}
            self._about_strings(names_)
            if draw.random() < 0.2:
                names_ = {"enum": draw.sample(NAMES, 3)}
            schema["propertyNames"] = names_
        if draw.random() < 0.15:
            schema["minProperties"] = draw.randint(0, 2)
        if draw.random() < 0.15:
            schema["maxProperties"] = draw.randint(0, 4)
        if draw.random() < 0.12:
            needed = draw.sample(NAMES, draw.randint(0, 2))
            schema["dependentRequired"] = {draw.choice(NAMES): needed}
        if draw.random() < 0.18:
            schema["unevaluatedProperties"] = (
                False if draw.random() < 0.6 else self._any_schema(None)
            )

    def _several(self, inside: int | None, most: int) -> list[Any]:
        return [self._any_schema(inside) for _ in range(self._draw.randint(1, most))]

    def _applicator(self, schema: dict[str, Any], inside: int | None) -> None:
        draw = self._draw
        keyword = draw.choice(_IN_PLACE)
        if keyword in ("allOf", "anyOf", "oneOf"):
            schema[keyword] = self._several(inside, 3)
        elif keyword == "not":
            schema["not"] = self._any_schema(inside)
        elif keyword == "if":
            schema["if"] = self._any_schema(inside)
            for branch in ("then", "else"):
                if draw.random() < 0.7:
                    schema[branch] = self._any_schema(inside)
        elif keyword == "dependentSchemas":
            schema[keyword] = {draw.choice(NAMES): self._any_schema(inside)}
        else:
            first = 0 if inside is None else inside + 1
            names = [f"#/$defs/{name}" for name in self._definitions[first:]]
            if inside is None:
                names.append("#")
            if names:
                schema["$ref"] = draw.choice(names)


def value(draw: random.Random, depth: int) -> Any:
    """Any value, at most so deep."""
    if depth == 0 or draw.random() < 0.5:
        return draw.choice(SCALARS)
    if draw.random() < 0.4:
        return [value(draw, depth - 1) for _ in range(draw.randint(0, 3))]
    names = draw.sample((*NAMES, *STRINGS), draw.randint(0, 3))
    return {name: value(draw, depth - 1) for name in names}


class LikelyValues:
    """Draws values that a schema is likely to allow, by following some of its keywords."""

    def __init__(self, draw: random.Random, root: dict[str, Any]) -> None:
        self._draw = draw
        self._root = root

    def value(self, depth: int) -> Any:
        """A value for the whole schema, at most so deep."""
        return self._of([self._root], depth)

    def _of(self, given: list[Any], depth: int) -> Any:
        draw = self._draw
        subs = self._applying(given, 6)
        for sub in subs:
            if "const" in sub and draw.random() < 0.9:
                return copy.deepcopy(sub["const"])
        for sub in subs:
            if "enum" in sub and draw.random() < 0.9:
                return copy.deepcopy(draw.choice(sub["enum"]))
        kind = self._kind(subs)
        if kind in ("integer", "number"):
            return self._number(subs, kind)
        if kind == "string":
            return self._string(subs)
        if kind == "array":
            return self._array(subs, depth)
        if kind == "object":
            return self._object(subs, depth)
        return None if kind == "null" else draw.random() < 0.5

    def _applying(self, given: list[Any], depth: int) -> list[dict[str, Any]]:
        """The subschemas that a value is held to, one branch of each choice."""
        subs: list[dict[str, Any]] = []
        for sub in given:
            if not isinstance(sub, dict):
                continue
            subs.append(sub)
            if depth == 0:
                continue
            inner: list[Any] = [*sub.get("allOf", [])]
            inner += [self._draw.choice(sub[key]) for key in ("anyOf", "oneOf") if key in sub]
            if "$ref" in sub:
                inner.append(self._resolved(sub["$ref"]))
            if "if" in sub:
                condition = self._draw.random() < 0.5
                if condition:
                    inner.append(sub["if"])
                inner.append(sub.get("then" if condition else "else", True))
            for each in sub.get("dependentSchemas", {}).values():
                inner += [each] if self._draw.random() < 0.5 else []
            subs += self._applying(inner, depth - 1)
        return subs

    def _resolved(self, reference: str) -> Any:
        return self._root if reference == "#" else self._root["$defs"][reference[8:]]

    def _kind(self, subs: list[dict[str, Any]]) -> str:
        allowed = set(TYPES)
        for sub in subs:
            if "type" in sub:
                types = [sub["type"]] if isinstance(sub["type"], str) else sub["type"]
                wanted = set(types) | ({"integer"} if "number" in types else set())
                allowed = allowed & wanted or allowed
        about = [kind for kind in ("object", "array") if any(map(_SPEAKS[kind], subs))]
        return self._draw.choice([*sorted(allowed), *(k for k in about if k in allowed), *about])

    def _number(self, subs: list[dict[str, Any]], kind: str) -> Any:
        bounds = [
            sub[key] for sub in subs for key in sub
            if key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
        ]  # fmt: skip
        near = [bound + step for bound in bounds for step in (0, 1, -1, 0.5)]
        drawn = self._draw.choice([*NUMBERS, *near])
        if kind == "integer" and self._draw.random() < 0.8:
            return int(drawn)
        return drawn

    def _string(self, subs: list[dict[str, Any]]) -> str:
        draw = self._draw
        samples = [each for sub in subs for each in PATTERNS.get(sub.get("pattern", ""), ())]
        drawn = draw.choice(samples) if samples else draw.choice(STRINGS)
        low = max((sub.get("minLength", 0) for sub in subs), default=0)
        while len(drawn) < low and draw.random() < 0.9:
            drawn += draw.choice("abé1")
        high = min((sub.get("maxLength", 9) for sub in subs), default=9)
        return drawn[:high] if draw.random() < 0.8 else drawn

    def _array(self, subs: list[dict[str, Any]], depth: int) -> list[Any]:
        if depth == 0:
            return []
        draw = self._draw
        low = max((sub.get("minItems", 0) for sub in subs), default=0)
        prefix = max((len(sub.get("prefixItems", ())) for sub in subs), default=0)
        length = draw.choice([low, prefix, draw.randint(0, 3), draw.randint(0, 4)])
        items: list[Any] = []
        for place in range(length):
            given: list[Any] = []
            for sub in subs:
                front = sub.get("prefixItems", [])
                if place < len(front):
                    given.append(front[place])
                elif "items" in sub:
                    given.append(sub["items"])
                elif "unevaluatedItems" in sub:
                    given.append(sub["unevaluatedItems"])
                if "contains" in sub and draw.random() < 0.4:
                    given.append(sub["contains"])
            items.append(self._of(given, depth - 1))
        return items

    def _object(self, subs: list[dict[str, Any]], depth: int) -> dict[str, Any]:
        if depth == 0:
            return {}
        draw = self._draw
        names = {name for sub in subs for name in sub.get("required", ()) if draw.random() < 0.95}
        known = [name for sub in subs for name in sub.get("properties", ())]
        names |= {name for name in known if draw.random() < 0.5}
        closed = any(
            sub.get(key) is False
            for sub in subs
            for key in ("additionalProperties", "unevaluatedProperties")
        )
        for sub in subs:
            for pattern in sub.get("patternProperties", ()):
                if draw.random() < 0.5:
                    names.add(draw.choice(PATTERNS[pattern]))
            for name, needed in sub.get("dependentRequired", {}).items():
                if name in names and draw.random() < 0.9:
                    names |= set(needed)
        if not closed or draw.random() < 0.1:
            names |= set(draw.sample((*NAMES, *STRINGS), draw.choice([0, 0, 1, 2])))
        made: dict[str, Any] = {}
        for name in draw.sample(sorted(names), len(names)):
            given = [each for sub in subs for each in _about_name(sub, name)]
            made[name] = self._of(given, depth - 1)
        return made


def _about_name(sub: dict[str, Any], name: str) -> Iterator[Any]:
    named = False
    if name in sub.get("properties", {}):
        named = True
        yield sub["properties"][name]
    for pattern, schema in sub.get("patternProperties", {}).items():
        if name in PATTERNS[pattern]:
            named = True
            yield schema
    if not named:
        yield sub.get("additionalProperties", sub.get("unevaluatedProperties", True))


_SPEAKS: Final[dict[str, Callable[[dict[str, Any]], bool]]] = {
    "object": lambda sub: bool(
        sub.keys() & {"properties", "required", "patternProperties", "dependentSchemas"}
    ),
    "array": lambda sub: bool(sub.keys() & {"items", "prefixItems", "contains"}),
}


def near_miss(draw: random.Random, given: Any) -> Any:
    """A value with one part changed, left out, put in or taken twice."""
    changed = copy.deepcopy(given)
    inside = list(_containers(changed))
    if not inside or draw.random() < 0.15:
        return draw.choice([*SCALARS, [changed], {"a": changed}])
    at = draw.choice(inside)
    if isinstance(at, list):
        place = draw.randint(0, len(at))
        how = draw.random()
        if at and how < 0.3:
            at.pop(min(place, len(at) - 1))
        elif at and how < 0.6:
            at[min(place, len(at) - 1)] = value(draw, 1)
        elif at and how < 0.7:
            at.insert(place, copy.deepcopy(draw.choice(at)))
        else:
            at.insert(place, value(draw, 1))
    else:
        how = draw.random()
        if at and how < 0.35:
            at.pop(draw.choice(list(at)))
        elif at and how < 0.7:
            at[draw.choice(list(at))] = value(draw, 1)
        else:
            at[draw.choice((*NAMES, *STRINGS))] = value(draw, 1)
    return changed


def _containers(given: Any) -> Iterator[Any]:
    if isinstance(given, dict | list):
        yield given
        for each in given.values() if isinstance(given, dict) else given:
            yield from _containers(each)
