"""A packet after a change, as the page has it: the same as ``patched`` in ``static``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from widgets.figures.packets import Change


def changed(before: object, step: Change) -> object:
    """A value after a change; the value itself is left as it is."""
    if "=" in step:
        return step["="]
    if "<" in step:
        return [*cast("list[object]", before)[: step["<"]], *step[">"]]
    if "@" in step:
        made = list(cast("list[object]", before))
        for place, inner in step["@"].items():
            made[int(place)] = changed(made[int(place)], inner)
        return made
    if not step:
        return before
    entries = dict(cast("Mapping[str, object]", before))
    for key in step.get("-", ()):
        del entries[key]
    for key, inner in step.get("~", {}).items():
        entries[key] = changed(entries.get(key), inner)
    return entries
