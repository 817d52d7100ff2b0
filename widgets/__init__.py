"""Notebook views: pure figures, and widgets that only wire them to a cursor.

    from widgets import Explorer
    Explorer()

Importing the package imports no notebook library; the names are looked up on first use.

Read in this order: `cursor` (the session that widgets share), `shown_place` (the data of it that
they show), `looks` (one step ahead), `figures` (the pure functions that compute these data),
`dialogue` (the messages of a page), `views` (the widgets); then the modules that they use:
`editing` and `kinds` of constraints with presets, `toy` (a model with probabilities
set by hand), `other_engines`, `compiling`, `export` (a page and a still that need no kernel),
`report` (of many runs), `lessons`, `prompt_socket`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from explorer.errors import MissingDependency

if TYPE_CHECKING:
    from widgets.cursor import Cursor
    from widgets.kinds import register_kind
    from widgets.toy import ToyModel
    from widgets.views.compare import Compare
    from widgets.views.explorer import (
        ConstraintEditor,
        Distribution,
        Explorer,
        Machines,
        Mask,
        OverTime,
        Pipeline,
        Reasons,
        SamplerControls,
        Stack,
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
    "Pipeline",
    "Reasons",
    "SamplerControls",
    "Stack",
    "Stepper",
    "TokenStrip",
    "ToyModel",
    "register_kind",
]

_ELSEWHERE = {
    "Compare": "widgets.views.compare",
    "Cursor": "widgets.cursor",
    "ToyModel": "widgets.toy",
    "register_kind": "widgets.kinds",
}
"""The modules of the names that are not in `widgets.views.explorer`."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'widgets' has no attribute {name!r}")
    module = _ELSEWHERE.get(name, "widgets.views.explorer")
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
