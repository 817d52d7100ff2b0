"""The depth of values: nested recursive references, and values that no schema describes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from explorer.automata.rules.pieces import components
from explorer.languages.schema.reading.cases import in_place
from explorer.languages.schema.reading.keywords import check_well_formed
from explorer.languages.schema.reading.subschemas import Subschema
from explorer.languages.schema.values.places import Placing


@dataclass(frozen=True, slots=True)
class Depth:
    """The depth to which values may still nest.

    Args:
        recursion: How many more references of recursive schemas may be followed inside each other.
        objects, arrays: How deep objects and arrays may nest in a value that no schema describes.
        total: How deep both together may nest there.
    """

    recursion: int
    objects: int
    arrays: int
    total: int


ENDLESS: Final = Depth(1, 1, 1, 1)
"""The depth to give where values nest without limit."""


class Deepening:
    """The depth that is left inside arrays and objects."""

    def __init__(self, making: Placing, *, endless: bool = False) -> None:
        self._making = making
        self._endless = endless
        self._recursive: dict[object, bool] = {}

    def inside(
        self, depth: Depth, kind: Literal["objects", "arrays"], subs: tuple[Subschema, ...]
    ) -> Depth | None:
        """The depth inside a container; ``None`` if nothing may be inside."""
        if self._endless and subs:
            return depth
        if any(sub.referenced and self._is_recursive(sub) for sub in subs):
            if depth.recursion == 0:
                return None
            return replace(depth, recursion=depth.recursion - 1)
        if any(sub.schema for sub in subs):
            return depth
        left = getattr(depth, kind)
        if left == 0 or depth.total == 0:
            return None
        return replace(depth, total=depth.total - 1, **{kind: left - 1})

    def leads_back(self, sub: Subschema) -> bool:
        """Whether a subschema leads to a recursive one."""
        self._is_recursive(sub)
        return any(self._recursive.values())

    @property
    def known(self) -> int:
        """The number of subschemas whose recursion is decided."""
        return len(self._recursive)

    def comes_back(self, subs: tuple[Subschema, ...]) -> bool:
        """Whether some reference among these subschemas leads to a recursive schema."""
        seen: set[object] = set()
        todo = list(subs)
        while todo:
            sub = todo.pop()
            self._making.meter.check_time("The machine of a schema")
            if sub.key in seen or not isinstance(sub.schema, dict):
                continue
            seen.add(sub.key)
            if sub.referenced and self._is_recursive(sub):
                return True
            todo += in_place(sub)
        return False

    def _is_recursive(self, sub: Subschema) -> bool:
        """Whether a value of a subschema may hold a value of the same subschema."""
        sub = self._making.whole(sub)
        key = _key(sub)
        if key not in self._recursive:
            self._explore(sub)
        return self._recursive[key]

    def _explore(self, first: Subschema) -> None:
        """Decide in one walk whether a subschema and all that it leads to are recursive.

        A subschema is recursive if it lies on a cycle with a step into a value, that is, if its
        strongly connected component has such a step inside. Subschemas decided before lead only to
        decided ones, so no cycle joins them with new ones.
        """
        number: dict[object, int] = {_key(first): 0}
        waiting = [first]
        following: list[list[int]] = []
        inward: list[list[int]] = []
        for sub in waiting:  # The list grows while it is read.
            self._making.meter.check("The machine of a schema", states=len(waiting))
            if isinstance(sub.schema, dict):
                check_well_formed(sub.schema, sub.pointer, sub.draft)
            steps: list[list[int]] = []
            for targets in (self._making.also_in_place(sub), _inside(sub)):
                steps.append([])
                for target in targets:
                    key = _key(target)
                    if key in self._recursive or not isinstance(target.schema, dict):
                        continue
                    if key not in number:
                        number[key] = len(waiting)
                        waiting.append(target)
                    steps[-1].append(number[key])
            following.append(steps[0] + steps[1])
            inward.append(steps[1])
        keys = list(number)
        component = [0] * len(keys)
        circles = components(following)
        for name, circle in enumerate(circles):
            for one in circle:
                component[one] = name
        for circle in circles:
            closed = any(component[to] == component[one] for one in circle for to in inward[one])
            for one in circle:
                self._recursive[keys[one]] = closed


def _key(sub: Subschema) -> tuple[int, str]:
    return id(sub.schema), sub.key[1]


def _inside(sub: Subschema) -> list[Subschema]:
    """The subschemas of the members and items of a subschema."""
    inside: list[Subschema] = []
    for keyword in ("properties", "patternProperties"):
        inside += [sub.below(p, keyword, n) for n, p in sub.named_at(keyword).items()]
    for keyword in ("prefixItems", "items"):
        parts = sub.schemas_at(keyword)
        inside += [sub.below(p, keyword, k) for k, p in enumerate(parts)]
    for keyword in (
        "items", "additionalItems", "contains", "unevaluatedItems", "additionalProperties",
        "unevaluatedProperties",
    ):  # fmt: skip
        if (single := sub.schema_at(keyword)) is not None:
            inside.append(sub.below(single, keyword))
    return inside
