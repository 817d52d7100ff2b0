"""Files are written whole or not at all, and read only after their size is known.

A full disk, or an interrupt in the middle, must not leave half a file where a good one was: a
writer fills a new file in the same folder and then renames it over the old one, which the operating
system does in one go. Nothing is synced to the disk: this is about programs that fail, not power.

A JSON document of 100 MB may take 3 GB as Python objects. So its values are counted before it is
parsed.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

MOST_VALUES: Final = 2**22
"""How many values of a JSON document are read at most; each takes up to 120 bytes."""


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, or leave what is there as it is.

    Args:
        path: The file; replaced if it is there. A link is followed. What is not a plain file,
            such as a pipe or ``/dev/stdout``, is written to in place.
        data: All of its content.

    Raises:
        OSError: The file cannot be written; the old one is unchanged.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_whole(f"{folder}/a", b"new")
        ...     os.listdir(folder)
        ['a']
    """
    given = Path(path)
    if given.is_relative_to("/dev") or (given.exists() and not given.is_file()):
        with open(given, "wb") as file:
            file.write(data)
        return
    target = Path(os.path.realpath(given))
    # A short name, because the target's may be as long as names can be.
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(data)
        with suppress(FileNotFoundError):
            shutil.copymode(target, draft)
        os.replace(draft, target)
    except BaseException as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            # The caller asked for this name, not for the draft's.
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise


def holds_at_most(data: bytes, most_values: int) -> bool:
    """Whether a JSON document has at most so many values; commas in texts count too.

    Args:
        data: The document, which is not parsed.
        most_values: How many.
    """
    # Each value but the first of a list or an object stands after a comma.
    return sum(data.count(sign) for sign in (b",", b"[", b"{")) < most_values


def parse_json(data: bytes, most_values: int = MOST_VALUES) -> object:
    """The value of a JSON document whose size is bounded first.

    Args:
        data: UTF-8 JSON; NaN and infinities are not JSON.
        most_values: How many values it may hold.

    Raises:
        ValueError: It is not JSON, holds more values or half of a surrogate pair, or is nested too
            deep. A
            `json.JSONDecodeError` or a `UnicodeDecodeError` knows the place.

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
        value: object = json.loads(data.decode("utf-8"), parse_constant=_refuse)
        if b"\\ud" in data or b"\\uD" in data:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except UnicodeEncodeError:
        raise ValueError("it holds a text with half of a surrogate pair") from None
    return value


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")
