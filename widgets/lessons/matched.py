"""Whether two small machines are the same, state by state and arc by arc.

Only the numbers of the states may differ. It is stricter than to accept the same texts: a machine
that accepts the same with one more state is another one.
"""

from __future__ import annotations

from explorer.languages.stages.stage import DrawnTransducer

Match = dict[int, int]
"""For each state of one machine, the state of the other."""


def matched(one: DrawnTransducer, other: DrawnTransducer) -> Match | None:
    """The states of two machines that correspond; ``None`` if there is no such pairing.

    Args:
        one, other: Machines of a few states.

    Returns:
        A pairing of all states, in which the starts, the accepting states and all arcs with their
        labels correspond.

    Example:
        >>> ab = DrawnTransducer(2, ((0, "a", "a", 1), (1, "b", "b", 0)), frozenset([1]))
        >>> matched(ab, ab)
        {0: 0, 1: 1}
        >>> matched(ab, DrawnTransducer(2, ((0, "a", "a", 1),), frozenset([1]))) is None
        True
    """
    if one.num_states != other.num_states or len(one.arcs) != len(other.arcs):
        return None
    return _extended(one, other, {0: 0}) if one.num_states else {}


def _extended(one: DrawnTransducer, other: DrawnTransducer, pairs: Match) -> Match | None:
    """A pairing of all states that holds the given pairs, found by trying."""
    if not _fits(one, other, pairs):
        return None
    if len(pairs) == one.num_states:
        return pairs
    state = min(k for k in range(one.num_states) if k not in pairs)
    for image in range(other.num_states):
        if image not in pairs.values():
            found = _extended(one, other, {**pairs, state: image})
            if found is not None:
                return dict(sorted(found.items()))
    return None


def _fits(one: DrawnTransducer, other: DrawnTransducer, pairs: Match) -> bool:
    """Whether the paired states have the same arcs among each other, and the same ends."""
    if any((k in one.accepting) != (image in other.accepting) for k, image in pairs.items()):
        return False
    back = {image: k for k, image in pairs.items()}
    inner = sorted(
        (pairs[a], read, written, pairs[b])
        for a, read, written, b in one.arcs
        if a in pairs and b in pairs
    )
    images = sorted(arc for arc in other.arcs if arc[0] in back and arc[3] in back)
    return inner == images
