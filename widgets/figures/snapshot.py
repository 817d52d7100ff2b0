"""One position as a static picture and as text: for reports, nbconvert, and pages without a kernel.

The picture shows the central idea: the three machines, with the path so far, the present states and
the path of the next token. The numbers, the reasons and the mask are in the text. The picture has
no script, all its text is escaped, and it has light colours and dark ones for a dark background. A
drawing that does not fit shows the part around the present state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from explorer.decoding.trace.trace import Trace
from explorer.tokens.machine import TokenMachine
from widgets.figures.drawing.geometry import Placed
from widgets.figures.drawing.labels import shorten, token_text, tokens_label
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.drawing.svg import (
    LINE,
    MONO_WIDTH,
    NOW,
    PANEL,
    PAPER,
    SOFT,
    box,
    chip,
    document,
    line,
    px,
    text,
    window,
)
from widgets.figures.machines.detokenizing_figure import (
    detokenizing_figure,
    failing_offsets,
    masked_tokens,
    shown_tokens,
)
from widgets.figures.machines.drawn import draw_at
from widgets.figures.machines.lit import lit, lit_path, walk_token
from widgets.figures.machines.machine_figure import MachineFigure
from widgets.figures.packets import live_spans, written_pattern
from widgets.figures.panels.mask import mask_summary
from widgets.figures.panels.tokens import bars, table_text

WIDTH: Final = 760.0
PAD: Final = 14.0
TALLEST: Final = 270.0
"""The greatest height of the drawing of one machine, in pixels."""

HEADING: Final = 26.0
"""The height of a heading above one of several pictures, in pixels."""

BARS: Final = 10
LAST_TOKENS: Final = 12
"""The most tokens of the text that are shown; of a longer text the last ones."""

TITLES: Final = {
    "character_fsa": "Character FSA",
    "detokenizing_fst": "Detokenizing FST",
    "token_dfa": "Token DFA = FSA ∘ FST",
}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A static picture.

    Args:
        height: The height in pixels; 0 for a picture that is never stacked with others.
    """

    svg: str
    text: str
    title: str = ""
    height: float = 0.0

    def to_mimebundle(self) -> dict[str, str]:
        """The picture and its text by media type, as notebooks display them."""
        return {"image/svg+xml": self.svg, "text/plain": self.text}

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """The bundle that a notebook displays at the end of a cell."""
        return self.to_mimebundle()


def snapshot(
    trace: Trace, k: int, machine: TokenMachine, *, tokens: Iterable[int] = ()
) -> Snapshot:
    """One position of a trace.

    Args:
        machine: The token machine of the trace; `Free` has no drawings and no reasons.
    """
    parts, _, y = drawn_at(trace, k, machine, tokens=tokens)
    frame = box(0.5, 0.5, WIDTH - 1, y - 1, stroke=LINE, radius=8)
    title = f"Position {k}: {mask_summary(trace, k)}"
    svg = document(WIDTH, y, title, [*parts, frame])
    return Snapshot(svg, snapshot_text(trace, k, machine), title, y)


def drawn_at(
    trace: Trace,
    k: int,
    machine: TokenMachine,
    *,
    tokens: Iterable[int] = (),
    letters: int | None = None,
) -> tuple[list[str], float, float]:
    """The elements of a position, the width of its machines, and the height of all.

    Args:
        machine: The token machine of the trace.
        letters: The number of bytes of the next token that are read; ``None`` for all its path.
    """
    parts: list[str] = []
    y, wide = _head(parts, trace, k, machine), 0.0
    if machine.constraint is not None:
        wide, y = _machines(parts, trace, k, machine, tuple(tokens), y, letters)
        y += 8
    return parts, wide, y


def stacked(pictures: Mapping[str, Snapshot]) -> Snapshot:
    """Several pictures below each other, each with a heading; a single picture is unchanged.

    Example:
        >>> one, other = Snapshot("<svg/>", "a", "A", 10.0), Snapshot("<svg/>", "b", "B", 10.0)
        >>> both = stacked({"left": one, "right": other})
        >>> both.title, both.height
        ('left: A; right: B', 72.0)
    """
    if len(pictures) == 1:
        return next(iter(pictures.values()))
    parts: list[str] = []
    y = 0.0
    for heading, picture in pictures.items():
        parts.append(text(PAD, y + 18, heading, size=13, bold=True))
        parts.append(picture.svg.replace("<svg ", f'<svg y="{px(y + HEADING)}" ', 1))
        y += HEADING + picture.height
    told = "\n\n".join(f"{heading}:\n{one.text}" for heading, one in pictures.items())
    title = "; ".join(f"{heading}: {one.title}" for heading, one in pictures.items())
    return Snapshot(document(WIDTH, y, title, parts), told, title, y)


def _head(parts: list[str], trace: Trace, k: int, machine: TokenMachine) -> float:
    """The constraint, and the tokens so far with the next one."""
    parts.append(box(0, 0, WIDTH, 34, fill=PANEL))
    parts.append(line(0, 34, WIDTH, 34, LINE))
    spans = live_spans(machine, trace.positions[k].data)
    parts.append(_pattern(written_pattern(machine) or "(no constraint)", spans, 22.0))
    parts.append(text(PAD, 56, f"position {k}", size=12, fill=SOFT))
    x = PAD + 84
    first = max(0, k - LAST_TOKENS)
    if first:
        parts.append(text(x, 56, f"… {first} tokens …", size=12, fill=SOFT))
        x += 110
    for j in range(first, min(k + 1, len(trace.steps))):
        words = shorten(table_text(trace, trace.steps[j].token), 20)
        if x + len(words) * 12.5 * MONO_WIDTH + 14 > WIDTH - PAD:
            parts.append(text(x, 56, "…", size=12, fill=SOFT))
            break
        edge = NOW if j == k else LINE
        drawn, used = chip(
            x, 56, words, fill=PAPER, stroke=edge, size=12.5, weight=2 if j == k else 1
        )
        parts.append(drawn)
        x += used + 4
    parts.append(line(0, 70, WIDTH, 70, LINE))
    return 70.0


def _pattern(pattern: str, spans: Iterable[tuple[int, int]], y: float) -> str:
    """The pattern with its live places underlined; of a long one the part around the first."""
    most = 84
    spans = list(spans)
    first = spans[0][0] if spans else 0
    begin = max(0, min(first - most // 2, len(pattern) - most))
    shown = "".join(c if c.isprintable() else "·" for c in pattern[begin : begin + most])
    ahead_of = "…" if begin else ""
    after = "…" if begin + most < len(pattern) else ""
    step = 14 * MONO_WIDTH
    parts = [text(PAD, y, ahead_of + shown + after, size=14, mono=True)]
    for start, end in spans:
        a, b = max(start - begin, 0), min(end - begin, most)
        if a < b:
            x = PAD + (len(ahead_of) + a) * step
            parts.append(line(x, y + 4, x + (b - a) * step, y + 4, NOW, 2))
    return "".join(parts)


def _machines(
    parts: list[str],
    trace: Trace,
    k: int,
    machine: TokenMachine,
    tokens: tuple[int, ...],
    y: float,
    letters: int | None,
) -> tuple[float, float]:
    """The three drawings below each other: their width, and where they end."""
    vocabulary = machine.vocabulary
    shown = shown_tokens(trace, k, machine, tokens)
    masked = masked_tokens(trace, k, shown)
    fails = failing_offsets(machine, trace.positions[k].state, masked)
    inner = {"detokenizing_fst": detokenizing_figure(vocabulary, shown, masked, fails)}
    drawn = draw_at(machine, trace, k)
    figures = {**drawn.figures, **inner}
    layouts = {**drawn.layouts, **lay_out_figures(inner)}
    token = trace.steps[k].token if k < len(trace.steps) else None
    marks, path = lit(trace, k, machine, token, letters), lit_path(trace, k, machine)
    now = [name for name, mark in marks.nodes.items() if mark == "now"] or path.now
    taken = {arc: words[-1] for arc, words in path.tokens.items()}
    if token is not None and trace.positions[k].state >= 0:
        arc = walk_token(machine, trace.positions[k].state, token).arc
        taken |= {} if arc is None else {arc: token_text(vocabulary, token)}
    if "token_dfa" in figures:
        figures["token_dfa"] = _named(figures["token_dfa"], taken)
    room, wide = WIDTH - 2 * PAD, 0.0
    for name, title in TITLES.items():
        if name not in figures:
            continue
        y += 22
        parts.append(text(PAD, y, title, size=12, bold=True))
        x = PAD + len(title) * 7.9 + 14
        parts.append(text(x, y, figures[name].caption, size=11.5, fill=SOFT))
        places = layouts[name].nodes
        focus = next((places[node] for node in now if node in places), Placed(0.0, 0.0))
        wide = max(wide, min(layouts[name].width, room) + 2 * PAD)
        picture, height = window(
            figures[name], layouts[name], PAD, y + 6, room, TALLEST, focus, marks.nodes, marks.edges
        )
        parts.append(picture)
        y += 6 + height
    return wide, y


def _named(figure: MachineFigure, taken: Mapping[str, str]) -> MachineFigure:
    """The figure, with the arcs of the path labelled by the tokens that were taken on them.

    An arc of many tokens would otherwise be labelled by the first of them.
    """
    edges = [
        replace(edge, label=tokens_label([taken[edge.id]], edge.count))
        if edge.id in taken and edge.count > 1
        else edge
        for edge in figure.edges
    ]
    return replace(figure, edges=tuple(edges))


def _short(value: float) -> str:
    return f"{value:.2f}" if value >= 0.01 else f"{value:.1e}"


def percent(value: float) -> str:
    """A probability in per cent: a whole number if that is exact enough, else two digits."""
    percent = 100 * value
    if percent >= 9.95 or (round(percent) >= 1 and abs(percent - round(percent)) < 0.005):
        return str(int(percent + 0.5))
    if percent == 0:
        return "0"
    return f"{percent:.1f}" if percent >= 0.095 else "<0.1"


def _printable(words: str) -> str:
    """Text for a terminal: invisible characters are written out."""
    return "".join(
        c if c == " " or c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode()
        for c in words
    )


def snapshot_text(trace: Trace, k: int, machine: TokenMachine) -> str:
    """One position for a terminal or a screen reader."""
    position = trace.positions[k]
    shown = _printable(position.text)
    lines = [f"Position {k} after {len(position.data)} bytes: {shown}"]
    if pattern := written_pattern(machine):
        lines.insert(0, "Constraint: " + _printable(pattern))
    lines.append(mask_summary(trace, k))
    distribution = position.distribution
    if distribution is not None:
        lines.append(
            f"feasible mass {_short(distribution.z)}, entropy {distribution.entropy_before:.2f} → "
            f"{distribution.entropy_after:.2f} bits, KL {distribution.kl:.2f} bits"
        )
        lines.append(f"{'token':20} {'model':>7} {'filtered':>9} {'constr.':>8}")
    for bar in bars(trace, k, machine, BARS):
        last = percent(bar.constrained) if bar.allowed else "–"
        mark = ">" if bar.taken else " "
        row = f"{mark}{shorten(bar.text, 19):19} {percent(bar.model):>7} {percent(bar.filtered):>9}"
        lines.append(f"{row} {last:>8}  {bar.reason or ''}".rstrip())
    return "\n".join(lines)
