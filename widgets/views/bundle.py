"""One ES module per widget, joined from small files.

A widget loads one module, which cannot import other files of ours, and there is no build step. So
the file of a view contains only declarations, and the view's module consists of the files that
every view needs, the files of the views inside it, and one line that exports a renderer. The
stand-alone page runs the same text.

Every widget sends its module to the page, and a notebook that stores widgets stores it too. So
comments and indentation are left out, and the module that is sent is a few lines that inflate the
rest and import it, once per page for any number of widgets.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from widgets.dialogue.handlers import table_for_page


class ViewPart(NamedTuple):
    """A view that is shown alone or inside another one.

    Args:
        wants: The data that its page always requests, see ``pageState``: the classes of the tokens,
            their texts, the figures around the position.
    """

    render: str
    wants: tuple[str, ...] = ()
    keys: bool = False
    needs: tuple[str, ...] = ()


EVERY: Final[tuple[str, ...]] = (
    "elements",
    "words",
    "turns",
    "conversation",
    "page_reading",
    "page_state",
    "frame",
)
"""The files that every view needs; a file has no imports and shares one scope with the others."""

VIEWS: Final = {
    "machines": ViewPart(
        "renderMachines",
        ("machine", "words", "around"),
        needs=(
            "lit",
            "drawing",
            "machine_sizes",
            "machine_scroll",
            "machine_lights",
            "machine_table",
            "arc_panel",
            "construction",
            "whole_machine",
            "kept_tokens",
            "arc_editor",
            "along",
        ),
    ),
    "stepper": ViewPart("renderStepper", ("words",), keys=True),
    "strip": ViewPart("renderStrip", ("words",), needs=("legend", "traps", "phases")),
    "distribution": ViewPart(
        "renderDistribution",
        ("machine", "words"),
        keys=True,
        needs=("legend", "why", "traps", "ahead", "edited"),
    ),
    "mask": ViewPart("renderMask", ("machine", "words"), needs=("legend", "bitmap", "engines")),
    "reasons": ViewPart("renderReasons", ("words",), needs=("traps",)),
    "editor": ViewPart("renderEditor"),
    "pipeline": ViewPart("renderPipeline", ("machine",), needs=("drawing", "composed")),
    "stack": ViewPart("renderStack", ("around",), needs=("drawing",)),
    "sampler": ViewPart("renderSampler"),
    "over_time": ViewPart("renderOverTime"),
}
"""The parts; each is declared in the file with its name."""

WHOLES: Final = {
    "explorer": ("renderExplorer", (*VIEWS, "drawers", "motion")),
    "compare": (
        "renderCompare",
        ("stepper", "strip", "distribution", "mask", "editor", "machines", "stack"),
    ),
}
"""The widgets made of parts: the renderer, and the parts."""

_COMMENTS: Final = re.compile(r"^[ \t]*(/\*\*.*?\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
_INDENTATION: Final = re.compile(r"^[ \t]+", re.MULTILINE)

_LOADER: Final = """\
const name = "%(name)s";
const modules = (globalThis[Symbol.for("explorer.modules")] ??= new Map());
const load = async () => {
  const bytes = Uint8Array.from(atob("%(data)s"), (c) => c.charCodeAt(0));
  const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const blob = new Blob([await new Response(text).arrayBuffer()], { type: "text/javascript" });
  return import(/* @vite-ignore */ URL.createObjectURL(blob));
};
if (!modules.has(name)) modules.set(name, load());
export default {
  async render(context) {
    return (await modules.get(name)).default.render(context);
  },
};
"""


def source(name: str) -> str:
    """The text of a file in ``static``."""
    return (files("widgets") / "static" / name).read_text(encoding="utf-8")


@cache
def script(view: str = "explorer") -> str:
    """The joined declarations of a view, without an export.

    Args:
        view: A name of `VIEWS` or of `WHOLES`.
    """
    names: list[str] = [*EVERY]
    for part in WHOLES[view][1] if view in WHOLES else (view,):
        names += [*(VIEWS[part].needs if part in VIEWS else ()), part]
    if view in WHOLES:
        names.append(view)
    joined = "\n".join(source(f"{name}.js") for name in dict.fromkeys(names))
    bare = _INDENTATION.sub("", _COMMENTS.sub("", joined))
    bare = f"const MESSAGES = {json.dumps(table_for_page())};\n{bare}"
    return bare.replace("\nexport function ", "\nfunction ")


def renderer(view: str = "explorer") -> str:
    """A view's renderer, as an expression over `script`: for a part, in a frame of its own.

    Args:
        view: A name of `VIEWS` or of `WHOLES`.

    Example:
        >>> renderer("mask")
        'standalone("mask", renderMask, ["machine", "words"], false)'
    """
    if view in WHOLES:
        return WHOLES[view][0]
    part = VIEWS[view]
    return f'standalone("{view}", {part.render}, {json.dumps(part.wants)}, {json.dumps(part.keys)})'


@cache
def module(view: str = "explorer") -> str:
    """The ES module of a view, as a widget loads it: `script` compressed, behind a loader.

    Args:
        view: A name of `VIEWS` or of `WHOLES`.

    Example:
        >>> len(module("mask")) < len(script("mask")) / 2
        True
    """
    text = f"{script(view)}\nexport default {{ render: {renderer(view)} }};\n".encode()
    packed = zlib.compress(text, 9)
    name = f"{view}-{hashlib.sha256(packed).hexdigest()[:16]}"
    return _LOADER % {"name": name, "data": base64.b64encode(packed).decode("ascii")}


def style() -> str:
    """The style sheet of all views."""
    return "".join(source(f"{name}.css") for name in ("explorer", "along", "phases"))
