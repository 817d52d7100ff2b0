"""All terminals: importing this file makes them known."""

from __future__ import annotations

from explorer.languages.terminals import pieces as _subsequences
from explorer.languages.terminals import pieces as _substrings
from explorer.languages.terminals import texts as _texts
from explorer.languages.terminals import tokens as _tokens
from explorer.languages.terminals.kinds import TERMINALS

__all__ = ["ALL", "TERMINALS"]

ALL = (_texts, _substrings, _subsequences, _tokens)
"""The files that register terminals."""
