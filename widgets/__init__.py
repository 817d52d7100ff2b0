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
    from widgets.compare import Compare
    from widgets.cursor import Cursor
    from widgets.explorer import Explorer
    from widgets.kinds import register_kind
    from widgets.parts import (
        ConstraintEditor,
        Distribution,
        Machines,
        Mask,
        OverTime,
        Reasons,
        SamplerControls,
        Stepper,
        TokenStrip,
    )

__all__ = [
    "Compare",
    "ConstraintEditor",
    "Cursor",
    "Distribution",
    "Explorer",
    "Machines",
    "Mask",
    "OverTime",
    "Reasons",
    "SamplerControls",
    "Stepper",
    "TokenStrip",
    "register_kind",
]

_LATER = {
    "Compare": "widgets.compare",
    "ConstraintEditor": "widgets.parts",
    "Cursor": "widgets.cursor",
    "Distribution": "widgets.parts",
    "Explorer": "widgets.explorer",
    "Machines": "widgets.parts",
    "Mask": "widgets.parts",
    "OverTime": "widgets.parts",
    "Reasons": "widgets.parts",
    "SamplerControls": "widgets.parts",
    "Stepper": "widgets.parts",
    "TokenStrip": "widgets.parts",
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
