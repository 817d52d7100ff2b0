"""Tables of characters that take a while to derive, kept on disk.

`cached` keeps a table as JSON, one file each, named after all that it depends on. A table that was
read is checked, as anything may lie in that folder; where a file is missing, damaged or not
writable, the table is derived again. The folder is ``$EXPLORER_CACHE``, or the platform's cache
folder as `platformdirs` knows it. It never holds more than a handful of small files.
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
    """A table read from the disk; where it is missing or damaged, derived and written there.

    Args:
        name: A name for the table, part of the file's name.
        derive: Computes the table in a form that JSON can hold.
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
    # Without a home directory the path stays relative; then a path that cannot exist is given.
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
