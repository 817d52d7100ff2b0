"""How deep values may go: nested references, and values that no schema describes."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from explorer.automata.schema.building.making import Depth, Making
from explorer.automata.schema.building.places import SchemaPlace
from explorer.automata.schema.reading.cases import in_place
from explorer.automata.schema.reading.subschemas import Subschema


class Deepening:
    """The depth that is left inside of arrays and objects.

    Args:
        making: The compiler.
        endless: Whether references of recursive schemas lead on without end.
    """

    def __init__(self, making: Making, *, endless: bool = False) -> None:
        self._making = making
        self._endless = endless
        self._recursive: dict[object, bool] = {}

    def followed(self, depth: Depth, subs: tuple[Subschema, ...]) -> tuple[Subschema, ...]:
        """The subschemas that still say something of a container at this depth."""
        if not depth.beyond or depth.recursion:
            return subs
        return tuple(sub for sub in subs if not (sub.referenced and self._is_recursive(sub)))

    def inside(
        self, depth: Depth, kind: Literal["objects", "arrays"], subs: tuple[Subschema, ...]
    ) -> Depth | None:
        """The depth inside a container; ``None`` if nothing may be inside."""
        depth = depth.entered()
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

    def comes_back(self, subs: tuple[Subschema, ...]) -> bool:
        """Whether some reference leads from here to a schema that may hold one like it.

        Args:
            subs: What applies at a place.
        """
        seen: set[object] = set()
        todo = list(subs)
        while todo:
            sub = todo.pop()
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
        key = (id(sub.schema), sub.key[1])
        if key not in self._recursive:
            seen: set[object] = set()
            todo = list(self._below(sub))
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
                    todo += self._below(below)
                    todo += in_place(below)
        return self._recursive[key]

    def _below(self, sub: Subschema) -> list[Subschema]:
        place = SchemaPlace(self._making, [sub])
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
