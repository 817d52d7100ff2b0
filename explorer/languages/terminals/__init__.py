"""Terminals: ready-made pieces of a pattern, written as specially named groups.

``(?P<QUOTED_TEXT>)`` is a quoted string, ``(?P<SUBSTRING_OF>some text)`` any piece of a text. (Koo,
Liu & He 2024, table 1.) A terminal is not a kind of source but a part of a pattern, so it can be
used wherever patterns are.

Read in this order: `kinds` (what a terminal is, and the register of them), `texts` (strings and
lists), `pieces` (pieces of a text, items in order), `tokens` (whole tokens, whatever they write).

A terminal never matches the empty text; write ``?`` after the group where it may be missing.
"""

from __future__ import annotations

from explorer.languages.terminals import pieces, texts, tokens
from explorer.languages.terminals.kinds import TERMINALS

__all__ = ["TERMINALS", "pieces", "texts", "tokens"]
