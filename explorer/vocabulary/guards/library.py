"""Imports tokenizer libraries on first use, and converts their errors to ours.

Reading a vocabulary needs none of them. If the library of a format is installed (the extra
``tokenizers`` of this package includes them), a vocabulary of that format can also encode and is
proved.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

from explorer.errors import VocabularyError

T = TypeVar("T")


def library_call(call: Callable[[], T], purpose: str) -> T:
    """Call a library's compiled code, and convert its errors.

    Raises:
        VocabularyError: The library raised, or its compiled code panicked.
    """
    try:
        return call()
    except BaseException as error:
        # A panic of compiled code is a BaseException whose class cannot be imported.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise VocabularyError(
            f"The tokenizer cannot {purpose}: {error}.",
            remedy="Check that its files are whole, and fit the installed library.",
            evidence={"library": str(error)},
        ) from error


def load_if_installed(name: str) -> ModuleType | None:
    """An optional library, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def not_proved(name: str) -> str:
    """The note for a vocabulary that could not be proved because a library is missing."""
    return (
        f"Not proved by encoding, because the library {name!r} is not installed (the extra "
        f"'tokenizers' brings it)."
    )
