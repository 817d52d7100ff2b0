"""Conditions on one array or object, tracked side by side while its letters are read.

A *leaf* is a conjunction of plain keyword mappings that hold together. Its state after the letters
so far is a small tuple, `DEAD` once it can no longer hold. A formula combines the leaves into a
condition at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any, Final, Literal, Protocol, cast

from explorer.automata.machine import Dfa
from explorer.errors import BudgetExceeded
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.cases import (
    bounds,
    contains_bounds,
    evaluates_item,
    has_contains,
    prefix,
    prefix_keyword,
    rest_of_items,
)
from explorer.languages.schema.reading.subschemas import (
    Schema,
    Subschema,
)
from explorer.languages.schema.values.places import Conjunction, Placing, Wanted, conjunction
from explorer.languages.schema.values.texts import Strings

State = tuple[Any, ...]
DEAD: Final[State] = ("dead",)
OFF: Final[State] = ("off",)
"""The state of a leaf that no longer matters."""
SETTLED: Final[State] = ("settled",)
"""The state of a leaf that holds whatever follows."""


class Leaf(Protocol):
    """A conjunction of plain keyword mappings, as a condition on a container."""

    def ends(self, state: State) -> bool:
        """Whether the condition holds if the container ends in a state."""
        ...

    def is_settled(self, state: State) -> bool:
        """Whether the condition holds whatever letters follow."""
        ...


@dataclass(frozen=True, slots=True)
class All:
    """The conjunction: every part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """The disjunction: some part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class No:
    """The negation: the part does not hold."""

    part: Formula


Formula = int | bool | All | Some | No
"""An int is the number of a leaf."""


def all_of(parts: Sequence[Formula]) -> Formula:
    """The simplified conjunction of some parts."""
    rest = [part for part in parts if part is not True]
    if any(part is False for part in rest):
        return False
    return All(tuple(rest)) if len(rest) > 1 else rest[0] if rest else True


def some_of(parts: Sequence[Formula]) -> Formula:
    """The simplified disjunction of some parts."""
    rest = [part for part in parts if part is not False]
    if any(part is True for part in rest):
        return True
    return Some(tuple(rest)) if len(rest) > 1 else rest[0] if rest else False


def none_of(part: Formula) -> Formula:
    """The simplified negation of a part."""
    return (not part) if isinstance(part, bool) else No(part)


def left(formula: Formula, leaves: Sequence[Leaf], states: Sequence[State]) -> Formula:
    """The formula with every decided leaf replaced by its value."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, int):
        state = states[formula]
        if state is DEAD:
            return False
        return True if state is SETTLED or leaves[formula].is_settled(state) else formula
    if isinstance(formula, No):
        return none_of(left(formula.part, leaves, states))
    parts = [left(part, leaves, states) for part in formula.parts]
    return all_of(parts) if isinstance(formula, All) else some_of(parts)


def ends(formula: Formula, leaves: Sequence[Leaf], states: Sequence[State]) -> bool:
    """Whether a formula holds if the container ends in these states."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, int):
        return states[formula] is not DEAD and leaves[formula].ends(states[formula])
    if isinstance(formula, No):
        return not ends(formula.part, leaves, states)
    parts = (ends(part, leaves, states) for part in formula.parts)
    return all(parts) if isinstance(formula, All) else any(parts)


def named(formula: Formula) -> set[int]:
    """The numbers of the leaves in a formula."""
    if isinstance(formula, bool):
        return set()
    if isinstance(formula, int):
        return {formula}
    if isinstance(formula, No):
        return named(formula.part)
    return {leaf for part in formula.parts for leaf in named(part)}


MOST_CONTROLS: Final = 4096
"""The most sets of members that an object in any order may need, one state each, drawn at once."""


_BESIDE: Final = frozenset(("patternProperties", "$id", "id", "unevaluatedProperties"))
"""Keywords because of which more than `properties` may apply to a member."""


_ABOUT_MEMBERS: Final = (
    "properties", "patternProperties", "additionalProperties", "unevaluatedProperties",
)  # fmt: skip
_NO_PARTS: Final[dict[str, Schema]] = {}


class LetterQuestions(Placing, Protocol):
    """The services of `ValueSets` that containers use."""

    every_set: bool
    options: SchemaOptions
    once: Literal["refused", "marked", "free"]
    remembered: dict[str, None]

    def pattern(self, sub: Subschema, pattern: str, keyword: str) -> Dfa | None:
        """The texts in which a pattern is found; ``None`` if the pattern is ignored."""
        ...

    def told_apart(
        self, listed: tuple[str, ...], machines: tuple[Dfa, ...]
    ) -> list[tuple[Callable[[], Dfa], tuple[int, ...]]]:
        """The texts beside a list, told apart by the machines that read them."""
        ...

    def strings(self, wanted: Wanted) -> Strings:
        """The strings of a set."""
        ...

    def is_possible(self, wanted: Wanted) -> bool:
        """Whether a set has a value."""
        ...

    def listed(self, wanted: Wanted, sub: Subschema) -> list[Subschema] | None:
        """Each value of a set as a schema, for ``uniqueItems``; ``None`` if that is ignored."""
        ...

    def counted(self, wanted: Wanted, most: int) -> tuple[list[object] | None, bool]:
        """The values of a set, as far as they are finitely many, and whether that is sure."""
        ...

    def refuse(self, sub: Subschema, keyword: str, reason: str, remedy: str) -> None:
        """Raise for a keyword that cannot be followed, or note it."""
        ...

    def either(self, parts: list[Subschema]) -> Subschema:
        """The ``anyOf`` of some subschemas."""
        ...


@dataclass(frozen=True, eq=False)
class OtherNames:
    """A kind of names that the schema does not list and treats alike.

    Args:
        number: The number of the kind.
        make: Makes the machine of the names; ``None`` for all names that are not listed.
        matched: The patterns that the names match.
        allowed: Whether the ``propertyNames`` of each leaf, by its id, allows them.
    """

    number: int
    make: Callable[[], Dfa] | None
    matched: frozenset[str]
    allowed: dict[int, bool]

    @cached_property
    def names(self) -> Dfa | None:
        """The machine of the names; ``None`` for all names that are not listed."""
        return None if self.make is None else self.make()


class ArrayLeaf:
    """Plain keyword mappings as a condition on an array; a state is ``(index, counts)``."""

    def __init__(self, ask: LetterQuestions, subs: Conjunction) -> None:
        self._ask = ask
        self.subs = subs
        self.minimum, self.maximum = bounds(subs, "minItems", "maxItems")
        self._longest = max((len(prefix(sub)) for sub in subs), default=0)
        contains = [
            (sub.below(cast("Schema", sub.keyword("contains")), "contains"), *contains_bounds(sub))
            for sub in subs if has_contains(sub)
        ]  # fmt: skip
        self.contains = [each for each in contains if each[1] > 0 or each[2] is not None]
        self.unique = next((sub for sub in subs if sub.keyword("uniqueItems") is True), None)
        if self.maximum is not None and self.maximum <= 1:
            self.unique = None
        self._cap = max(
            self._longest, self.minimum, 0 if self.maximum is None else self.maximum + 1
        )
        self._items: dict[int, Conjunction | None] = {}

    @property
    def is_uniform(self) -> bool:
        """Whether all items have the same schema and only their number counts."""
        return not (self._longest or self.contains or self.unique)

    def is_alike(self, index: int) -> bool:
        """Whether all items from an index on have the same schema, without ``contains``."""
        return index >= self._longest and not self.contains

    def counting(self, index: int) -> Conjunction | None:
        """The subschemas of an item that counts for every ``contains``; ``None`` if it is not
        evident that any number of them may come from an index on.
        """
        bounded = self.maximum is not None or any(high is not None for _, _, high in self.contains)
        held = None if bounded or self.unique or index < self._longest else self.item(index)
        return None if held is None else conjunction((*held, *(sub for sub, _, _ in self.contains)))

    @property
    def every_item(self) -> list[Conjunction | None]:
        """The subschemas of the items, index by index as far as they differ."""
        most = self._longest + 1 if self.maximum is None else min(self.maximum, self._longest + 1)
        return [self.item(index) for index in range(most)]

    def may_end(self, index: int, possible: Callable[[Conjunction], bool]) -> bool:
        """Whether the items that must still come from an index on have values."""
        missing = map(self.item, range(index, min(self.minimum, self._longest + 1)))
        return all(held is not None and possible(held) for held in missing)

    def begin(self) -> State:
        """The state before the first item."""
        return (0, (0,) * len(self.contains))

    def item(self, index: int) -> Conjunction | None:
        """The subschemas of the item at an index; ``None`` if there can be none."""
        index = min(index, self._longest)
        if index not in self._items:
            self._items[index] = self._applying(index)
        return self._items[index]

    def _applying(self, index: int) -> Conjunction | None:
        applying: list[Subschema] = []
        owners: dict[int, Subschema] = {}
        for sub in self.subs:
            leading, rest = prefix(sub), rest_of_items(sub)
            if index < len(leading):
                applying.append(sub.below(leading[index], prefix_keyword(sub), index))
            elif rest is not None:
                applying.append(sub.below(*rest))
            if sub.draft >= 2019 and "unevaluatedItems" in cast("dict[str, Any]", sub.schema):
                owners[id(sub.schema)] = sub
        for owner, sub in owners.items():
            group = [each for each in self.subs if each is sub or owner in each.owners]
            if any(evaluates_item(each, index, owner) for each in group):
                continue
            allowed = [sub.below(sub.keyword("unevaluatedItems"), "unevaluatedItems")]
            allowed += [
                each.below(each.keyword("contains"), "contains")
                for each in group if each.draft >= 2020 and has_contains(each)
            ]  # fmt: skip
            applying.append(self._ask.either(allowed) if len(allowed) > 1 else allowed[0])
        return conjunction(tuple(applying))

    def after(self, state: State, suits: bool, hits: list[bool]) -> State:
        """The state after an item."""
        if not suits or state is DEAD:
            return DEAD
        index, counts = state
        if self.maximum is not None and index >= self.maximum:
            return DEAD
        grown: list[int] = []
        for count, hit, (_, low, high) in zip(counts, hits, self.contains, strict=True):
            count += hit
            if high is not None and count > high:
                return DEAD
            grown.append(min(count, low) if high is None else count)
        return (min(index + 1, self._cap), tuple(grown))

    def ends(self, state: State) -> bool:
        """Whether the condition holds if the array ends in a state."""
        index, counts = state
        return index >= self.minimum and all(
            count >= low for count, (_, low, _) in zip(counts, self.contains, strict=True)
        )

    def is_settled(self, state: State) -> bool:
        """Whether it holds whatever comes."""
        index, _ = state
        if self.maximum is not None or not self.ends(state) or self.unique:
            return False
        if any(high is not None for _, _, high in self.contains):
            return False
        return all(self.item(k) == () for k in range(index, max(index, self._longest) + 1))


class ObjectLeaf:
    """Plain keyword mappings as a condition on an object; a state is ``(missing, count)``.

    ``missing`` is the set of required members still to come, one of `bits` each.
    """

    def __init__(self, ask: LetterQuestions, subs: Conjunction) -> None:
        self._ask = ask
        self.subs = subs
        self.minimum, self.maximum = bounds(subs, "minProperties", "maxProperties")
        required: dict[str, None] = {}
        for sub in subs:
            needed = sub.keyword("required")
            for name in cast("list[str]", needed) if isinstance(needed, list) else ():
                required.setdefault(name)
        self.bits = {name: 1 << k for k, name in enumerate(required)}
        self.names = [
            sub.below(cast("Schema", names), "propertyNames")
            for sub in subs
            if isinstance(names := sub.keyword("propertyNames"), bool | dict) and sub.draft >= 6
        ]
        self.counted = self.maximum is not None or self.minimum > len(self.bits)
        self._cap = max(self.minimum, 0 if self.maximum is None else self.maximum + 1)
        self._members: dict[object, Conjunction | None] = {}
        self._first = subs[0].words if subs else {}
        self._allowed: Strings | None = None

    @property
    def allowed(self) -> Strings | None:
        """The names that ``propertyNames`` allows; ``None`` for all."""
        if self.names and self._allowed is None:
            self._allowed = self._ask.strings(Wanted(tuple(self.names)))
        return self._allowed

    def begin(self) -> State:
        """The state before the first member."""
        return ((1 << len(self.bits)) - 1, 0)

    def member(self, name: str | None, kind: OtherNames | None) -> Conjunction | None:
        """The subschemas of a member; ``None`` if there can be none."""
        key = name if kind is None else kind.number
        if key not in self._members:
            self._members[key] = self.applying(name, kind)
        return self._members[key]

    def only(self, name: str) -> int | None:
        """The id of the schema of a member, if evidently only one applies; else ``None``."""
        if len(self.subs) != 1 or self.names or not _BESIDE.isdisjoint(self._first):
            return None
        part = self._first.get("properties", {}).get(name)
        return id(cast("object", part)) if isinstance(part, dict) else None

    def applying(self, name: str | None, kind: OtherNames | None) -> Conjunction | None:
        """The same as `member`, without its cache."""
        if self.names:
            allowed = kind.allowed.get(id(self)) if kind is not None else None
            if kind is None:
                allowed = any(part.holds(cast("str", name)) for part in self.allowed or ())
            if not allowed:
                return None
        applying: list[Subschema] = []
        evaluated_by: list[Subschema] = []
        owners: dict[int, Subschema] = {}
        for sub in self.subs:
            schema = sub.words
            known = False
            if name is not None and name in schema.get("properties", ()):
                applying.append(sub.below(schema["properties"][name], "properties", name))
                known = True
            for pattern, part in schema.get("patternProperties", _NO_PARTS).items():
                hit = (
                    pattern in kind.matched if kind is not None
                    else self._ask.matches(sub, pattern, cast("str", name))
                )  # fmt: skip
                if hit:
                    applying.append(sub.below(part, "patternProperties", pattern))
                    known = True
            additional = None if known else sub.schema_at("additionalProperties")
            if additional is not None:
                applying.append(sub.below(additional, "additionalProperties"))
                known = True
            if known:
                evaluated_by.append(sub)
            if sub.draft >= 2019 and "unevaluatedProperties" in schema:
                owners[id(schema)] = sub
        for owner, sub in owners.items():
            inside = [each for each in self.subs if each is not sub and owner in each.owners]
            done = any(each is sub or owner in each.owners for each in evaluated_by)
            # A nested unevaluatedProperties evaluates all remaining members.
            done = done or any(id(each.schema) in owners for each in inside)
            if not done:
                part = cast("Schema", sub.keyword("unevaluatedProperties"))
                applying.append(sub.below(part, "unevaluatedProperties"))
        return conjunction(tuple(applying))

    def after(self, state: State, name: str | None, suits: bool) -> State:
        """The state after a member."""
        if not suits or state is DEAD:
            return DEAD
        missing, count = state
        if self.maximum is not None and count >= self.maximum:
            return DEAD
        if name is not None:
            missing &= ~self.bits.get(name, 0)
        return (missing, min(count + 1, self._cap) if self.counted else 0)

    def ends(self, state: State) -> bool:
        """Whether the condition holds if the object ends in a state."""
        missing, count = state
        return not missing and (not self.counted or count >= self.minimum)

    def is_settled(self, state: State) -> bool:
        """Whether it holds whatever comes."""
        if self.maximum is not None or not self.ends(state) or self.names:
            return False
        return not any(word in sub.words for sub in self.subs for word in _ABOUT_MEMBERS)

    def from_here(
        self, state: State, came: int, names: Sequence[str], kinds: Sequence[OtherNames]
    ) -> State:
        """The state where it is known which names may still come.

        Args:
            came: Bits of the required members that cannot come any more.
            names, kinds: The names that may come, those of the schema and the others.
        """
        if state is DEAD or state[0] & came:
            return DEAD
        if self.maximum is not None or not self.ends(state) or self.names:
            return state
        if any(self.member(None, kind) != () for kind in kinds):
            return state
        return state if any(self.member(name, None) != () for name in names) else SETTLED


def too_many_sets(
    number: int, what: str = "members of an object", most: int | None = None
) -> BudgetExceeded:
    """The error for a container that would need a state for each set of members or items."""
    sets = 0
    for k in range(1 + (number if most is None else min(most, number))):
        sets += comb(number, k)
        if sets > MOST_CONTROLS:
            break
    error = BudgetExceeded(
        "states", limit=MOST_CONTROLS, reached=sets,
        stage=f"Remembering which of {number} {what} came, in any order,",
    )  # fmt: skip
    less = 'property_order="schema"' if most is None else "maxItems"
    error.remedy = (
        f"Give {less}, or leave out lazy=False: a machine that discovers its states remembers only "
        "the sets that a text comes to."
    )
    error.args = (f"{error.message} {error.remedy}",)
    return error
