"""The phases of a run for the page: the small machine with the present one lit, and the bands.

A *band* is a run of tokens of one phase; a token that crosses a border belongs to the phase in
which it begins.
"""

from __future__ import annotations

from itertools import groupby

from explorer.alphabet import letter
from explorer.decoding.trace.trace import Trace
from explorer.languages.phases.followed import PartNet, phase_net
from widgets.figures.told import Phases

JOINED = " › "
"""The separator between the names of nested phases."""


def phases_packet(trace: Trace, since: int = 0) -> Phases | None:
    """The phases of a trace; ``None`` if its constraint has none.

    Returns:
        Plain values for JSON: ``bands``, rows ``[name, first token, token after the last, role]``
        with an empty name between phases; ``machine``, the phases in the order of the tree, each
        with its ``name``, its ``role`` and the numbers of the phases that may come ``next``, -1 for
        the end; and ``alive``, for each position from ``since`` on the numbers of the phases in
        which the text may go on.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
        >>> turns = explorer.phases(("one", explorer.regex("a+")), ("two", "b"))
        >>> packet = phases_packet(explorer.Session.from_ids(vocab, turns, [0, 0, 1]).trace)
        >>> packet["bands"], packet["alive"]
        ([['one', 0, 2, ''], ['two', 2, 3, '']], [[0], [0, 1], [0, 1], []])
        >>> packet["machine"][0]
        {'name': 'one', 'role': '', 'next': [1]}
    """
    constraint = trace.constraint
    if constraint is None or not constraint.source.phased:
        return None
    net = phase_net(constraint.source)
    names, number, following = _machine(net)
    written = b""
    alive: list[list[int]] = []
    special = trace.tokens.special
    for k in range(len(trace.positions)):
        if k >= since:
            pieces = () if trace.positions[k].finished else net.alive(written)
            alive.append(sorted({number[piece] for piece in pieces} - {-1}))
        if k < len(trace.steps):
            step = trace.steps[k]
            if step.token not in trace.tokens.eos_ids:
                written += step.data or letter(special.get(step.token, ""), step.token)
    keyed = [(JOINED.join(p), s.role) for p, s in zip(trace.phases, trace.steps, strict=True)]
    bands: list[list[object]] = []
    for (name, role), group in groupby(range(len(keyed)), key=keyed.__getitem__):
        inside = [*group]
        bands.append([name, inside[0], inside[-1] + 1, role])
    machine: list[dict[str, object]] = [
        {"name": name, "role": role, "next": sorted(following[k])}
        for k, (name, role) in enumerate(names)
    ]
    return {"bands": bands, "machine": machine, "alive": alive}


def _machine(
    net: PartNet,
) -> tuple[list[tuple[str, str]], dict[int, int], list[set[int]]]:
    """The phases by name and role, the number of the phase of each piece (-1 between phases), and
    the phases that may follow each.
    """
    names: list[tuple[str, str]] = []
    number: dict[int, int] = {}
    for k, piece in enumerate(net.pieces):
        path = net.names(piece.phases)
        key = JOINED.join(path), net.role(k)
        if path and key not in names:
            names.append(key)
        number[k] = names.index(key) if path else -1
    follows = [*map(net.following, range(len(net.pieces)))]
    following: list[set[int]] = [set() for _ in names]
    for k in range(len(net.pieces)):
        if number[k] < 0:
            continue
        seen: set[int] = set()
        waiting = [*follows[k]]
        for other in waiting:  # Text between two phases is passed over.
            if other in seen:
                continue
            seen.add(other)
            if other >= 0 and number[other] < 0:
                waiting += follows[other]
            elif other < 0 or number[other] != number[k]:
                following[number[k]].add(other if other < 0 else number[other])
    return names, number, following
