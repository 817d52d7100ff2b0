"""A run as an animated picture: one SVG that repeats, for a page of a repository or a slide.

Each position is a `snapshot` with the bars of its next token beside the machines: the model's, the
masked ones struck, and the constrained ones, which grow from the model's. At the first steps the
letters of the token are read one by one. The style sheet of the file shows its frames; where a
reader asks for less motion, and in a program that knows no style sheets, the first one stands.

Cost: about 10 kB a frame for the toy, 25 for a vocabulary of thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer.decoding.trace.trace import Trace
from explorer.tokens.machine import TokenMachine
from widgets.figures.drawing.labels import shorten
from widgets.figures.drawing.svg import (
    INK,
    LINE,
    NO,
    NO_PAPER,
    OK,
    PANEL,
    PAPER,
    SOFT,
    box,
    chip,
    document,
    line,
    text,
)
from widgets.figures.panels.mask import mask_summary
from widgets.figures.panels.tokens import bars
from widgets.figures.snapshot import PAD, WIDTH, drawn_at, percent

BESIDE: Final = 420.0
"""The width of the bars, in pixels,"""

NARROWEST: Final = 380.0
"""and the least of the machines."""

BARS: Final = 9
LONGEST: Final = 90.0
"""The length of a bar of probability 1, in pixels, were it alone."""

MOST_POSITIONS: Final = 24
"""The most positions, the first ones."""

LETTERED: Final = 3
"""The number of steps whose letters are shown one by one."""

MOST_LETTERS: Final = 8
"""The most letters of a token that are shown one by one."""

READ: Final = 2.4
"""The seconds of a position,"""

LETTER: Final = 0.7
"""of a letter,"""

GROW: Final = 0.9
"""and of the growth of a bar."""


@dataclass(frozen=True, slots=True)
class _MovingFrame:
    """Elements that are shown for some seconds; bars grow where it is the first of a position."""

    parts: list[str]
    height: float
    seconds: float
    grows: bool


def animated(trace: Trace, machine: TokenMachine) -> str:
    """A run, from its start to its end or to `MOST_POSITIONS` positions.

    Args:
        machine: The token machine of the trace.

    Returns:
        SVG, without any reference to elsewhere.

    Example:
        >>> from explorer.analysis.session import Session
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> session = Session(ToyModel(), toy_constraint())
        >>> _ = session.step(4)
        >>> svg = animated(session.trace, session.machine)
        >>> svg.count('class="frame'), "animation:none" in svg
        (6, True)
    """
    drawn: list[tuple[int, int, list[str], float, float]] = []
    for k in range(min(len(trace.positions), MOST_POSITIONS)):
        data = trace.steps[k].data or b"" if k < min(len(trace.steps), LETTERED) else b""
        for letter in range(min(len(data), MOST_LETTERS) + 1):
            drawn.append((k, letter, *drawn_at(trace, k, machine, letters=letter)))
    wide = max(NARROWEST, *(width for _, _, _, width, _ in drawn))
    frames: list[_MovingFrame] = []
    for k, letter, parts, _, height in drawn:
        beside, bottom = _bars(trace, k, machine, wide)
        seconds = LETTER if letter else READ
        frames.append(_MovingFrame([*parts, beside], max(height, bottom), seconds, not letter))
    height, width = max(frame.height for frame in frames), max(wide + BESIDE, WIDTH)
    title = f"{len(trace.steps)} steps, one position after the other: {mask_summary(trace, 0)}"
    shown = [f'<g class="frame f{i}">{"".join(each.parts)}</g>' for i, each in enumerate(frames)]
    head = box(WIDTH, 0, width - WIDTH, 34, fill=PANEL)
    rules = "".join(line(WIDTH, at, width, at, LINE) for at in (34.0, 70.0))
    edge = box(0.5, 0.5, width - 1, height - 1, stroke=LINE, radius=8)
    return document(width, height, title, [_sheet(frames), head, rules, *shown, edge])


def _sheet(frames: Sequence[_MovingFrame]) -> str:
    """The style sheet that shows one frame after the other, and lets bars grow."""
    whole = sum(frame.seconds for frame in frames)
    rules = [
        ".frame{visibility:hidden}.f0{visibility:visible}.grows{transform-box:fill-box}",
        "@media (prefers-reduced-motion:reduce){.frame,.frame .grows{animation:none !important}}",
    ]
    begun = 0.0
    for i, frame in enumerate(frames):
        first, grown, last = (
            f"{100 * min(at / whole, 1):.2f}%"
            for at in (begun, begun + GROW, begun + frame.seconds)
        )
        begun += frame.seconds
        cycle = f"{whole:.1f}s infinite"
        hidden = "{visibility:hidden}"
        rules.append(
            f"@keyframes f{i}{{0%{hidden}{first}{{visibility:visible}}{last},100%{hidden}}}"
            f".f{i}{{animation:f{i} {cycle} step-end}}"
        )
        if frame.grows:
            small = "{transform:scaleX(var(--from))}"
            rules.append(
                f"@keyframes g{i}{{0%,{first}{small}{grown},100%{{transform:none}}}}"
                f".f{i} .grows{{animation:g{i} {cycle}}}"
            )
    return f"<style>{''.join(rules)}</style>"


def _bars(trace: Trace, k: int, machine: TokenMachine, left: float) -> tuple[str, float]:
    """The bars of a position beside the machines, and where they end."""
    x, y = left + PAD, 92.0
    parts = [text(x, y, "Next token", bold=True)]
    parts.append(text(x + 84, y, mask_summary(trace, k), size=11.5, fill=SOFT))
    shown = bars(trace, k, machine, BARS)
    longest = max([max(bar.model, bar.constrained) for bar in shown], default=1.0) or 1.0
    y += 26
    for words, at in (("model", 232.0), ("constr.", 280.0)):
        parts.append(text(x + at, y, words, size=11, fill=SOFT, anchor="end"))
    for bar in shown:
        y += 26
        stroke = OK if bar.taken else LINE if bar.allowed else NO
        ink = INK if bar.allowed else NO
        weight = 2.0 if bar.taken else 1.0
        words = shorten(bar.text, 10)
        drawn, _ = chip(x, y, words, fill=PAPER, stroke=stroke, ink=ink, weight=weight)
        parts.append(drawn)
        model, constrained = (LONGEST * p / longest for p in (bar.model, bar.constrained))
        parts.append(box(x + 98, y - 10, model, 5, fill=SOFT if bar.allowed else NO_PAPER,
                         stroke="none" if bar.allowed else NO))  # fmt: skip
        if bar.allowed and constrained:
            grown = box(x + 98, y - 3, constrained, 5, fill=OK)
            start = f'class="grows" style="--from:{min(model / constrained, 1):.3f}"'
            parts.append(grown.replace("<rect", f"<rect {start}", 1))
        elif not bar.allowed:
            parts.append(line(x + 96, y - 7.5, x + 100 + model, y - 7.5, NO, 1.5))
        last = percent(bar.constrained) if bar.allowed else "–"
        parts.append(text(x + 232, y, percent(bar.model), fill=SOFT, anchor="end"))
        parts.append(text(x + 280, y, last, fill=OK, anchor="end", bold=True))
        if bar.reason:
            parts.append(text(x + 288, y, shorten(bar.reason, 19), size=11, fill=NO))
    return "".join(parts), y + 16
