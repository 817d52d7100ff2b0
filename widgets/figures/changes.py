"""The differences between two packets, so that a step of a long run sends only that step.

A packet is plain JSON. Its difference to the packet before is a packet too: of a mapping the
entries that changed, of a list the length of the beginning that stayed and what follows it. A line
of a thousand tokens and one more is then a few hundred bytes. Nothing is assumed about how packets
change; a jump, an edit or another line is only a larger difference. The page has the same function
as `patched` (``static/page_reading.js``).

Cost: one comparison of the two, where parts that are the same object are not looked into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

Change = dict[str, Any]
"""One of: ``{"=": value}``, a value in place of another; ``{"~": {key: change}, "-": [keys]}``,
entries of a mapping that changed and those that are gone; ``{"<": n, ">": [values]}``, the first n
of a list and what follows them; ``{"@": {index: change}}``, places of a list that keeps its length.
Empty if nothing changed."""


def change(before: object, after: object) -> Change:
    """The difference that leads from one value to another.

    Args:
        before, after: Plain values for JSON.

    Returns:
        A difference with which `patched`, on the page, turns ``before`` into ``after``.

    Example:
        >>> change({"k": 1, "ids": [7, 8]}, {"k": 2, "ids": [7, 8, 9]})
        {'~': {'k': {'=': 2}, 'ids': {'<': 2, '>': [9]}}}
        >>> change([1, 2], [1, 2])
        {}
    """
    if before is after:
        return {}
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return _of_mappings(
            cast("Mapping[str, object]", before), cast("Mapping[str, object]", after)
        )
    if isinstance(before, list) and isinstance(after, list):
        return _of_lists(cast("list[object]", before), cast("list[object]", after))
    # 1, 1.0 and True are equal in Python and not in JSON.
    same = type(before) is type(after) and before == after  # pyright: ignore[reportUnknownArgumentType]
    return {} if same else {"=": after}


def _of_mappings(before: Mapping[str, object], after: Mapping[str, object]) -> Change:
    found: Change = {}
    gone = [key for key in before if key not in after]
    entries: dict[str, Change] = {}
    for key, value in after.items():
        if key not in before:
            entries[key] = {"=": value}
        elif step := change(before[key], value):
            entries[key] = step
    if entries:
        found["~"] = entries
    if gone:
        found["-"] = gone
    return found


def _of_lists(before: list[object], after: list[object]) -> Change:
    same = 0
    for one, other in zip(before, after, strict=False):
        if one is not other and change(one, other):
            break
        same += 1
    if same == len(before) == len(after):
        return {}
    if len(before) == len(after):
        places = {
            str(k): step
            for k in range(same, len(after))
            if (step := change(before[k], after[k])) != {}
        }
        inside = all("=" not in step for step in places.values())
        if inside:
            return {"@": places}
    return {"<": same, ">": after[same:]}
