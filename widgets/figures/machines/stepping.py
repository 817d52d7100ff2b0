"""The table of a token DFA for a page without a kernel, which then steps along any tokens.

The record of a run has the positions that were visited. With the table, the classes of the tokens
and the machine over bytes the page works out the mask, the path and a short reason at every other
one (``static/table_kernel.js``). The probabilities of the model and everything that needs a search
or a layout stay those of the record.

Cost: some thousand states are a few hundred kilobytes and take a second.
"""

from __future__ import annotations

import base64
import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import whole_table
from explorer.decoding.trace.trace import Trace
from explorer.tokens.machine import TokenMachine, filtered_of, table_of
from widgets.figures.drawing.labels import ranges_label
from widgets.figures.machines.arcs import state_names
from widgets.figures.machines.character_fsa import character_view, expects

MOST_STATES: Final = 4_000
"""The most states of either machine, over tokens or over bytes."""

MOST_BYTES: Final = 400_000
"""The most bytes of the two tables when they are compressed."""

Packet = dict[str, object]


def stepping_packet(machine: TokenMachine, trace: Trace) -> Packet | None:
    """The table as data for the page.

    Args:
        machine: The token machine of the trace.
        trace: The record; with a token budget in its masks, a state does not decide alone.

    Returns:
        Plain values for JSON. ``cells``: the next state of each state and token class, ``moves``:
        of each byte state and byte class, ``symbols``: the class of each byte. ``names``: the node
        of each token state, ``chars``: its byte state. Of each byte state ``expects`` in words,
        ``ends``, and ``arcs`` (target and label of the characters), ``None`` within a character.
        ``None`` if the machine has no table, if it also reads the ends of tokens, or if it is too
        large.

    Example:
        >>> from explorer.analysis.session import Session
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> session = Session(ToyModel(), toy_constraint())
        >>> packet = stepping_packet(session.machine, session.trace)
        >>> packet["names"], packet["expects"][3], packet["arcs"][3]
        (['q0', 'q1', 'q3', 'q4'], 'd or f', [[4, 'd'], [1, 'f']])
    """
    table, byte_machine = table_of(machine), whole_table(machine.byte_machine)
    if table is None or byte_machine is None or byte_machine.over_tokens:
        return None
    if trace.max_tokens is not None and trace.masking_budget:
        return None
    if max(table.num_states, byte_machine.num_states) > MOST_STATES:
        return None
    cells, moves = _deflated(table.table), _deflated(byte_machine.table)
    if len(cells) + len(moves) > MOST_BYTES:
        return None
    view = character_view(machine)
    arcs: list[list[list[object]] | None] = []
    for state in range(byte_machine.num_states):
        targets: dict[int, list[tuple[int, int]]] = {}
        for low, high, target in view.arcs.get(state, ()):
            targets.setdefault(target, []).append((low, high))
        labelled: list[list[object]] = [[to, ranges_label(of)] for to, of in targets.items()]
        arcs.append(labelled if view.between(state) else None)
    states = range(byte_machine.num_states)
    return {
        "cells": base64.b64encode(cells).decode("ascii"),
        "moves": base64.b64encode(moves).decode("ascii"),
        "symbols": byte_machine.symbol_class[:256].tolist(),
        "start": table.start,
        "first": byte_machine.start,
        "names": list(state_names(machine)),
        "chars": table.char_state.tolist(),
        "arcs": arcs,
        "expects": [expects(machine, state) for state in states],
        "ends": byte_machine.accepting.astype(int).tolist(),
        "filtered": filtered_of(machine) is not None,
    }


def _deflated(table: NDArray[np.integer]) -> bytes:
    return zlib.compress(np.ascontiguousarray(table, "<i4").tobytes(), 9)
