"""Libraries of tokenizers: imported when they are first needed, with their errors as ours.

Reading a vocabulary needs none of them. Where the library that belongs to a format is installed
(the extra ``tokenizers`` of this package brings them), a file of that format can also encode, and
is proved.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

from explorer.errors import VocabularyError

T = TypeVar("T")


def library_call(call: Callable[[], T], purpose: str) -> T:
    """A call into the library's compiled code, with its errors as ours.

    Raises:
        VocabularyError: The library raised, or its compiled code panicked.
    """
    try:
        return call()
    except BaseException as error:
        # A panic of compiled code is a BaseException that no name can be imported for.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise VocabularyError(
            f"The tokenizer cannot {purpose}: {error}.",
            remedy="Check that its files are whole, and fit the installed library.",
            evidence={"library": str(error)},
        ) from error


def load_if_installed(name: str) -> ModuleType | None:
    """Import an optional library, or give None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def not_proved(name: str) -> str:
    """The note of a vocabulary whose bytes are the file's own, but could not be checked."""
    return (
        f"Not proved by encoding, because the library {name!r} is not installed (the extra "
        f"'tokenizers' brings it)."
    )
