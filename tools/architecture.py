"""The picture of the architecture, written as SVG in a light and in a dark version.

``python -m tools.architecture`` writes both to ``docs/images``; a test checks that they are
current. The picture is a table of boxes and a table of arrows, over areas for the folders.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

IMAGES: Final = Path(__file__).resolve().parents[1] / "docs" / "images"

WORDS: Final = (
    "From left to right: constraints become one tree with origins, the tree a character FSA or a "
    "pushdown machine; a tokenizer becomes a vocabulary and its detokenizing FST. Their "
    "composition is the token machine, which gives masks. A session steps a model under the "
    "masks and records a trace, which explanations, traps, figures and views read."
)

THEMES: Final = {
    "light": {
        "paper": "#ffffff", "ground": "#f6f7f9", "line": "#5b6678", "box": "#ffffff",
        "ink": "#1a2130", "soft": "#4f5a6b", "core": "#d7e9f6", "edge": "#0063a0",
    },
    "dark": {
        "paper": "#101318", "ground": "#171b21", "line": "#a0aabb", "box": "#101318",
        "ink": "#e8ebf0", "soft": "#a0aabb", "core": "#143247", "edge": "#6cbcf0",
    },
}  # fmt: skip
"""The explorer's own colours."""

WIDTH, HEIGHT = 1056, 480


@dataclass(frozen=True)
class Box:
    """A box of the picture.

    Args:
        x: Its left side.
        y: Its top.
        width: Its width.
        height: Its height.
        lines: Its words; the first one is larger.
        core: Whether it is one of the three machines and masks that everything is about.
    """

    x: int
    y: int
    width: int
    height: int
    lines: tuple[str, ...]
    core: bool = False


GROUNDS: Final = {
    "automata": (16, 16, 428, 316),
    "vocabulary": (16, 348, 428, 116),
    "tokens": (460, 16, 164, 448),
    "decoding": (640, 16, 164, 448),
    "analysis": (820, 16, 220, 216),
    "widgets": (820, 248, 220, 216),
}

BOXES: Final = {
    "regex": Box(26, 48, 142, 32, ("regex",)),
    "algebra": Box(26, 88, 142, 32, ("choice, algebra",)),
    "schema": Box(26, 128, 142, 32, ("JSON Schema, types",)),
    "template": Box(26, 168, 142, 32, ("template",)),
    "grammar": Box(26, 208, 142, 32, ("grammar",)),
    "tree": Box(196, 112, 92, 64, ("tree", "with origins")),
    "fsa": Box(316, 64, 112, 56, ("character FSA", "reads bytes"), core=True),
    "pushdown": Box(316, 168, 112, 56, ("pushdown", "machine")),
    "stages": Box(196, 268, 232, 48, ("stages", "canonical, restrict, preprocessed")),
    "tokenizer": Box(32, 388, 108, 56, ("tokenizer", "its files")),
    "vocabulary": Box(172, 388, 112, 56, ("vocabulary", "id → bytes")),
    "fst": Box(304, 388, 124, 56, ("detokenizing FST", "T_V"), core=True),
    "machine": Box(
        476, 128, 132, 80, ("token machine", "closed, lazy,", "pushdown, filtered"), core=True
    ),
    "mask": Box(476, 272, 132, 56, ("mask", "a bit for each token"), core=True),
    "device": Box(476, 388, 132, 56, ("masks on a", "device, in batches")),
    "model": Box(656, 48, 132, 48, ("model", "probabilities")),
    "session": Box(656, 160, 132, 64, ("session", "step, back, fork")),
    "trace": Box(656, 304, 132, 56, ("trace", "versioned JSON")),
    "explain": Box(836, 48, 188, 44, ("explain: why masked?",)),
    "traps": Box(836, 104, 188, 44, ("traps",)),
    "mass": Box(836, 160, 188, 56, ("probability, comparisons", "of schemes and runs")),
    "figures": Box(836, 284, 188, 44, ("figures: trace → SVG",)),
    "views": Box(836, 340, 188, 44, ("views in a notebook",)),
    "replay": Box(836, 396, 188, 52, ("replay page", "one file, offline")),
}  # fmt: skip

ARROWS: Final = (
    "M168,64 L182,64 L182,136 L196,136",
    "M168,104 L182,104",
    "M168,144 L196,144",
    "M168,184 L182,184 L182,152 L196,152",
    "M168,224 L182,224 L182,184",
    "M288,136 L302,136 L302,92 L316,92",
    "M288,152 L302,152 L302,196 L316,196",
    "M428,92 L452,92 L452,148 L476,148",
    "M428,196 L452,196 L452,176 L476,176",
    "M428,292 L466,292 L466,192 L476,192",
    "M140,416 L172,416",
    "M284,416 L304,416",
    "M228,388 L228,316",
    "M428,416 L452,416 L452,200 L476,200",
    "M542,208 L542,272",
    "M542,328 L542,388",
    "M608,300 L632,300 L632,204 L656,204",
    "M722,96 L722,160",
    "M722,224 L722,304",
    "M788,320 L812,320 L812,70 L836,70",
    "M812,126 L836,126",
    "M812,188 L836,188",
    "M788,332 L812,332 L812,306 L836,306",
    "M930,328 L930,340",
    "M930,384 L930,396",
)


def architecture_svg(theme: str) -> str:
    """The picture in one of the two themes.

    Args:
        theme: ``light`` or ``dark``.
    """
    of = THEMES[theme]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" font-family="DejaVu Sans, Verdana, sans-serif">',
        f"<title>{escape(WORDS)}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{of["line"]}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{of["paper"]}"/>',
    ]
    for name, (x, y, width, height) in GROUNDS.items():
        parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" '
            f'fill="{of["ground"]}"/>'
            f'<text x="{x + 12}" y="{y + 21}" font-size="13" font-family="DejaVu Sans Mono, Menlo, '
            f'Consolas, monospace" fill="{of["soft"]}">{name}/</text>'
        )
    for path in ARROWS:
        # A path that runs into another one has no tip of its own.
        tip = "" if path in ("M168,104 L182,104", "M168,224 L182,224 L182,184") else "url(#tip)"
        end = f' marker-end="{tip}"' if tip else ""
        parts.append(
            f'<path d="{path}" fill="none" stroke="{of["line"]}" stroke-width="1.4"{end}/>'
        )
    for box in BOXES.values():
        parts.append(_drawn(box, of))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _drawn(box: Box, of: dict[str, str]) -> str:
    fill, edge = (of["core"], of["edge"]) if box.core else (of["box"], of["line"])
    wide = 2 if box.core else 1.2
    drawn = (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="5" '
        f'fill="{fill}" stroke="{edge}" stroke-width="{wide}"/>'
    )
    top = box.y + box.height / 2 - 8.5 * (len(box.lines) - 1) + 4.5
    for number, line in enumerate(box.lines):
        size, ink = (12.5, of["ink"]) if number == 0 else (11.5, of["soft"])
        drawn += (
            f'<text x="{box.x + box.width / 2:g}" y="{top + 17 * number:g}" font-size="{size}" '
            f'text-anchor="middle" fill="{ink}">{escape(line)}</text>'
        )
    return drawn


def architecture_paths() -> dict[str, Path]:
    """The file of each theme."""
    return {theme: IMAGES / f"architecture-{theme}.svg" for theme in THEMES}


if __name__ == "__main__":
    for name, path in architecture_paths().items():
        path.write_text(architecture_svg(name), encoding="utf-8")
