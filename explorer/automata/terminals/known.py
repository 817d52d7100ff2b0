"""All terminals: importing this file makes them known."""

from __future__ import annotations

from explorer.automata.terminals import subsequences as _subsequences
from explorer.automata.terminals import substrings as _substrings
from explorer.automata.terminals import texts as _texts
from explorer.automata.terminals import tokens as _tokens
from explorer.automata.terminals.kinds import TERMINALS

__all__ = ["ALL", "TERMINALS"]

ALL = (_texts, _substrings, _subsequences, _tokens)
"""The files that register terminals."""
