"""What a page has been told, so that it can be told what changed.

The line of tokens grows with every step, and a page that was told of 500 tokens need not be told
again. So the line goes out as the difference to what went out before (`widgets.figures.changes`),
under a version number. Whoever has another version, because it came later, because a message was
meant for somebody else, asks for the whole. What is asked for as a whole, by a saved notebook or
an opening page, is the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from widgets.figures.changes import change


class Wire:
    """One packet on its way to one page.

    Example:
        >>> wire = Wire()
        >>> wire.whole({"ids": [7]})
        {'ids': [7], 'version': 1}
        >>> wire.step({"ids": [7, 8]})
        {'on': 1, 'change': {'~': {'ids': {'<': 1, '>': [8]}}}, 'version': 2}
    """

    def __init__(self) -> None:
        self._last: Mapping[str, Any] = {}
        self._version = 0

    def whole(self, packet: Mapping[str, Any]) -> dict[str, Any]:
        """The packet and its version.

        Args:
            packet: Plain values for JSON, not to be changed afterwards.
        """
        self._change(packet)
        return {**packet, "version": self._version}

    def step(self, packet: Mapping[str, Any]) -> dict[str, Any]:
        """What leads to the packet from the one that was told last.

        Args:
            packet: As `whole` has it.
        """
        before = self._version
        return {"on": before, "change": self._change(packet), "version": self._version}

    def _change(self, packet: Mapping[str, Any]) -> dict[str, Any]:
        found = change(self._last, packet)
        if found:
            self._version += 1
        self._last = packet
        return found
