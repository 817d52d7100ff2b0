"""The places of the characters of a Python string in the literal that wrote it."""

from __future__ import annotations

import ast
import re
from typing import Final

_OPENING: Final = re.compile(r"""([rRuU]?)('''|\"""|'|")""")
_PIECE: Final = re.compile(
    r"\\(?:\r\n|N\{[^}]*\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-7]{1,3}|.)|\r\n|.",
    re.DOTALL,
)


def places_in(literal: str, start: int, value: str) -> tuple[tuple[int, int], ...]:
    """The span of each character of a string.

    Returns:
        For each character its span; that of the whole literal where it cannot be told, as in
        literals that are written one after the other.

    Example:
        >>> places_in(r"'a\\nb'", 10, "a\\nb")
        ((11, 12), (12, 14), (14, 15))
    """
    whole = ((start, start + len(literal)),) * len(value)
    opening = _OPENING.match(literal)
    if opening is None:
        return whole
    prefix, quote = opening.groups()
    body = literal[opening.end() : -len(quote)]
    if prefix in ("r", "R"):
        pieces = list(body)
        same = body == value
    else:
        pieces = _PIECE.findall(body)
        same = _decoded(pieces) == value
    if not same:
        return whole
    spans: list[tuple[int, int]] = []
    place = start + opening.end()
    for piece in pieces:
        if not _is_joined_line(piece):
            spans.append((place, place + len(piece)))
        place += len(piece)
    return tuple(spans)


def _is_joined_line(piece: str) -> bool:
    return piece in ("\\\n", "\\\r\n", "\\\r")


def _decoded(pieces: list[str]) -> str | None:
    """The characters of some pieces; ``None`` where a piece is not one character."""
    characters: list[str] = []
    for piece in pieces:
        if _is_joined_line(piece):
            continue
        if not piece.startswith("\\"):
            characters.append("\n" if piece in ("\r", "\r\n") else piece)
            continue
        try:
            character = ast.literal_eval(f"'{piece}'") if piece != "\\'" else "'"
        except (SyntaxError, ValueError):
            return None
        if len(character) != 1:
            return None
        characters.append(character)
    return "".join(characters)
