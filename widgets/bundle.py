"""One ES module per widget, joined from small files.

A widget loads one module and cannot import a neighbour, and there is no build step. So a view is a
file that only declares, and its module is `shared.js`, the views it is made of, and one line that
exports a renderer. The stand-alone page runs the same text.

Whole-line comments are left out, because every widget sends its module over the wire.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

VIEWS: Final = {
    "machines": ("renderMachines", ("machines.js",)),
    "stepper": ("renderStepper", ("stepper.js",)),
    "strip": ("renderStrip", ("strip.js",)),
    "distribution": ("renderDistribution", ("distribution.js",)),
    "mask": ("renderMask", ("mask.js",)),
    "editor": ("renderEditor", ("distribution.js", "editor.js")),
    "sampler": ("renderSampler", ("sampler.js",)),
    "over_time": ("renderOverTime", ("over_time.js",)),
}
"""Each view's renderer, and the files that it needs besides `shared.js`."""

_COMMENTS: Final = re.compile(r"^[ \t]*(/\*\*.*?\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)


def source(name: str) -> str:
    """The text of a file in ``static``.

    Args:
        name: Its name.
    """
    return (files("widgets") / "static" / name).read_text(encoding="utf-8")


@cache
def script(view: str = "explorer") -> str:
    """The joined declarations of a view, without an export.

    Args:
        view: A name of `VIEWS`, or ``"explorer"`` for all of them.
    """
    if view == "explorer":
        parts = list(dict.fromkeys(part for _, needs in VIEWS.values() for part in needs))
        parts.append("explorer.js")
    else:
        parts = list(VIEWS[view][1])
    joined = "\n".join(source(part) for part in ("shared.js", *parts))
    return _COMMENTS.sub("", joined).replace("\nexport function ", "\nfunction ")


def renderer(view: str = "explorer") -> str:
    """The name of a view's renderer in `script`."""
    return "renderExplorer" if view == "explorer" else VIEWS[view][0]


@cache
def module(view: str = "explorer") -> str:
    """The ES module of a view, as a widget loads it.

    Args:
        view: A name of `VIEWS`, or ``"explorer"``.

    Example:
        >>> module("mask").splitlines()[-1]
        'export default { render: renderMask };'
    """
    return f"{script(view)}\nexport default {{ render: {renderer(view)} }};\n"


def style() -> str:
    """The style sheet of all views."""
    return source("explorer.css")
