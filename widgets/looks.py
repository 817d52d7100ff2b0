"""Looks ahead for a page: without a request while they are quick, else on request.

The bars and the traps of a page need the same look at the same time, and a page that went back
needs it again; so the last answer is kept. The cursor's lock is not held meanwhile, so a click does
not wait. But a forward pass takes processor time, so after two looks in a row that took longer than
`QUIET_SECONDS` a look is taken only on request. A single slow look proves little: the first one in
a process loads machine code, and other processes may be busy.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from explorer.analysis.ahead import Ahead
from explorer.analysis.session import Session
from explorer.analysis.traps import Trap
from widgets.figures.panels.ahead import ahead_packet

QUIET_SECONDS: Final = 0.5


class Looks:
    """The last look ahead with one machine and model, and the time of the faster of the last two.

    Example:
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> looks, session = Looks(), Session(ToyModel(), toy_constraint())
        >>> [entry.data for entry in looks.ahead(session, asked=False)]
        [b'foo', b'food', b'f']
        >>> looks.seconds = 3.0  # As if the last two had taken so long.
        >>> _ = session.step()
        >>> looks.packet(session, asked=False)
        {'ahead': None, 'seconds': 3.0}
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._before = 0.0
        self._lock = threading.Lock()
        self._last: tuple[tuple[object, ...], tuple[Ahead, ...]] | None = None

    def ahead(self, session: Session, *, asked: bool) -> tuple[Ahead, ...] | None:
        """Look at what comes after the likeliest allowed tokens at a session's cursor.

        Args:
            asked: Whether a person asked for it. If not, the answer is ``None`` after slow looks.
        """
        if session.lm is None or session.constraint is None:
            return ()
        key = (session.prompt, session.ids, session.setting.max_tokens)
        with self._lock:
            if self._last is None or self._last[0] != key:
                if not asked and self.seconds > QUIET_SECONDS:
                    return None
                began = time.perf_counter()
                entries = session.ahead()
                took = time.perf_counter() - began
                self.seconds, self._before = min(took, self._before), took
                self._last = (key, entries)
            return self._last[1]

    def traps(self, session: Session) -> tuple[Trap, ...]:
        """The greedy traps that the next step may fall into; empty if looks are slow."""
        entries = self.ahead(session, asked=False)
        return session.traps_ahead(entries) if entries else ()

    def packet(self, session: Session, *, asked: bool) -> dict[str, object]:
        """The answer of `ahead` for the page; without one, ``seconds`` is the time of a look."""
        entries = self.ahead(session, asked=asked)
        if entries is None:
            return {"ahead": None, "seconds": round(self.seconds, 1)}
        return {"ahead": ahead_packet(entries, session.vocabulary)}
