"""String literals with a bounded length: a machine in layers, one for each character that was read.

A language of texts with bounds on its length is a product of two machines. Where that is large, it
is not built over texts and then respelled, but from copies of the machine of literals: each arc
that completes a character leads one layer up. States that cannot reach an end are left out.
"""

from __future__ import annotations

import numpy as np

from explorer.automata.machine import Bool, Int32, Nfa


def in_layers(literals: Nfa, inside: list[int], low: int, high: int) -> Nfa:
    """The literals of ``low`` to ``high`` characters.

    Args:
        literals: String literals, quotes included, without ε-arcs.
        inside: The states between the quotes that are not within an escape.
        low, high: The fewest and the most characters.
    """
    count = literals.num_states
    between = np.zeros(count, np.bool_)
    between[inside] = True
    # States within a character read only continuation bytes.
    begins = np.zeros(count, np.bool_)
    begins[literals.arcs[(literals.arcs[:, 1] < 0x80) | (literals.arcs[:, 2] >= 0xC0), 0]] = True
    between &= begins
    last = np.zeros(count, np.bool_)
    last[literals.accepting] = True
    source, _, _, target = literals.arcs.T
    up = between[target] & (source != literals.start)
    within, rising = literals.arcs[~up], literals.arcs[up]

    def grown(here: Bool, arcs: Int32, side: int) -> Bool:
        """The states of a layer from which, or to which, arcs inside it lead."""
        while True:
            more = here.copy()
            more[arcs[here[arcs[:, 3 - side]], side]] = True
            if (more == here).all():
                return here
            here = more

    lives: list[Bool] = []
    above = np.zeros(count, np.bool_)
    for layer in range(high, -1, -1):
        here = last.copy() if layer >= low else np.zeros(count, np.bool_)
        here[rising[above[rising[:, 3]], 0]] = True
        above = grown(here, within, 0)
        lives.append(above)
    lives.reverse()
    met = np.zeros(count, np.bool_)
    met[literals.start] = True
    rows: list[Int32] = []
    ends: list[Int32] = []
    for layer, alive in enumerate(lives):
        met = grown(met & alive, within[alive[within[:, 3]]], 3) & alive
        shift = layer * count
        kept = within[met[within[:, 0]] & met[within[:, 3]]]
        rows.append(kept + np.array([shift, 0, 0, shift], np.int32))
        ends.append(np.flatnonzero(met & last).astype(np.int32) + shift)
        following = np.zeros(count, np.bool_)
        if layer < high:
            kept = rising[met[rising[:, 0]] & lives[layer + 1][rising[:, 3]]]
            rows.append(kept + np.array([shift, 0, 0, shift + count], np.int32))
            following[kept[:, 3]] = True
        met = following
    arcs = np.concatenate(rows)
    used = np.unique(np.concatenate([[literals.start], arcs[:, 0], arcs[:, 3]]))
    arcs[:, 0] = np.searchsorted(used, arcs[:, 0])
    arcs[:, 3] = np.searchsorted(used, arcs[:, 3])
    ended = np.searchsorted(used, np.intersect1d(np.concatenate(ends), used)).astype(np.int32)
    start = int(np.searchsorted(used, literals.start))
    return Nfa(len(used), start, arcs.astype(np.int32), literals.epsilons, ended)
