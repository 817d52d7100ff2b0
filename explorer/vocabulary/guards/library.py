"""Calls into compiled tokenizer code, with its errors as ours."""

from __future__ import annotations

from collections.abc import Callable
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
