"""Valid UTF-8 as a machine: the meaning of "any text", and the universe of complements.

The well-formed byte sequences of the Unicode Standard, table 3-7: no overlong forms, no
surrogates, nothing above U+10FFFF.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from explorer.automata.construction.operations import minimal_dfa
from explorer.automata.machine import Dfa, Nfa
from explorer.budget import Meter

# The rows of table 3-7: the byte ranges of each length and lead byte.
WELL_FORMED: Final = (
    ((0x00, 0x7F),),
    ((0xC2, 0xDF), (0x80, 0xBF)),
    ((0xE0, 0xE0), (0xA0, 0xBF), (0x80, 0xBF)),
    ((0xE1, 0xEC), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xED, 0xED), (0x80, 0x9F), (0x80, 0xBF)),
    ((0xEE, 0xEF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF0, 0xF0), (0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF1, 0xF3), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF4, 0xF4), (0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF)),
)


@cache
def any_text() -> Dfa:
    """The minimal machine of all valid UTF-8 byte strings, the empty one included.

    Example:
        >>> any_text().accepts("ä🙂".encode()), any_text().accepts(b"\\xc3")
        (True, False)
    """
    arcs: list[tuple[int, int, int, int]] = []
    states = 1
    for row in WELL_FORMED:
        here = 0
        for k, (low, high) in enumerate(row):
            there = 0 if k == len(row) - 1 else states
            states += there != 0
            arcs.append((here, low, high, there))
            here = there
    nfa = Nfa(
        states, 0, np.array(arcs, np.int32), np.empty((0, 2), np.int32), np.zeros(1, np.int32)
    )
    return minimal_dfa(nfa, Meter())
