"""Other engines at the positions of one machine; the last few answers are kept.

They run on threads, without the cursor's lock: an engine may take seconds, and steps do not wait.
"""

from __future__ import annotations

import threading
from typing import Final

from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from explorer.witnesses.answers import Witness

MOST_WITNESSES: Final = 8
"""The number of positions for which masks of other engines are kept."""

WITNESS_SECONDS: Final = 10.0
"""The most seconds for another engine per position."""


class OtherEngines:
    """The answers of other engines at positions of a machine."""

    def __init__(self, machine: TokenMachine) -> None:
        self._machine = machine
        self._lock = threading.Lock()
        self._known: dict[tuple[int, ...], Witness] = {}

    def after(self, constraint: Constraint, prefix: tuple[int, ...]) -> Witness:
        """The witness after some tokens.

        Raises:
            ConstraintError: The constraint is of a kind that no other engine reads.
        """
        with self._lock:
            known = self._known.get(prefix)
        if known is None:
            from explorer.witnesses.engines import ENGINES
            from explorer.witnesses.witness import witness_of

            known = witness_of(self._machine, constraint, prefix, tuple(ENGINES), WITNESS_SECONDS)
            with self._lock:
                self._known[prefix] = known
                while len(self._known) > MOST_WITNESSES:
                    self._known.pop(next(iter(self._known)))
        return known
