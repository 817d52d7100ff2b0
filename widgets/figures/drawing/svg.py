"""Small pieces of SVG as text: the only place where markup is written.

All text goes through `markup`, and every attribute is a number or one of our constants. So no token
can become markup. There are no ids, because pictures inside one page would share them; arrow heads
are drawn and not referred to.

Elements have the light colours of the explorer. A whole picture has a short style sheet that
replaces them by the dark ones (`DARK`) on a dark background: in a file or an image if the reader
prefers dark pages, and inside a page if JupyterLab's theme is dark. The style sheet does not apply
to other elements of the page.

Blue is allowed and past, amber is now, vermilion is masked (after Okabe and Ito, darkened to a
contrast of 4.5 : 1 for text on white). No meaning is in colour alone: masked is struck,
accepting is a double ring, a ghost is dashed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from widgets.figures.drawing.geometry import Layout, Placed, Routed
from widgets.figures.drawing.labels import markup
from widgets.figures.machines.machine_figure import FigureNode, MachineFigure

PAPER: Final = "#ffffff"
PANEL: Final = "#f6f7f9"
LINE: Final = "#dde2e8"
INK: Final = "#1a2130"
SOFT: Final = "#5b6678"
OK: Final = "#0063a0"
OK_PAPER: Final = "#d7e9f6"
NO: Final = "#b34a00"
NO_PAPER: Final = "#fbe6d8"
NOW: Final = "#d98c00"
NOW_PAPER: Final = "#ffe3ad"
SHADES: Final = (PAPER, "#f5f1fb", "#e9e0f5", "#d6c4ee", "#bfa3e3")
"""The shades for surprise, as in the explorer, darker with every step."""

DARK: Final[Mapping[str, str]] = {
    PAPER: "#101318", PANEL: "#171b21", LINE: "#2d343e", INK: "#e8ebf0", SOFT: "#a0aabb",
    OK: "#6cbcf0", OK_PAPER: "#143247", NO: "#ff9a5c", NO_PAPER: "#43240f",
    NOW: "#f4b740", NOW_PAPER: "#5a4210",
    SHADES[1]: "#1e1a2a", SHADES[2]: "#33264a", SHADES[3]: "#493569", SHADES[4]: "#5f4488",
}  # fmt: skip
"""The dark colour for each light one, as in the explorer's style sheet."""

PICTURE: Final = "lmx-picture"
"""The class of a whole picture."""

SANS: Final = "DejaVu Sans, Verdana, sans-serif"
MONO: Final = "DejaVu Sans Mono, Menlo, Consolas, monospace"


MONO_WIDTH: Final = 0.602
"""The width of a monospaced character, as a share of its size."""

SIZE: Final = 12.0
"""The default size of text, in pixels."""

Anchor = Literal["start", "middle", "end"]
Mark = Literal["past", "now", "go"]


def px(value: float) -> str:
    """A length in pixels as SVG writes it, to a tenth of a pixel."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: float = SIZE,
    fill: str = INK,
    anchor: Anchor = "start",
    mono: bool = False,
    bold: bool = False,
    strike: bool = False,
    named: bool = True,
) -> str:
    """A line of text. The sign ␣ for a space is drawn lighter than the token's own characters.

    Args:
        size: In pixels.
        fill: A colour of `palette`.
        named: Whether to write the face and the anchor; not needed if a surrounding element has
            them.

    Example:
        >>> text(1, 2, "<b>").split(">", 1)[1]
        '&lt;b&gt;</text>'
    """
    shown = markup(words)
    if mono:
        shown = re.sub(r"(?<!\\)␣", f'<tspan fill="{SOFT}">␣</tspan>', shown)
    # Attributes of the whole document are not repeated: pictures are stored in notebooks.
    parts = [f'x="{px(x)}" y="{px(y)}"']
    if size != SIZE:
        parts.append(f'font-size="{px(size)}"')
    if fill != INK:
        parts.append(f'fill="{fill}"')
    if mono and named:
        parts.append(f'font-family="{MONO}"')
    if anchor != "start" and named:
        parts.append(f'text-anchor="{anchor}"')
    if bold:
        parts.append('font-weight="600"')
    if strike:
        parts.append('text-decoration="line-through"')
    return f"<text {' '.join(parts)}>{shown}</text>"


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    fill: str = "none",
    stroke: str = "none",
    radius: float = 0.0,
    weight: float = 1.0,
) -> str:
    """A rectangle."""
    parts = [f'x="{px(x)}" y="{px(y)}" width="{px(max(width, 0))}"']
    parts.append(f'height="{px(height)}" fill="{fill}"')
    if radius:
        parts.append(f'rx="{px(radius)}"')
    if stroke != "none":
        parts.append(f'stroke="{stroke}"{_weight(weight)}')
    return f"<rect {' '.join(parts)}/>"


def _weight(width: float) -> str:
    """The attribute for a line's width, unless it is SVG's default."""
    return "" if width == 1 else f' stroke-width="{px(width)}"'


def line(x1: float, y1: float, x2: float, y2: float, stroke: str, weight: float = 1.0) -> str:
    """A straight line."""
    return f'<path d="M{px(x1)},{px(y1)} L{px(x2)},{px(y2)}" stroke="{stroke}"{_weight(weight)}/>'


def chip(
    x: float,
    y: float,
    words: str,
    *,
    fill: str,
    stroke: str,
    ink: str = INK,
    size: float = 12.0,
    weight: float = 1.0,
    strike: str = "",
) -> tuple[str, float]:
    """A boxed token, and its width."""
    inner = len(words) * size * MONO_WIDTH
    width = inner + 10.0
    parts = [
        box(x, y - size, width, size + 6, fill=fill, stroke=stroke, radius=4, weight=weight),
        text(x + 5, y, words, size=size, fill=ink, mono=True),
    ]
    if strike:
        parts.append(line(x + 4, y - size * 0.33, x + 6 + inner, y - size * 0.33, strike, 2))
    return "".join(parts), width


_ZEROS: Final = re.compile(r"\.0(?=\D|$)")

_COLOUR: Final[Mapping[Mark | None, tuple[str, float]]] = {
    None: (SOFT, 1.2),
    "past": (OK, 2.0),
    "now": (NOW, 2.4),
    "go": (NOW, 2.4),
}


def _head(edge: Routed) -> str:
    """The arrow head at the end of a curve, as path data."""
    points = [(float(a), float(b)) for a, b in re.findall(r"(-?[\d.]+),(-?[\d.]+)", edge.path)]
    (bx, by), (tx, ty) = points[-2], points[-1]
    length = math.hypot(tx - bx, ty - by) or 1.0
    ux, uy = (tx - bx) / length, (ty - by) / length
    corners = [
        (tx + 4 * ux, ty + 4 * uy),
        (tx - 4 * ux - 3.5 * uy, ty - 4 * uy + 3.5 * ux),
        (tx - 4 * ux + 3.5 * uy, ty - 4 * uy - 3.5 * ux),
    ]
    return "M" + "L".join(f"{px(x)},{px(y)}" for x, y in corners) + "Z"


def _node(node: FigureNode, at: Placed, mark: Mark | None) -> tuple[str, str]:
    """A state's circles and label, without the attributes that `machine` writes once for all."""
    if at.r <= 0:
        return "", ""
    ghost = node.kind == "ghost"
    # A state that only leads on is drawn faintly unless it is lit.
    faint = ' opacity="0.45"' if ghost and mark is None else ""
    dash = ' stroke-dasharray="3 3"' if ghost else ""
    look = {
        None: "",
        "past": f' stroke="{OK}" stroke-width="1.6"',
    }.get(mark, f' stroke="{NOW}" stroke-width="2.4"')
    fill = {None: "", "past": f' fill="{OK_PAPER}"'}.get(mark, f' fill="{NOW_PAPER}"')
    where = f'<circle cx="{px(at.x)}" cy="{px(at.y)}"'
    drawn = f'{where} r="{px(at.r)}"{fill}{look}{dash}{faint}/>'
    if node.accepting:
        drawn += f'{where} r="{px(at.r - 4)}" fill="none"{look}{dash}{faint}/>'
    if node.title:
        drawn = f"<g><title>{markup(node.title)}</title>{drawn}</g>"
    if not node.label:
        return drawn, ""
    size = SIZE if len(node.label) <= 2 else 11.0
    label = text(at.x, at.y + 4, node.label, size=size, anchor="middle", mono=True, named=False)
    return drawn, f"<g{faint}>{label}</g>" if faint else label


def machine(
    figure: MachineFigure,
    layout: Layout,
    nodes: Mapping[str, Mark] | None = None,
    edges: Mapping[str, Mark] | None = None,
) -> str:
    """A machine as SVG elements, in the layout's own coordinates.

    Returns:
        Elements without a surrounding ``<svg>``, in one group with the attributes that their texts
        share.
    """
    lit_nodes, lit_edges = nodes or {}, edges or {}
    parts: list[str] = []
    start = next((n.id for n in figure.nodes if n.start and n.id in layout.nodes), None)
    if start is not None:
        at = layout.nodes[start]
        left = at.x - at.r
        arrow = Routed(
            f"M{left - 23:.1f},{at.y:.1f} L{left - 4.5:.1f},{at.y:.1f}",
            0.0,
            0.0,
            (left - 4.5, at.y),
            (0.0, 0.0, 0.0, 0.0),
            (0.0, 0.0, 0.0, 0.0),
        )
        parts.append(line(left - 23, at.y, left - 5, at.y, SOFT, 1.2))
        parts.append(f'<path d="{_head(arrow)}" fill="{SOFT}"/>')
    drawn = [edge for edge in figure.edges if edge.id in layout.edges]
    # Lit curves are drawn on top where curves cross. Curves of one colour are one path: an element
    # for each would be half of the picture's bytes.
    for colour, weight in dict.fromkeys(_COLOUR.values()):
        routes = [layout.edges[e.id] for e in drawn if _COLOUR[lit_edges.get(e.id)][0] == colour]
        if routes:
            curves = "".join(_ZEROS.sub("", route.path) for route in routes)
            heads = "".join(_head(route) for route in routes)
            parts.append(
                f'<path d="{curves}" stroke="{colour}" stroke-width="{weight}" fill="none"/>'
                f'<path d="{heads}" fill="{colour}"/>'
            )
    for name, (x, y) in layout.returns:
        mark = lit_edges.get(name)
        colour = _COLOUR[mark][0]
        parts.append(
            f'<circle cx="{px(x)}" cy="{px(y)}" r="6" fill="{PAPER}" stroke="{colour}"/>'
            f'<circle cx="{px(x)}" cy="{px(y)}" r="3" fill="none" stroke="{colour}"/>'
        )
    labels: list[str] = []
    for edge in drawn:
        route = layout.edges[edge.id]
        if edge.label and (not route.tucked or edge.id in lit_edges):
            labels.append(
                text(route.x, route.y, edge.label, anchor="middle", mono=True, named=False)
            )
    if labels:
        # A rim of paper, so that a label on a crossing curve stays readable.
        rim = f'stroke="{PAPER}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
        parts.append(f"<g {rim}>{''.join(labels)}</g>")
    nodes_drawn = [
        _node(node, layout.nodes[node.id], lit_nodes.get(node.id))
        for node in figure.nodes
        if node.id in layout.nodes
    ]
    circles = "".join(drawn for drawn, _ in nodes_drawn)
    parts.append(f'<g fill="{PAPER}" stroke="{SOFT}" stroke-width="1.3">{circles}</g>')
    # The pointer passes through to the circle below, whose title is shown.
    parts.append(f'<g pointer-events="none">{"".join(label for _, label in nodes_drawn)}</g>')
    return f'<g font-family="{MONO}" text-anchor="middle">{"".join(parts)}</g>'


SMALLEST: Final = 0.6
"""The smallest scale at which a detokenizing FST is drawn whole rather than in part."""


def window(
    figure: MachineFigure,
    layout: Layout,
    x: float,
    y: float,
    width: float,
    height: float,
    focus: Placed,
    nodes: Mapping[str, Mark],
    edges: Mapping[str, Mark],
) -> tuple[str, float]:
    """A drawing, or the part of it around a place if it does not fit.

    Args:
        focus: The box that must be visible.

    Returns:
        Elements, and the height used, which is no more than the visible part needs.
    """
    scale = min(1.0, width / layout.width, height / layout.height)
    # Cutting the FST would hide tokens; cutting a chain of states hides only more of the same.
    if figure.name == "detokenizing_fst" and SMALLEST <= scale < 1.0:
        w, h = layout.width, layout.height
        content = machine(figure, layout, nodes, edges)
        return (
            f'<svg x="{px(x)}" y="{px(y)}" width="{px(w * scale)}" height="{px(h * scale)}" '
            f'viewBox="0 0 {px(w)} {px(h)}">{content}</svg>'
        ), h * scale
    w = min(layout.width, width)
    left = min(max(focus.x - w * 0.5, 0.0), layout.width - w)
    tops: list[float] = [focus.y - focus.r]
    bottoms: list[float] = [focus.y + focus.r]
    seen: dict[str, Routed] = {}
    for node in layout.nodes.values():
        if left - node.r < node.x < left + w + node.r:
            tops.append(node.y - node.r)
            bottoms.append(node.y + node.r)
    for name, edge in layout.edges.items():
        if edge.reach[2] >= left and edge.reach[0] <= left + w:
            seen[name] = edge
            # A long arc leaves the window; only the part inside it counts.
            whole = edge.reach[0] >= left - 4 and edge.reach[2] <= left + w + 4
            if whole or name in edges:
                tops += [edge.reach[1], edge.box[1]]
                bottoms += [edge.reach[3], edge.box[3]]
    top, bottom = min(tops) - 6, max(bottoms) + 6
    if bottom - top > height:
        middle = min(max(focus.y, top + height / 2), bottom - height / 2)
        top, bottom = middle - height / 2, middle + height / 2
    inside = {
        name: node
        for name, node in layout.nodes.items()
        if left - 40 < node.x < left + w + 40 and top - 40 < node.y < bottom + 40
    }
    near = {
        name: edge
        for name, edge in seen.items()
        if min(edge.reach[1], edge.box[1]) < bottom and max(edge.reach[3], edge.box[3]) > top
    }
    part = Layout(layout.width, layout.height, inside, near, layout.returns, layout.engine)
    content = machine(figure, part, nodes, edges)
    view = f"{px(left)} {px(top)} {px(w)} {px(bottom - top)}"
    used = bottom - top
    return (
        f'<svg x="{px(x)}" y="{px(y)}" width="{px(w)}" height="{px(used)}" '
        f'viewBox="{view}" overflow="hidden">{content}</svg>'
    ), used


def document(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """A whole picture, with dark colours for a dark background.

    Args:
        width, height: In pixels.
    """
    size = f"{px(width)} {px(height)}"
    content = f"{box(0, 0, width, height, fill=PAPER)}{''.join(parts)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{px(width)}" '
        f'height="{px(height)}" font-family="{SANS}" font-size="{px(SIZE)}" fill="{INK}" '
        f'xml:space="preserve" role="img" class="{PICTURE}">'
        f"<title>{markup(title)}</title>"
        f"{_dark(content)}{content}</svg>"
    )


_COLOURED: Final = re.compile(r'\b(fill|stroke)="(#[0-9a-f]{6})"')


def _dark(content: str) -> str:
    """The style sheet of a picture, with dark colours only for the colours that are in it."""
    used = sorted({pair for pair in _COLOURED.findall(content) if pair[1] in DARK})
    rules = "".join(f'[{name}="{colour}"]{{{name}:{DARK[colour]}}}' for name, colour in used)
    rules = f"fill:{DARK[INK]};{rules}"
    return (
        f"<style>@media (prefers-color-scheme:dark){{.{PICTURE}:root{{{rules}}}}}"
        f'[data-jp-theme-light="false"] .{PICTURE}{{{rules}}}</style>'
    )
