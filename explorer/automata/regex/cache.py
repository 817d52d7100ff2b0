"""A small cache on disk for tables that follow from this Python alone.

Which code points are ``\\w`` is fixed by the Unicode version that this Python was built with, and
asking `re` about all 1,114,112 of them takes tens of milliseconds, in every new process. The
tables are kept as JSON, one file each, named after all that they depend on. Whoever reads a
table must check it, as anything may lie in that folder; a file that is missing, damaged or not
writable only costs the derivation.

The folder is ``$EXPLORER_CACHE``, or the platform's place for caches:
``$XDG_CACHE_HOME/explorer`` (``~/.cache/explorer``), ``~/Library/Caches/explorer`` on macOS,
``%LOCALAPPDATA%\\explorer`` on Windows. It never grows past a handful of small files.
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

from explorer.files import write_whole

FORMAT: Final = 1

T = TypeVar("T")


def cache_folder() -> Path:
    """Where the tables lie; the folder may not exist."""
    if given := os.environ.get("EXPLORER_CACHE"):
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base or Path.home() / "AppData" / "Local") / "explorer"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "explorer"
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base or Path.home() / ".cache") / "explorer"


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
    try:
        return cache_folder() / key
    except RuntimeError:  # No home directory: a relative path that is never found.
        return Path(os.devnull) / key
