"""Optional libraries, imported when they are first needed.

Reading a vocabulary needs none of them. Where the library that belongs to a format is installed
(the extra ``tokenizers`` of this package brings them), a file of that format can also encode, and
is proved.
"""

from __future__ import annotations

import importlib
from types import ModuleType


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
