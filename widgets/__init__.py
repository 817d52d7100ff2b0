"""Notebook views: pure figures, and widgets that only wire them to a cursor.

    from widgets import Explorer
    Explorer()

Importing the package imports no notebook library; the names are looked up on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from explorer.errors import MissingDependency

if TYPE_CHECKING:
    from widgets.cursor import Cursor
    from widgets.explorer import Explorer
    from widgets.kinds import register_kind

__all__ = ["Cursor", "Explorer", "register_kind"]

_LATER = {
    "Cursor": "widgets.cursor",
    "Explorer": "widgets.explorer",
    "register_kind": "widgets.kinds",
}


def __getattr__(name: str) -> object:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'widgets' has no attribute {name!r}")
    try:
        value: object = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] in ("explorer", "widgets"):
            raise
        raise MissingDependency(
            f"widgets.{name} needs the library {error.name!r}, which is not installed.",
            remedy="Install the extras: pip install 'constraint-explorer[lab,models]'.",
            evidence={"library": error.name},
        ) from error
    globals()[name] = value
    return value
