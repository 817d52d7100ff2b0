"""One position as a static picture and as text: for reports, nbconvert, and pages without a kernel.

The same parts in the same order as the page: what we ask, where we are, the machines with the
numbers beside them, the reason, the mask. Light colours, no script, no style sheet, all text
escaped. Drawings that do not fit show the part around the present state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.analysis.explaining.explanation import explain
from explorer.automata.source import Regex
from explorer.decoding.trace.trace import Trace
from explorer.tokens.failing import run
from explorer.tokens.token_dfa import TokenDFA
from widgets.figures.drawing.geometry import Placed
from widgets.figures.drawing.labels import byte_text, shorten
from widgets.figures.drawing.layout import Layout
from widgets.figures.drawing.palette import (
    INK,
    LINE,
    NO,
    NOW,
    NOW_PAPER,
    OK,
    OK_PAPER,
    PANEL,
    PAPER,
    SOFT,
    SURPRISAL,
    SURPRISAL_PAPER,
)
from widgets.figures.drawing.svg import MONO_WIDTH, box, chip, document, hatched, line, text, window
from widgets.figures.machines.ahead import ahead
from widgets.figures.machines.character_fsa import character_view
from widgets.figures.machines.detokenizing_figure import relevant_tokens
from widgets.figures.machines.lit import Lit, lit
from widgets.figures.machines.machine_figure import MachineFigure
from widgets.figures.packets import drawn_figures
from widgets.figures.panels.distribution import TINY_Z, Bar, bars, table_text
from widgets.figures.panels.mask import summary, token_order
from widgets.figures.panels.strip import shade, surprisal
from widgets.figures.position import live_spans, position_packet

WIDTH: Final = 1040.0
LEFT: Final = 620.0
"""Where the right column begins."""

PAD: Final = 14.0
TALLEST: Final = 270.0
"""The tallest drawing of one machine."""

BARS: Final = 10
BRANCHES: Final = 7
"""How many tokens the detokenizing FST shows."""

CELLS: Final = 24
"""Up to so many tokens the mask names each."""

TITLES: Final = {
    "character_fsa": "Character FSA",
    "detokenizing_fst": "Detokenizing FST",
    "token_dfa": "Token DFA = FSA ∘ FST",
}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A static picture.

    Args:
        svg: A whole SVG document.
        text: The same for a terminal.
        title: What it shows, in a line.
    """

    svg: str
    text: str
    title: str = ""

    def to_mimebundle(self) -> dict[str, str]:
        """By media type, as notebooks want it."""
        return {"image/svg+xml": self.svg, "text/plain": self.text}

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """At the end of a cell it shows itself."""
        return self.to_mimebundle()


def snapshot(
    trace: Trace,
    k: int,
    dfa: TokenDFA | None = None,
    *,
    tokens: Iterable[int] = (),
    written: int | None = None,
) -> Snapshot:
    """One position of a trace.

    Args:
        trace: The record.
        k: A position.
        dfa: The token DFA of the trace; without it there are no machines and no reasons.
        tokens: Further tokens that the detokenizing FST shows.
        written: In slow motion, how many bytes of the token taken next are written.
    """
    packet = position_packet(trace, k, dfa)
    shown = bars(trace, k, dfa, BARS)
    parts: list[str] = []
    y = _head(parts, trace, k, dfa)
    top = y
    left = _machines(parts, trace, k, dfa, tuple(tokens), written, top) if dfa else top
    right = _numbers(parts, trace, k, dfa, shown, packet, top)
    y = max(left, right) + 6
    if dfa is not None:
        parts.append(line(LEFT, top, LEFT, y, LINE))
    parts.append(line(0, y, WIDTH, y, LINE))
    y = _below(parts, trace, k, y)
    frame = box(0.5, 0.5, WIDTH - 1, y - 1, stroke=LINE, radius=8)
    title = f"Position {k}: {summary(trace.positions[k].num_allowed, trace.tokens.size)}"
    svg = document(WIDTH, y, title, [*parts, frame])
    return Snapshot(svg, snapshot_text(trace, k, dfa), title)


def _head(parts: list[str], trace: Trace, k: int, dfa: TokenDFA | None) -> float:
    """Constraint, prompt and tokens."""
    parts.append(box(0, 0, WIDTH, 52, fill=PANEL))
    parts.append(line(0, 52, WIDTH, 52, LINE))
    parts.append(text(PAD, 20, "Constraint", size=11.5, fill=SOFT))
    pattern, spans = "(none)", ()
    if dfa is not None:
        source = dfa.constraint.source
        pattern = source.pattern if isinstance(source, Regex) else str(source)
        spans = live_spans(dfa, trace.positions[k].data)
        report = dfa.report
        facts = (
            f"{report.character_states:,} → {report.token_states:,} states, "
            f"{report.token_classes:,} token classes, {_milliseconds(report.total_milliseconds)}"
        )
        parts.append(text(WIDTH - PAD, 20, facts, size=11.5, fill=SOFT, anchor="end"))
    parts.append(_pattern(pattern, spans, 40.0))
    parts.append(text(PAD, 76, f"position {k}", size=12, fill=SOFT))
    x, y = PAD + 84, 76.0
    prompt = trace.prompt if isinstance(trace.prompt, str) else ""
    if prompt:
        words = shorten("…" + prompt[-40:] if len(prompt) > 40 else prompt, 42)
        parts.append(text(x, y, words, size=12, fill=SOFT, mono=True))
        x += len(words) * 12 * MONO_WIDTH + 8
    first = max(0, k - 24)
    if first:
        parts.append(text(x, y, f"… {first} tokens …", size=12, fill=SOFT))
        x += 120
    for j in range(first, k):
        step = trace.steps[j]
        words = shorten(table_text(trace, step.token), 20)
        width = len(words) * 12.5 * MONO_WIDTH + 14
        if x + width > WIDTH - PAD:
            x, y = PAD + 84, y + 26
        fill = SURPRISAL_PAPER if shade(surprisal(step)) > 0.1 else PAPER
        border = SURPRISAL if shade(surprisal(step)) > 0.1 else LINE
        drawn, used = chip(x, y, words, fill=fill, stroke=border, size=12.5)
        parts.append(drawn)
        if step.intervention:
            parts.append(line(x + 4, y + 9, x + used - 4, y + 9, NO, 2))
        x += used + 4
    if k < len(trace.steps):
        words = shorten(table_text(trace, trace.steps[k].token), 20)
        if x + len(words) * 12.5 * MONO_WIDTH + 14 > WIDTH - PAD:
            x, y = PAD + 84, y + 26
        parts.append(chip(x, y, words, fill=PAPER, stroke=NOW, size=12.5, weight=2)[0])
    y += 16
    parts.append(line(0, y, WIDTH, y, LINE))
    return y


def _pattern(pattern: str, spans: Iterable[tuple[int, int]], y: float) -> str:
    """The pattern, its live places underlined; of a long one the part around the first of them."""
    most = 112
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
    dfa: TokenDFA,
    tokens: tuple[int, ...],
    written: int | None,
    top: float,
) -> float:
    """The three drawings under each other."""
    shown = relevant_tokens(trace, k, tokens, BRANCHES)
    if len(dfa.vocabulary) <= CELLS:
        every = range(len(dfa.vocabulary))
        shown = tuple(t for t in every if dfa.vocabulary.tokens[t] is not None)
    along = [p.state for p in reversed(trace.positions[: k + 1]) if p.state >= 0]
    figures, layouts = drawn_figures(dfa, shown, sources=along)
    if "character_fsa" not in figures:
        machine = dfa.constraint.dfa
        path = run(machine, machine.start, trace.positions[k].data).tolist()
        stops = [position.char_state for position in trace.positions[: k + 1]]
        near, places = ahead(dfa, path, stops)
        figures |= near
        layouts |= places
    token = trace.steps[k].token if k < len(trace.steps) else None
    marks = lit(trace, k, dfa, token=token, written=written)
    # The two machines with the same states show the same part of their axis.
    here = character_view(dfa).node(trace.positions[k].char_state)
    inside = next((n for n, mark in marks.nodes.items() if mark == "now" and n[0] == "t"), "t")
    y = top
    places = {"character_fsa": f"c{here}", "detokenizing_fst": inside, "token_dfa": f"q{here}"}
    for name, place in places.items():
        y += 22
        parts.append(text(PAD, y, TITLES[name], size=12, bold=True))
        x = PAD + len(TITLES[name]) * 7.9 + 14
        parts.append(text(x, y, figures[name].caption, size=11.5, fill=SOFT))
        focus = layouts[name].nodes.get(place)
        y = _drawing(parts, figures[name], layouts[name], marks, y + 6, focus)
    return y


def _drawing(
    parts: list[str],
    figure: MachineFigure,
    layout: Layout,
    marks: Lit,
    y: float,
    focus: Placed | None,
) -> float:
    room = LEFT - 2 * PAD
    at = focus or Placed(0.0, 0.0)
    drawn, height = window(figure, layout, PAD, y, room, TALLEST, at, marks.nodes, marks.edges)
    parts.append(drawn)
    return y + height


def _numbers(
    parts: list[str],
    trace: Trace,
    k: int,
    dfa: TokenDFA | None,
    shown: tuple[Bar, ...],
    packet: dict[str, object],
    top: float,
) -> float:
    """Facts, bars, and the reason of the likeliest masked token."""
    position = trace.positions[k]
    found = position.distribution
    x0, x1 = (LEFT + PAD, WIDTH - PAD) if dfa is not None else (PAD, WIDTH - PAD)
    y = top + 28
    facts = [(f"{position.num_allowed:,}", f"allowed of {trace.tokens.size:,}", INK)]
    if found is not None:
        facts.append((_short(found.z), "feasible mass", NO if found.z < TINY_Z else INK))
        facts.append(
            (f"{found.entropy_before:.1f} → {found.entropy_after:.1f}", "entropy, bits", INK)
        )
        facts.append((f"{found.kl:.2f}", "KL, bits", INK))
    widths = [max(len(large) * 10.6, len(small) * 6.5) for large, small, _ in facts]
    gap = min(max((x1 - x0 - sum(widths)) / max(len(facts) - 1, 1), 6.0), 26.0)
    x = x0
    for (large, small, colour), width in zip(facts, widths, strict=True):
        parts.append(text(x, y, large, size=17, fill=colour, bold=True))
        parts.append(text(x, y + 17, small, size=11, fill=SOFT))
        x += width + gap
    y += 40
    if not shown:
        words = "the text has ended" if position.finished else "no model: no probabilities"
        parts.append(text(x0, y, words, size=12, fill=SOFT))
        return y + 14
    columns = (x0 + 176.0, x0 + 226.0, x0 + 270.0)
    names = ("model", "filtered", "constr.")
    parts.append(text(x0, y, "token", size=11, fill=SOFT))
    for at, name, colour in zip(columns, names, (SOFT, SOFT, OK), strict=True):
        parts.append(text(at, y, name, size=11, fill=colour, anchor="end"))
    y += 6
    most = max(max(bar.model, bar.constrained) for bar in shown) or 1.0
    for bar in shown:
        y = _bar(parts, bar, x0, x1, y, most, columns)
    taken = packet.get("rank")
    if taken is not None:
        parts.append(
            text(x0, y + 14, f"taken: number {taken:,} of the model's order", size=11.5, fill=SOFT)
        )
        y += 18
    masked = next((bar for bar in shown if not bar.allowed), None)
    if dfa is not None and masked is not None and position.state >= 0:
        y = _why(parts, trace, k, dfa, masked, x0, x1, y + 10)
    return y + 6


def _bar(
    parts: list[str],
    bar: Bar,
    x0: float,
    x1: float,
    y: float,
    most: float,
    columns: tuple[float, float, float],
) -> float:
    """One token: chip, two bars, three numbers, the reason."""
    height = 23.0
    if bar.taken:
        parts.append(box(x0 - 4, y + 1, x1 - x0 + 8, height - 1, fill=NOW_PAPER, radius=4))
    words = shorten(bar.text, 11)
    strike = "" if bar.allowed else NO
    drawn, _ = chip(x0, y + 16, words, fill=PANEL, stroke=LINE, size=11.5, strike=strike)
    parts.append(drawn)
    at, room = x0 + 94.0, 50.0
    if bar.allowed:
        parts.append(box(at, y + 4, room * bar.model / most, 6, fill=SOFT, radius=2))
        parts.append(box(at, y + 12, room * bar.constrained / most, 6, fill=OK, radius=2))
    else:
        parts.append(hatched(at, y + 6, max(room * bar.model / most, 4.0), 7, NO))
    for place, value, colour in zip(
        columns, (bar.model, bar.filtered, bar.constrained), (SOFT, SOFT, OK), strict=True
    ):
        shown = _percent(value) if bar.allowed or place != columns[2] else "–"
        parts.append(text(place, y + 16, shown, size=12, fill=colour, anchor="end"))
    if bar.reason:
        room = int((x1 - columns[2] - 10) / 7.1)
        parts.append(text(columns[2] + 10, y + 16, shorten(bar.reason, room), size=11.5, fill=NO))
    return y + height


def _why(
    parts: list[str],
    trace: Trace,
    k: int,
    dfa: TokenDFA,
    bar: Bar,
    x0: float,
    x1: float,
    y: float,
) -> float:
    """The reason, in a box, with the bytes of the token."""
    position = trace.positions[k]
    found = explain(dfa, position.state, bar.id, text=position.data)
    lines = _wrapped(found.message, int((x1 - x0 - 20) / 7.0), 5)
    data = found.verdict.data or b""
    height = 30.0 + 17 * len(lines) + (30 if data else 0)
    parts.append(box(x0, y, x1 - x0, height, fill=PANEL, stroke=LINE, radius=6))
    parts.append(text(x0 + 10, y + 18, "Why is", size=11.5, fill=SOFT))
    drawn, used = chip(x0 + 56, y + 18, shorten(bar.text, 24), fill=PAPER, stroke=LINE, size=11.5)
    parts.append(drawn)
    parts.append(text(x0 + 62 + used, y + 18, "masked?", size=11.5, fill=SOFT))
    at = y + 38
    for words in lines:
        parts.append(text(x0 + 10, at, words, size=12))
        at += 17
    x = x0 + 10
    for j, byte in enumerate(data):
        if x > x1 - 40:
            break
        failed = found.byte_offset is not None and j == found.byte_offset
        later = found.byte_offset is not None and j > found.byte_offset
        drawn, used = chip(
            x,
            at + 6,
            byte_text(byte),
            fill=PAPER,
            stroke=NO if failed else LINE if later else OK,
            ink=NO if failed else SOFT if later else OK,
            weight=2 if failed else 1,
        )
        parts.append(drawn)
        x += used + 4
    return y + height


def _below(parts: list[str], trace: Trace, k: int, y: float) -> float:
    """The mask, and how many were allowed at each position."""
    position = trace.positions[k]
    parts.append(text(PAD, y + 20, "Mask", size=11.5, fill=SOFT))
    words = summary(position.num_allowed, trace.tokens.size)
    parts.append(text(LEFT - PAD, y + 20, words, size=11.5, fill=SOFT, anchor="end"))
    allowed = trace.allowed(k)
    if trace.tokens.size <= CELLS:
        x = PAD
        for token in range(trace.tokens.size):
            name = table_text(trace, token)
            on = bool(allowed[token])
            width = len(name) * 12 * MONO_WIDTH + 24
            stroke, fill = (OK, OK_PAPER) if on else (LINE, PAPER)
            if x + width > LEFT - PAD:
                break
            parts.append(box(x, y + 30, width, 24, fill=fill, stroke=stroke, radius=3))
            if not on:
                parts.append(hatched(x + 1, y + 31, width - 2, 22, LINE))
            ink = INK if on else SOFT
            parts.append(text(x + width / 2, y + 46, name, fill=ink, anchor="middle", mono=True))
            x += width + 4
    else:
        _strip_of_mask(parts, trace, allowed, y + 30)
    parts.append(line(LEFT, y, LEFT, y + 68, LINE))
    parts.append(text(LEFT + PAD, y + 20, "Allowed per position", size=11.5, fill=SOFT))
    counts = [p.num_allowed for p in trace.positions]
    _columns(parts, counts, k, LEFT + PAD, y + 28, WIDTH - LEFT - 2 * PAD, 28.0)
    return y + 68


def _strip_of_mask(parts: list[str], trace: Trace, allowed: np.ndarray, y: float) -> None:
    """The vocabulary on a line, by class; runs of allowed tokens at least a hair wide."""
    room = LEFT - 2 * PAD
    order = token_order("class", trace.token_class) if len(trace.token_class) else None
    bits = allowed if order is None else allowed[order]
    parts.append(box(PAD, y, room, 24, fill=PANEL, stroke=LINE))
    edges = np.flatnonzero(np.diff(bits.astype(np.int8), prepend=0, append=0))
    spans: list[tuple[float, float]] = []
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        left, right = room * first / len(bits), room * last / len(bits)
        right = max(right, left + 2.0)
        if spans and left <= spans[-1][1] + 0.5:
            spans[-1] = (spans[-1][0], max(right, spans[-1][1]))
        else:
            spans.append((left, right))
    for left, right in spans:
        parts.append(box(PAD + min(left, room - 2), y, right - left, 24, fill=OK))


def _columns(
    parts: list[str], counts: list[int], k: int, x: float, y: float, width: float, height: float
) -> None:
    """Counts as columns on a logarithmic scale, the present one in amber."""
    first = max(0, len(counts) - 40)
    shown = counts[first:]
    most = float(np.log2(max([*shown, 1]) + 1))
    step = min(28.0, width / max(len(shown), 1))
    for j, count in enumerate(shown):
        high = height * float(np.log2(count + 1)) / most
        fill = NOW if first + j == k else OK
        parts.append(box(x + j * step, y + height - high, step - 4, high, fill=fill, radius=2))


def _short(value: float) -> str:
    return f"{value:.2f}" if value >= 0.01 else f"{value:.1e}"


def _milliseconds(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.2g} ms"


def _percent(value: float) -> str:
    """A probability in per cent: whole where that says it, else two digits."""
    percent = 100 * value
    if percent >= 9.95 or (round(percent) >= 1 and abs(percent - round(percent)) < 0.005):
        return str(int(percent + 0.5))
    if percent == 0:
        return "0"
    return f"{percent:.1f}" if percent >= 0.095 else "<0.1"


def _printable(words: str) -> str:
    """Text for a terminal: what has no ink is written out."""
    return "".join(
        c if c == " " or c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode()
        for c in words
    )


def _wrapped(words: str, width: int, most: int) -> list[str]:
    """Text in lines, the last one cut where there are too many."""
    import textwrap

    lines = textwrap.wrap(words, width, break_on_hyphens=False)
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1] + " …"]


def snapshot_text(trace: Trace, k: int, dfa: TokenDFA | None = None) -> str:
    """One position for a terminal or a screen reader.

    Args:
        trace: The record.
        k: A position.
        dfa: The token DFA, for reasons.
    """
    position = trace.positions[k]
    shown = _printable(position.text)
    lines = [f"Position {k} after {len(position.data)} bytes: {shown}"]
    if dfa is not None:
        source = dfa.constraint.source
        pattern = source.pattern if isinstance(source, Regex) else str(source)
        lines.insert(0, "Constraint: " + _printable(pattern))
    lines.append(summary(position.num_allowed, trace.tokens.size))
    found = position.distribution
    if found is not None:
        lines.append(
            f"feasible mass {_short(found.z)}, entropy {found.entropy_before:.2f} → "
            f"{found.entropy_after:.2f} bits, KL {found.kl:.2f} bits"
        )
        lines.append(f"{'token':20} {'model':>7} {'filtered':>9} {'constr.':>8}")
    for bar in bars(trace, k, dfa, BARS):
        last = _percent(bar.constrained) if bar.allowed else "–"
        mark = ">" if bar.taken else " "
        row = (
            f"{mark}{shorten(bar.text, 19):19} {_percent(bar.model):>7} {_percent(bar.filtered):>9}"
        )
        lines.append(f"{row} {last:>8}  {bar.reason or ''}".rstrip())
    if position.finished:
        lines.append("The text has ended.")
    return "\n".join(lines)
