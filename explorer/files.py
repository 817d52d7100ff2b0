"""Writes files atomically, and reads JSON only after checking its size.

A full disk or an interrupt must not leave half a file in place of a good one: a writer fills a new
file in the same folder and renames it over the old one, which is atomic. Nothing is synced to the
disk: this protects against failing programs, not against power loss. An error of the operating
system becomes a `FileError`, which names the path and a remedy.

A JSON document of 100 MB may take 3 GB as Python objects, so its values are counted before it is
parsed.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn

from explorer.errors import DamagedFile, FileError, MissingFile

MOST_VALUES: Final = 2**22
"""The most values of a JSON document that is parsed; each takes up to 120 bytes."""

_NO_ROOM: Final = "Make room there, or give a path on another disk."
_NOT_ALLOWED: Final = "Give the path of a file that you may read or write."
_REMEDIES: Final = {
    errno.ENXIO: "Give the path of a file.",
    errno.EISDIR: "Give the path of a file, not of a folder.",
    errno.ENOTDIR: "Give a path whose folders are folders, not files.",
    errno.ENAMETOOLONG: "Give a shorter path.",
    errno.EACCES: _NOT_ALLOWED,
    errno.EPERM: _NOT_ALLOWED,
    errno.EROFS: _NOT_ALLOWED,
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EFBIG: _NO_ROOM,
}
"""The remedies by error number of the system."""

_SHOWN: Final = 200
"""The most characters of a path in a message."""


def file_error(error: OSError, path: object, *, writing: bool = False) -> FileError:
    """The `FileError` for an error of the operating system, with a remedy.

    Args:
        path: The path that the user gave.
        writing: Whether the file was to be written.

    Example:
        >>> print(file_error(FileNotFoundError(2, "No such file or directory"), "a.json"))
        a.json: No such file or directory. Give the path of a file that exists.
    """
    name = str(path)
    missing = isinstance(error, FileNotFoundError)
    if missing:
        place = "in a folder that exists" if writing else "of a file that exists"
        remedy = f"Give the path {place}."
    else:
        remedy = _REMEDIES.get(error.errno or 0, "Check the path, the disk and your permissions.")
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    kind = MissingFile if missing else FileError
    reason = error.strerror or str(error)
    return kind(f"{shown}: {reason}.", remedy=remedy, path=name, cause=error)


@contextmanager
def file_errors(path: object, *, writing: bool = False) -> Generator[None]:
    """Turn errors of the operating system into a `FileError`.

    A ``BrokenPipeError`` is passed on, because the path is not at fault.

    Args:
        path, writing: As in `file_error`.

    Raises:
        FileError: The file cannot be read or written.

    Example:
        >>> with file_errors("/none"):
        ...     open("/none")
        Traceback (most recent call last):
        explorer.errors.MissingFile: /none: No such file or directory. Give the path of a file ...
    """
    try:
        if not writing:
            _check_ends(path)
        yield
    except (FileError, BrokenPipeError):
        raise
    except OSError as error:
        raise file_error(error, path, writing=writing) from error


def _check_ends(path: object) -> None:
    """Refuse a device whose content has no end, such as ``/dev/zero``; a terminal may be read."""
    if not isinstance(path, str | Path) or not (mode := _mode(path)):
        return
    endless = stat.S_ISBLK(mode)
    if stat.S_ISCHR(mode):
        with open(path, "rb") as device:
            endless = not device.isatty()
    if endless:
        raise OSError(errno.ENXIO, "It is a device, not a file")


def _mode(path: str | Path) -> int:
    with suppress(OSError, ValueError):  # Opening it says what is wrong.
        return os.stat(path).st_mode
    return 0


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check that `write_whole` can write a file, before the work whose result it is to hold.

    Raises:
        FileError: It cannot.
    """
    with file_errors(path, writing=True):
        given = Path(path)
        if given.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not given.is_relative_to("/dev") and (given.is_file() or not given.exists()):
            draft = _draft(Path(os.path.realpath(given)))
            open(draft, "xb").close()
            draft.unlink()


def read_text(path: Path) -> str:
    """The text of a file in UTF-8.

    Raises:
        FileError: The file cannot be read.
        DamagedFile: It is not UTF-8.
    """
    with file_errors(path):
        data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DamagedFile(
            f"{path} is not text in UTF-8, at byte {error.start}.",
            remedy="Save it as UTF-8.",
            evidence={"path": str(path), "offset": error.start},
        ) from error


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file, or leave the old one unchanged.

    Args:
        path: The file; an existing one is replaced. A link is followed. A path that is not a
            regular file, such as a pipe or ``/dev/stdout``, is written to in place.
        data: The whole content.

    Raises:
        FileError: The file cannot be written; the old one is unchanged.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_whole(f"{folder}/a", b"new")
        ...     os.listdir(folder)
        ['a']
    """
    with file_errors(path, writing=True):
        _write(Path(path), data)


def _write(given: Path, data: bytes) -> None:
    if given.is_relative_to("/dev") or (given.exists() and not given.is_file()):
        with open(given, "wb") as file:
            file.write(data)
        return
    target = Path(os.path.realpath(given))
    draft = _draft(target)
    try:
        with open(draft, "xb") as file:
            file.write(data)
        with suppress(FileNotFoundError):
            shutil.copymode(target, draft)
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def _draft(target: Path) -> Path:
    """A file beside another; its name is short, because the target's may have the most length."""
    return target.with_name(f".{secrets.token_hex(8)}.tmp")


def holds_at_most(data: bytes, most_values: int) -> bool:
    """Whether a JSON document has at most a number of values, counting commas without parsing.

    Commas and brackets inside strings count too.
    """
    # Each value but the first of a list or an object follows a comma.
    return sum(data.count(sign) for sign in (b",", b"[", b"{")) < most_values


def parse_json(
    data: bytes,
    most_values: int = MOST_VALUES,
    *,
    constant: Callable[[str], object] | None = None,
) -> object:
    """Parse a JSON document after checking the number of its values.

    Args:
        data: UTF-8 JSON; NaN and infinities are not JSON.
        most_values: The most values that it may hold.
        constant: Reads ``NaN``, ``Infinity`` and ``-Infinity``; by default they are refused.

    Raises:
        ValueError: It is not JSON, holds more values, a lone surrogate or a number out of range, or
            is nested too deep. A `json.JSONDecodeError` or a `UnicodeDecodeError` has the offset.

    Example:
        >>> parse_json(b"[1, [2, 3]]")
        [1, [2, 3]]
        >>> parse_json(b"[1, [2, 3]]", most_values=3)
        Traceback (most recent call last):
        ValueError: it has more than 3 values
    """
    if not holds_at_most(data, most_values):
        raise ValueError(f"it has more than {most_values:,} values")
    try:
        # Checking each number in Python is slow, so it is done only if one may be too large.
        read = _finite if _MAYBE_INFINITE.search(data) else None
        text = data.decode("utf-8")
        value: object = json.loads(text, parse_constant=constant or _refuse, parse_float=read)
        if b"\\ud" in data or b"\\uD" in data:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except UnicodeEncodeError:
        raise ValueError("it holds a text with half of a surrogate pair") from None
    except ValueError as error:
        if "sys.set_int_max_str_digits" not in str(error):
            raise
        most = sys.get_int_max_str_digits()
        raise ValueError(f"it holds a whole number of more than {most:,} digits") from None
    return value


_MAYBE_INFINITE: Final = re.compile(rb"[eE]\+?[0-9]{3}|[0-9]{300}")
"""Matches within every spelling of a number that exceeds all floats."""


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is larger than any number that can be read")
    return number


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")
