"""Constraint sources as plain mappings, for files and messages, and back.

Only known node kinds are read; an imported machine is stored as its arrays beside the tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from explorer.automata.source import (
    Choice,
    Complement,
    Concatenation,
    Difference,
    Imported,
    Intersection,
    Regex,
    Repetition,
    Source,
    Union,
)
from explorer.automata.validate import checked_dfa
from explorer.errors import DamagedFile


def source_to_dict(source: Source) -> dict[str, object]:
    """A mapping of strings, numbers, lists and mappings that `source_from_dict` reads."""
    match source:
        case Regex(pattern):
            return {"kind": "regex", "pattern": pattern}
        case Choice(texts):
            return {"kind": "choice", "texts": list(texts)}
        case Imported(origin, machine):
            return {
                "kind": "imported",
                "origin": origin,
                "symbol_class": machine.symbol_class.tolist(),
                "table": machine.table.tolist(),
                "accepting": machine.accepting.tolist(),
                "start": machine.start,
            }
        case Union(parts):
            return {"kind": "union", "parts": [source_to_dict(part) for part in parts]}
        case Concatenation(parts):
            return {"kind": "concatenation", "parts": [source_to_dict(part) for part in parts]}
        case Intersection(left, right):
            return {"kind": "intersection", "parts": [source_to_dict(left), source_to_dict(right)]}
        case Difference(left, right):
            return {"kind": "difference", "parts": [source_to_dict(left), source_to_dict(right)]}
        case Complement(part):
            return {"kind": "complement", "parts": [source_to_dict(part)]}
        case Repetition(part, minimum, unbounded):
            return {
                "kind": "repetition",
                "parts": [source_to_dict(part)],
                "minimum": minimum,
                "unbounded": unbounded,
            }


def source_from_dict(data: Mapping[str, object]) -> Source:
    """The source tree of a mapping.

    Raises:
        DamagedFile: The mapping is of an unknown kind or misses a part.
        RegexError: A stored pattern is no pattern.
    """
    kind = data.get("kind")
    parts = [
        source_from_dict(part) for part in cast("list[Mapping[str, object]]", data.get("parts", []))
    ]
    match kind, parts:
        case "regex", []:
            return Regex(str(data["pattern"]))
        case "choice", []:
            return Choice(tuple(str(text) for text in cast("list[str]", data["texts"])))
        case "imported", []:
            machine = checked_dfa(
                data["symbol_class"], data["table"], data["accepting"], data["start"]
            )
            return Imported(str(data["origin"]), machine)
        case "union", [_, *_]:
            return Union(tuple(parts))
        case "concatenation", [_, *_]:
            return Concatenation(tuple(parts))
        case "intersection", [left, right]:
            return Intersection(left, right)
        case "difference", [left, right]:
            return Difference(left, right)
        case "complement", [part]:
            return Complement(part)
        case "repetition", [part]:
            return Repetition(part, int(cast("int", data["minimum"])), bool(data["unbounded"]))
        case _:
            raise DamagedFile(
                f"A constraint of kind {kind!r} with {len(parts)} parts is not known.",
                remedy="Use the release that wrote it, or write the constraint again.",
            )
