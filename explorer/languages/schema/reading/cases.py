"""The keywords of one value: what each says, and the subschemas as alternatives without choices.

A value has to satisfy a conjunction of subschemas. Each keyword that chooses among subschemas
splits it: ``anyOf`` into one case per branch; ``oneOf`` into one case per branch, which excludes
the other branches that may overlap with it; ``if`` into two. A case is then a list of plain keyword
mappings that all hold, subschemas that must not hold, and subschemas that are intersected as
machines because splitting them would make too many cases.

A conjunction is kept together until all its parts are plain, because an object's members are known
only from all of them: ``{"properties": ...}`` here and ``{"required": ...}`` there are one object.

Whether branches overlap is told from their keywords alone (`are_apart`). Objects of different kinds
usually differ in a tag: a member that one of them requires and for which both list values, none of
them shared. Then ``oneOf`` means the same as ``anyOf``, and no machines have to be compared. A
proof holds at every depth; without one, the branches may still be disjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple, cast

from explorer.automata.tree.nodes import MAX_REPEAT
from explorer.errors import UnsupportedSchema
from explorer.languages.schema.reading.subschemas import (
    Number,
    Schema,
    Subschema,
    every_part,
    is_number,
)

_SIX_TYPES: Final = ("null", "boolean", "number", "string", "array", "object")
TYPES: Final = frozenset((*_SIX_TYPES, "integer"))

_OBJECT: Final = frozenset(("object",))

MOST_LEVELS: Final = 3
"""The deepest member that is looked at as a tag."""
MOST_PARTS: Final = 32
"""The most subschemas of one value that are looked at."""


@dataclass(frozen=True, slots=True)
class Told:
    """Facts that surely hold of the values of a conjunction.

    Args:
        values: The scalars that ``enum`` and ``const`` allow, each with its type; ``None`` where
            neither lists scalars alone.
    """

    types: frozenset[str]
    values: frozenset[tuple[str, object]] | None
    required: frozenset[str]
    members: dict[str, list[Subschema]] = field(compare=False)
    _of_members: dict[str, Told] = field(
        default_factory=dict[str, "Told"], compare=False, repr=False
    )

    def of_member(self, name: str) -> Told:
        """The facts about a member's value, worked out once."""
        if name not in self._of_members:
            self._of_members[name] = told(self.members[name])
        return self._of_members[name]


def told(subschemas: list[Subschema]) -> Told:
    """Facts that surely hold of the values that satisfy all of some subschemas.

    Raises:
        UnsupportedSchema: A reference leads nowhere.
    """
    types = TYPES
    required: set[str] = set()
    members: dict[str, list[Subschema]] = {}
    together = tuple(_together(subschemas))
    for sub in together:
        types &= types_given(sub.keyword("type")) if sub.schema is not False else frozenset()
        required.update(name for name in sub.names_at("required") if type(name) is str)
        for name, part in sub.named_at("properties").items():
            members.setdefault(name, []).append(sub.below(part, "properties", name))
    listed = constants_of(together)
    values = None if listed is None else frozenset(map(_with_its_type, listed))
    return Told(types, values, frozenset(required), members)


def are_apart(one: Told, other: Told, levels: int = MOST_LEVELS) -> bool:
    """Whether it can be proved that no value satisfies both.

    Raises:
        UnsupportedSchema: A reference of a member leads nowhere.
    """
    types = one.types & other.types
    if not types:
        return True
    left = one.values
    if left is None or other.values is None:
        left = other.values if left is None else left
    else:
        left &= other.values
    if left is not None and not any(_is_one(value, types) for value in left):
        return True
    if types != _OBJECT or levels == 0:  # Only objects have members to compare.
        return False
    for name in one.members.keys() & other.members.keys() & (one.required | other.required):
        if are_apart(one.of_member(name), other.of_member(name), levels - 1):
            return True
    return False


def has_a_tag(known: list[Told]) -> bool:
    """Whether the objects share a required member whose listed values are all different.

    If so, every two of them are apart; this is faster than `are_apart` of all pairs.

    Raises:
        UnsupportedSchema: A reference of a member leads nowhere.
    """
    if not known or any(each.types != _OBJECT for each in known):
        return False
    for name in known[0].members:
        if not all(name in each.members and name in each.required for each in known):
            continue
        tags = [each.of_member(name).values for each in known]
        listed = [tag for tag in tags if tag is not None]
        if len(listed) == len(tags) and sum(map(len, listed)) == len(set[object]().union(*listed)):
            return True
    return False


def _together(subschemas: list[Subschema]) -> Iterator[Subschema]:
    """The subschemas, and those that surely apply to the same value."""
    todo, seen = [*subschemas], set[object]()
    while todo and len(seen) < MOST_PARTS:
        sub = todo.pop()
        if sub.key in seen:
            continue
        seen.add(sub.key)
        reference = sub.keyword("$ref")
        if isinstance(reference, str):
            todo.append(sub.target(reference, "$ref"))
            if sub.draft <= 7:
                continue
        yield sub
        todo += [sub.below(part, "allOf", k) for k, part in enumerate(sub.schemas_at("allOf"))]


def types_given(given: object) -> frozenset[str]:
    """The types that the value of ``type`` names; all of them where it is missing or malformed."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list):
        return TYPES
    named = {each for each in cast("list[object]", given) if isinstance(each, str)}
    return frozenset(named | {"integer"} if "number" in named else named)


def _with_its_type(value: object) -> tuple[str, object]:
    """A scalar and its type; equal scalars give the same pair."""
    match value:
        case None:
            return "null", None
        case bool():
            return "boolean", value
        case str():
            return "string", value
        case _:
            return "number", decimal(cast("Number", value))


def _is_one(value: tuple[str, object], types: frozenset[str]) -> bool:
    """Whether a scalar is of one of some types."""
    kind, number = value
    if isinstance(number, Decimal) and number == number.to_integral_value():
        return "integer" in types
    return kind in types


# What single keywords say.


def equal(a: object, b: object) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, but true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        left, right = cast("list[object]", a), cast("list[object]", b)
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(a, dict) and isinstance(b, dict):
        one, two = cast("dict[str, object]", a), cast("dict[str, object]", b)
        return one.keys() == two.keys() and all(equal(one[key], two[key]) for key in one)
    return a == b


def decimal(value: Number) -> Decimal:
    """A number of a schema, exactly as it is written."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def types_of(subs: tuple[Subschema, ...]) -> frozenset[str]:
    """The types that some subschemas leave.

    Raises:
        UnsupportedSchema: A ``type`` is not known.
    """
    types = TYPES
    for sub in subs:
        wanted = types_given(sub.keyword("type"))
        if not wanted <= TYPES:
            raise _not_a_type(wanted, sub.pointer)
        types &= wanted
    return types


def _not_a_type(wanted: frozenset[str], pointer: str) -> UnsupportedSchema:
    return UnsupportedSchema(
        f"{min(wanted - TYPES)!r} is not a type.",
        pointer=pointer + "/type", keyword="type",
        remedy=f"The types are {', '.join(_SIX_TYPES)} and integer.",
    )  # fmt: skip


def _check_types(sub: Subschema) -> None:
    """Check the types that a subschema and all below it name, where no value depends on it.

    Raises:
        UnsupportedSchema: A ``type`` is not known.
    """
    for pointer, here, _ in every_part(sub.schema):
        wanted = types_given(here.get("type"))
        if not wanted <= TYPES:
            raise _not_a_type(wanted, sub.pointer + pointer)


def constants_of(subs: tuple[Subschema, ...]) -> list[object] | None:
    """The scalars that ``enum`` and ``const`` allow; ``None`` where neither lists only scalars."""
    left: list[object] | None = None
    for sub in subs:
        for keyword in ("const", "enum"):
            if keyword not in sub.words or (keyword == "const" and sub.draft < 6):
                continue
            given: object = [sub.words["const"]] if keyword == "const" else sub.words["enum"]
            if not isinstance(given, list):  # A schema of a folder, not checked yet.
                continue
            given = cast("list[object]", given)
            if any(isinstance(value, dict | list) for value in given):
                continue
            left = given if left is None else [v for v in left if any(equal(v, g) for g in given)]
    return left


LARGEST_SIZE: Final = 2**64
"""The largest number of items or properties that a keyword may give, beyond every real text."""

LONGEST_STRING: Final = MAX_REPEAT - 1
"""The largest length of a string that a keyword may give: that of repeats in patterns."""


def size(sub: Subschema, keyword: str) -> int | None:
    """The size that a keyword gives; ``None`` if the keyword is missing."""
    value = sub.keyword(keyword)
    if not is_number(value):
        return None
    most = LONGEST_STRING if keyword.endswith("Length") else LARGEST_SIZE
    if value > most:
        digits = len(str(int(value)))
        written = f"{int(value):,}" if digits <= 24 else f"a number of {digits:,} digits"
        raise UnsupportedSchema(
            f"{keyword} is {written}; at most {most:,} is followed.",
            pointer=f"{sub.pointer}/{keyword}", keyword=keyword,
            remedy="Give a smaller size, or leave the keyword out.",
        )  # fmt: skip
    if value < 0 or value != int(value):
        raise UnsupportedSchema(
            f"{value} is not a size.", pointer=f"{sub.pointer}/{keyword}", keyword=keyword,
            remedy="Give a whole number, 0 or more.",
        )  # fmt: skip
    return int(value)


def bounds(subs: tuple[Subschema, ...], fewest: str, most: str) -> tuple[int, int | None]:
    """The largest of the lower bounds on a size, and the smallest of the upper bounds."""
    minimum, maximum = 0, None
    for sub in subs:
        minimum = max(minimum, size(sub, fewest) or 0)
        upper = size(sub, most)
        if upper is not None:
            maximum = upper if maximum is None else min(maximum, upper)
    return minimum, maximum


def prefix_keyword(sub: Subschema) -> str:
    """The keyword that lists schemas for the first items, which depends on the draft."""
    return "prefixItems" if sub.draft >= 2020 else "items"


def prefix(sub: Subschema) -> list[Schema]:
    """The schemas of the first items, one for each index."""
    value = sub.keyword(prefix_keyword(sub))
    return cast("list[Schema]", value) if isinstance(value, list) else []


def rest_of_items(sub: Subschema) -> tuple[Schema, str] | None:
    """The schema of the items after the prefix, and its keyword; ``None`` if there is none."""
    items = sub.keyword("items")
    if isinstance(items, bool | dict):
        return cast("Schema", items), "items"
    additional = sub.keyword("additionalItems")
    if sub.draft < 2020 and isinstance(items, list) and isinstance(additional, bool | dict):
        return cast("Schema", additional), "additionalItems"
    return None


def evaluates_item(sub: Subschema, index: int, owner: int) -> bool:
    """Whether a subschema constrains the item at an index."""
    if index < len(prefix(sub)) or rest_of_items(sub) is not None:
        return True
    own = sub.keyword("unevaluatedItems")
    return own is not None and id(sub.schema) != owner


def has_contains(sub: Subschema) -> bool:
    """Whether a subschema has ``contains`` and its draft knows the keyword."""
    return sub.draft >= 6 and isinstance(sub.keyword("contains"), bool | dict)


def contains_bounds(sub: Subschema) -> tuple[int, int | None]:
    """The fewest and the most items that may satisfy ``contains``."""
    minimum = size(sub, "minContains") if sub.draft >= 2019 else None
    maximum = size(sub, "maxContains") if sub.draft >= 2019 else None
    return 1 if minimum is None else minimum, maximum


# Alternatives.

MOST_CASES: Final = 256
"""The most cases; beyond them, choices are built separately and intersected as machines."""

MOST_EVALUATED_BRANCHES: Final = 6
"""The most branches of an ``anyOf`` below an ``unevaluated...`` keyword, where each subset of the
branches is a case."""

IN_PLACE: Final = frozenset(
    (
        "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "then",
        "else", "dependentSchemas", "dependentRequired", "dependencies",
    )
)  # fmt: skip
"""The keywords that apply other subschemas to the same value."""


CHOOSING: Final = IN_PLACE | {"enum", "const"}
"""The keywords that split a conjunction; a subschema without them is plain."""


class Case(NamedTuple):
    """One way in which a conjunction can hold.

    Args:
        met: Subschemas that hold too, intersected as machines.
    """

    plain: tuple[Subschema, ...]
    excluded: tuple[Subschema, ...]
    met: tuple[Subschema, ...]


def synthetic(
    parent: Subschema, schema: Schema, made: dict[object, Schema], keyword: str = ""
) -> Subschema:
    """A subschema made for a keyword of another one; equal schemas are the same object."""
    key = repr(schema), id(parent.schema)
    kept = made.setdefault(key, schema)
    pointer = f"{parent.pointer}/{keyword}" if keyword else parent.pointer
    return Subschema(kept, parent.resolver, pointer, parent.draft, scope=parent.scope)


def structural(value: object, prefix: str) -> dict[str, Any]:
    """A schema without ``const`` for arrays and objects that allows exactly one value.

    Args:
        prefix: The keyword that lists schemas for the first items.
    """
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return {
            "type": "object",
            "properties": {name: structural(item, prefix) for name, item in entries.items()},
            "required": list(entries),
            "additionalProperties": False,
        }
    if isinstance(value, list):
        items = cast("list[object]", value)
        return {
            "type": "array",
            prefix: [structural(item, prefix) for item in items],
            "minItems": len(items),
            "maxItems": len(items),
        }
    return {"enum": [value]}


def in_place(sub: Subschema) -> Iterator[Subschema]:
    """The subschemas that apply, or may apply, to the same value as a subschema."""
    words = sub.words
    if IN_PLACE.isdisjoint(words):
        return
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        if keyword in words and isinstance(reference := words[keyword], str):
            yield sub.target(reference, keyword)
            if sub.draft <= 7:
                return
    for keyword in ("allOf", "anyOf", "oneOf"):
        if keyword in words:
            for index, part in enumerate(sub.schemas_at(keyword)):
                yield sub.below(part, keyword, index)
    for keyword in ("not", "if", "then", "else"):
        if keyword in words and (single := sub.schema_at(keyword)) is not None:
            yield sub.below(single, keyword)
    for keyword in ("dependentSchemas", "dependencies"):
        if keyword in words:
            for name, part in sub.named_at(keyword).items():
                yield sub.below(part, keyword, name)


class Expansion:
    """Splits conjunctions into cases.

    Args:
        look: Checks the budget in each step, given the number of parts that are listed next.
    """

    def __init__(self, made: dict[object, Schema], look: Callable[[int], None]) -> None:
        self._made = made
        self._look = look
        self._stripped: dict[int, tuple[Schema, Schema]] = {}
        self._whole: dict[int, Schema] = {}

    def cases(self, subschemas: Iterable[Subschema]) -> list[Case]:
        """The cases of a conjunction; none if no value satisfies it."""
        subs = tuple(subschemas)
        if len(subs) == 1 and subs[0].words and CHOOSING.isdisjoint(subs[0].words):
            return [Case(subs, (), ())]
        cases = [_Open([*subs[::-1]], [], [], [], set())]
        done: list[Case] = []
        while cases:
            self._look(0)
            case = cases.pop()
            if not case.todo:
                done.append(Case(tuple(case.plain), tuple(case.excluded), tuple(case.met)))
                continue
            crowded = len(cases) + len(done) >= MOST_CASES
            cases += reversed(self._step(case, crowded))
        return done

    def _step(self, case: _Open, crowded: bool) -> list[_Open]:
        sub = case.todo.pop()
        if sub.schema is False:
            return []
        if sub.schema is True or not sub.schema:
            return [case]
        if sub.key in case.seen:
            return [case]
        case.seen.add(sub.key)
        schema = sub.schema
        if CHOOSING.isdisjoint(schema):
            case.plain.append(sub)
            return [case]
        plain = self._plain(sub)
        owners = sub.owners
        if sub.draft >= 2019 and (
            "unevaluatedProperties" in schema or "unevaluatedItems" in schema
        ):
            owners = owners | {id(plain.schema)}
        here: list[Subschema] = []
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            reference = schema.get(keyword)
            if isinstance(reference, str):
                here.append(sub.target(reference, keyword, owners))
                if sub.draft <= 7:
                    case.todo += reversed(here)
                    return [case]
        case.plain.append(plain)

        def below(part: Schema, *path: str | int) -> Subschema:
            return sub.below(part, *path, owners=owners)

        for index, part in enumerate(sub.schemas_at("allOf")):
            here.append(below(part, "allOf", index))
        if "not" in schema:
            case.excluded.append(sub.below(schema["not"], "not"))
        case.todo += reversed(here)
        open_cases: list[_Open] = [case]
        for choices in self.choices(sub, below, evaluated=bool(owners)):
            # A single choice is always split: built separately it would be the same choice again.
            many = len(open_cases) > 1 and len(open_cases) * len(choices) > MOST_CASES
            if crowded or many or (owners and len(choices) > MOST_CASES):
                if owners:
                    raise UnsupportedSchema(
                        "There are too many combinations of branches below an unevaluated keyword.",
                        pointer=sub.pointer, keyword="unevaluatedProperties",
                        remedy="Say additionalProperties in the branches instead.",
                    )  # fmt: skip
                for each in open_cases:
                    each.met.append(choices.apart)
                continue
            open_cases = [
                each.with_choice(held, excluded)
                for each in open_cases
                for held, excluded in choices
            ]
        return open_cases

    def _plain(self, sub: Subschema) -> Subschema:
        """A subschema without the keywords of `IN_PLACE`; always the same object."""
        schema = cast("dict[str, Any]", sub.schema)
        if not IN_PLACE & schema.keys():
            return sub
        kept = self._stripped.get(id(schema))
        if kept is None:
            less = {key: value for key, value in schema.items() if key not in IN_PLACE}
            kept = self._stripped[id(schema)] = (schema, less)
            self._whole[id(less)] = schema
        return sub.with_schema(kept[1])

    def whole(self, sub: Subschema) -> Subschema:
        """The subschema from which a plain one was made; itself if nothing was left out."""
        schema = self._whole.get(id(sub.schema))
        return sub if schema is None else sub.with_schema(schema)

    def choices(self, sub: Subschema, below: _Below, *, evaluated: bool) -> Iterator[_Choices]:
        """The choices of a subschema: each option holds some subschemas and excludes others."""
        schema = cast("dict[str, Any]", sub.schema)
        yield from self.constants(sub)
        any_of = [below(part, "anyOf", k) for k, part in enumerate(sub.schemas_at("anyOf"))]
        if any_of and evaluated:
            if len(any_of) > MOST_EVALUATED_BRANCHES:
                raise UnsupportedSchema(
                    f"anyOf has more than {MOST_EVALUATED_BRANCHES} branches below an unevaluated "
                    f"keyword.",
                    pointer=sub.pointer + "/anyOf", keyword="anyOf",
                    remedy="Say additionalProperties in the branches instead.",
                )  # fmt: skip
            subsets = [
                [part for k, part in enumerate(any_of) if chosen >> k & 1]
                for chosen in range(1, 2 ** len(any_of))
            ]
            yield _Choices([(held, []) for held in subsets], any_of[0])
        elif any_of:
            yield _Choices([([part], []) for part in any_of], self._apart(sub, "anyOf", any_of))
        one_of = [below(part, "oneOf", k) for k, part in enumerate(sub.schemas_at("oneOf"))]
        if one_of:
            known = [told([part]) for part in one_of]
            tagged = has_a_tag(known)
            options: list[tuple[list[Subschema], list[Subschema]]] = []
            for index, part in enumerate(one_of):
                self._look(len(one_of))  # A branch excludes all others that may overlap with it.
                others = [
                    other
                    for k, other in enumerate(one_of)
                    if not tagged and k != index and not are_apart(known[index], known[k])
                ]
                options.append(([part], others))
            yield _Choices(options, self._apart(sub, "oneOf", one_of))
        chooses = evaluated or "then" in schema or "else" in schema
        if "if" in schema and sub.draft >= 7 and not chooses:
            _check_types(below(schema["if"], "if"))
        elif "if" in schema and sub.draft >= 7:
            condition = below(schema["if"], "if")
            then = [below(schema["then"], "then")] if "then" in schema else []
            other = [below(schema["else"], "else")] if "else" in schema else []
            apart = {key: schema[key] for key in ("if", "then", "else") if key in schema}
            yield _Choices(
                [([condition, *then], []), (other, [condition])],
                synthetic(sub, apart, self._made),
            )
        yield from self.dependencies(sub, below)

    def constants(self, sub: Subschema) -> Iterator[_Choices]:
        """The choice among the values of ``enum`` and ``const`` that include arrays or objects.

        Where both keywords stand, scalars are a choice too, because they are not read elsewhere
        from a list that has an array or an object in it.
        """
        schema = sub.schema
        if isinstance(schema, dict) and ("enum" in schema or "const" in schema):
            listed = cast("list[object]", schema.get("enum", []))
            has_const = "const" in schema and sub.draft >= 6
            values: list[object] = [schema["const"]] if has_const else list(listed)
            if both := has_const and "enum" in schema:
                values = [value for value in values if any(equal(value, e) for e in listed)]
            nested: list[object] = [v for v in values if isinstance(v, dict | list)]
            if nested or both:
                scalars = [v for v in values if not isinstance(v, dict | list)]
                options: list[Schema] = [structural(value, prefix_keyword(sub)) for value in nested]
                options += [{"enum": scalars}] if scalars else [] if nested else [False]
                keyword = "const" if has_const else "enum"
                parts = [synthetic(sub, option, self._made, keyword) for option in options]
                yield _Choices([([part], []) for part in parts], self._apart(sub, "anyOf", parts))

    def dependencies(self, sub: Subschema, below: _Below) -> Iterator[_Choices]:
        """A choice for each name on which subschemas depend: it is absent, or they hold."""
        cases: list[tuple[str, str, list[Subschema]]] = []
        for keyword in ("dependentRequired", "dependencies"):
            for name, needed in sub.needed_at(keyword).items():
                if needed:
                    part = synthetic(sub, {"required": needed}, self._made, keyword)
                    cases.append((name, keyword, [part]))
        for keyword in ("dependentSchemas", "dependencies"):
            for name, part in sub.named_at(keyword).items():
                cases.append((name, keyword, [below(part, keyword, name)]))
        for name, keyword, then in cases:
            absent = synthetic(sub, {"properties": {name: False}}, self._made, keyword)
            # The type keeps arrays out: what `then` says of their items evaluates none of them.
            given: Schema = {"type": "object", "required": [name]}
            present = synthetic(sub, given, self._made, keyword)
            apart = {
                "anyOf": [absent.schema, {"allOf": [present.schema, *(t.schema for t in then)]}]
            }
            yield _Choices(
                [([absent], []), ([present, *then], [])], synthetic(sub, apart, self._made)
            )

    def _apart(self, sub: Subschema, keyword: str, parts: list[Subschema]) -> Subschema:
        return synthetic(sub, {keyword: [part.schema for part in parts]}, self._made)


_Below = Callable[..., Subschema]


class _Choices(list[tuple[list[Subschema], list[Subschema]]]):
    """The options of a choice, and one subschema that means the same as all of them."""

    def __init__(
        self, options: list[tuple[list[Subschema], list[Subschema]]], apart: Subschema
    ) -> None:
        super().__init__(options)
        self.apart = apart


@dataclass(slots=True)
class _Open:
    """A case with subschemas that are still to be split."""

    todo: list[Subschema]  # A stack.
    plain: list[Subschema]
    excluded: list[Subschema]
    met: list[Subschema]
    seen: set[object]

    def with_choice(self, held: list[Subschema], excluded: list[Subschema]) -> _Open:
        return _Open(
            [*self.todo, *reversed(held)], list(self.plain), [*self.excluded, *excluded],
            list(self.met), set(self.seen),
        )  # fmt: skip
