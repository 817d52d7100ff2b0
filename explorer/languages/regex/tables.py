"""Tables of characters that take a while to derive, kept on disk.

`cached` keeps a table as JSON, one file each, named after all that it depends on. A table that was
read is checked, as anything may lie in that folder; a file that is missing, damaged or not writable
only costs the derivation. The folder is ``$EXPLORER_CACHE``, or the platform's place for caches as
`platformdirs` knows it. It never grows past a handful of small files.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from explorer.automata.tree.charset import MAX_CODE_POINT
from explorer.files import write_whole

FORMAT: Final = 1

T = TypeVar("T")


def cache_folder() -> Path:
    """The folder of the tables; the folder may not exist."""
    if given := os.environ.get("EXPLORER_CACHE"):
        return Path(given)
    import platformdirs

    return platformdirs.user_cache_path("explorer", appauthor=False)


def cached(name: str, derive: Callable[[], T], check: Callable[[object], T]) -> T:
    """A table from the disk, or derived and then kept there.

    Args:
        name: What the table is, as part of a file name.
        derive: Computes it; the result must survive JSON up to ``check``.
        check: Turns what JSON gave into the table, or raises `ValueError` if it is not one.

    Returns:
        The table. Errors of the disk are never raised.
    """
    path = _path(name)
    try:
        return check(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, RecursionError):
        table = derive()
    with contextlib.suppress(OSError):  # A full disk costs time at the next start, nothing else.
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(table).encode())
    return table


def _path(name: str) -> Path:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = f"{name}-unicode{unicodedata.unidata_version}-python{python}-v{FORMAT}.json"
    folder = cache_folder()
    # Without a home directory the path stays relative: then it is one that is never found.
    return (folder if folder.is_absolute() else Path(os.devnull)) / key


def integers(found: object) -> list[int]:
    """A list of code points from JSON, or `ValueError`."""
    if not isinstance(found, list):
        raise ValueError("not a list")
    items: list[object] = found  # pyright: ignore[reportUnknownVariableType]  # from JSON
    numbers = [item for item in items if type(item) is int and 0 <= item <= MAX_CODE_POINT]
    if len(numbers) != len(items) or not numbers:
        raise ValueError("not code points")
    return numbers
