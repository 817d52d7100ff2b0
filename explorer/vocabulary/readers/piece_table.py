"""Reads lists of pieces, and tables from pieces to ids, such as ``vocab.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from explorer.errors import DamagedFile
from explorer.vocabulary.reading import checked_width


def as_pieces(declared: object) -> Mapping[str, object] | None:
    """The parsed JSON as a table of pieces, or None if it is not one."""
    if not isinstance(declared, Mapping) or not declared:
        return None
    table = cast(Mapping[str, object], declared)
    values: Sequence[object] = list(table.values())
    return table if not any(isinstance(value, dict | list) for value in values) else None


def ids_of_pieces(pieces: Mapping[str, object], where: str) -> dict[str, int]:
    """The table with its ids checked.

    Raises:
        DamagedFile: An id is not a whole number of at least 0.
        VocabularyError: An id is out of range.

    Example:
        >>> ids_of_pieces({"a": 0, "b": 2}, "vocab.json")
        {'a': 0, 'b': 2}
    """
    ids: dict[str, int] = {}
    for piece, token in pieces.items():
        if not isinstance(token, int) or isinstance(token, bool) or token < 0:
            raise DamagedFile(
                f"{where}: the piece {piece[:40]!r} has the id {token!r}, which is not a whole "
                f"number of at least 0.",
                remedy="Fetch the file again, or check that it is a table from pieces to ids.",
                evidence={"piece": piece, "id": token},
            )
        checked_width(token, f"{where}, the piece {piece[:40]!r},")
        ids[piece] = token
    return ids


def lines_of(data: bytes, where: str) -> list[str]:
    """The lines of a file, without their line ends.

    Only line feeds end a line: pieces may hold other characters at which `str.splitlines` splits.

    Raises:
        DamagedFile: It is not UTF-8; the byte is named.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DamagedFile(
            f"{where} is not UTF-8: byte {error.start} is {data[error.start]:#04x}.",
            remedy="Fetch the file again.",
            evidence={"offset": error.start},
        ) from error
    return [line.removesuffix("\r") for line in text.split("\n")]
