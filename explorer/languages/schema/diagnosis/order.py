"""The order in which the members of a text come, as one order of names for all of its objects.

In any order of members, a schema has a state for each set of names that came. One text comes in one
order, and with its names first in that order the schema takes it if it takes it in any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from explorer.languages.schema.reading.text import Level, Step, is_whole, steps_to, tokens


def order_of(
    text: bytes, known: Callable[[Sequence[Step]], Iterable[str]]
) -> tuple[str, ...] | None:
    """The names of a text in one order in which each of its objects has them.

    Args:
        text: The beginning of a JSON text.
        known: Gives the names that the schema has for the members of a value, by the way to it.

    Returns:
        ``None`` if there is no such order, a name comes twice in an object, or one holds an
        escape.

    Example:
        >>> order_of(b'{"b":1,"a":2,"x', lambda _: ["xy"])
        ('b', 'a', 'x', 'xy')
        >>> order_of(b'[{"b":1,"a":2},{"a":1,"b":2}]', lambda _: []) is None
        True
    """
    objects: dict[int, tuple[Level, list[str]]] = {}
    stack: list[Level] = []
    for token, _, stack in tokens(text.decode(errors="replace")):
        if stack and stack[-1].awaits_name and token[0] == '"':
            names = objects.setdefault(id(stack[-1]), (stack[-1], []))[1]
            if "\\" in token:
                return None  # Of listed names, only those of the schema are written so.
            if is_whole(token):
                names.append(stack[-1].key)
            else:
                begun = token[1:]
                alike = (each for each in known(steps_to(stack[:-1])) if each.startswith(begun))
                names += [begun, *(each for each in alike if each not in (begun, *names))]
    every = dict.fromkeys(name for _, names in objects.values() for name in names)
    before: dict[str, dict[str, None]] = {name: {} for name in every}
    for level, names in objects.values():
        if len(set(names)) < len(names):
            return None
        for one, other in pairwise(names):
            before[other][one] = None
        around = [k for k, each in enumerate(stack) if each is level]
        if around:  # The others may still come.
            for other in known(steps_to(stack[: around[0]])):
                if other not in every or other in names:
                    continue
                before[other][names[-1]] = None
    try:
        return tuple(TopologicalSorter(before).static_order())
    except CycleError:
        return None
