"""A machine reading a text as a strip of pictures, one frame for each arc; and a stack likewise.

The motion of the explorer becomes still pictures, which can be printed and compared. A notebook
shows one frame of a film at a time, with a slider; a page without scripts shows all of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import quote

from explorer.automata.rules.pushdown import Pushdown
from explorer.errors import ExplorerError
from explorer.languages.stages.stage import DrawnTransducer
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.drawing.svg import (
    LINE,
    OK,
    OK_PAPER,
    PAPER,
    SOFT,
    Mark,
    box,
    document,
    line,
    machine,
    text,
)
from widgets.figures.snapshot import Snapshot
from widgets.lessons.lettered import Arc, arc_words, is_acceptor, lettered_figure, node_name

MOST: Final = 16
"""The most frames of a strip."""


HEAD: Final = 34.0
"""The height above the first frame of a film, in pixels."""


@dataclass(frozen=True, slots=True)
class Film(Snapshot):
    """A picture of frames below each other, of which a notebook shows one.

    Args:
        each: The height of a frame, in pixels.
        said: What each frame shows, in words.
    """

    each: float = 0.0
    said: tuple[str, ...] = ()

    def to_mimebundle(self) -> dict[str, str]:
        """The frame that a slider chooses, all frames, and their text, by media type."""
        image, words = quote(self.svg), escape(self.text)
        moves = (
            "const strip = this.nextElementSibling.querySelector('img');"
            f"strip.style.marginTop = -({HEAD:g} + this.value * {self.each:g}) + 'px';"
            "this.setAttribute('aria-valuetext', JSON.parse(this.dataset.said)[this.value])"
        )
        slider = (
            f'<figure class="lmx-film" style="margin:0">'
            f'<b style="font-size:13px">{escape(self.title)}</b><br>'
            f'<input type="range" min="0" max="{len(self.said) - 1}" value="0" style="width:320px"'
            f' aria-label="frame" aria-valuetext="{escape(self.said[0])}"'
            f' data-lm-suppress-shortcuts="true"'
            f' data-said="{escape(json.dumps(self.said))}" oninput="{escape(moves)}">'
            f'<div style="overflow-x:auto"><div style="overflow:hidden; width:max-content;'
            f' height:{self.each:g}px"><img alt="{words}" style="max-width:none;'
            f' margin-top:-{HEAD:g}px" src="data:image/svg+xml,{image}"></div></div></figure>'
        )
        return {"text/html": slider, **Snapshot.to_mimebundle(self)}


@dataclass(frozen=True, slots=True)
class WayThrough:
    """A path of a machine through a text."""

    arcs: tuple[Arc, ...]
    states: tuple[int, ...]
    written: tuple[str, ...]


def way_through(machine_read: DrawnTransducer, symbols: Sequence[str]) -> WayThrough | None:
    """A shortest path that reads and accepts a sequence of symbols; ``None`` if there is none.

    Args:
        symbols: Characters, or tokens.

    Example:
        >>> swap = DrawnTransducer(2, ((0, "a", "x", 1), (1, "b", "", 0)), frozenset([0]))
        >>> found = way_through(swap, "ab")
        >>> found.states, found.written
        ((0, 1, 0), ('', 'x', 'x'))
        >>> way_through(swap, "a") is None
        True
    """
    waiting: list[tuple[int, int, tuple[Arc, ...]]] = [(0, 0, ())]
    seen = {(0, 0)}
    for state, at, path in waiting:
        if at == len(symbols) and state in machine_read.accepting:
            return WayThrough(path, (0, *(arc[3] for arc in path)), _written(path, symbols))
        for arc in machine_read.arcs:
            if arc[0] != state:
                continue
            after = at
            if arc[1]:
                if at == len(symbols) or not reads(arc[1], symbols[at]):
                    continue
                after += 1
            if (arc[3], after) not in seen:
                seen.add((arc[3], after))
                waiting.append((arc[3], after, (*path, arc)))
    return None


def _written(path: Sequence[Arc], symbols: Sequence[str]) -> tuple[str, ...]:
    """The texts written before the first arc and after each; a range writes the symbol it reads."""
    written, read = [""], 0
    for _, label, letters, _ in path:
        written.append(written[-1] + (symbols[read] if label and label == letters else letters))
        read += bool(label)
    return tuple(written)


def reads(label: str, symbol: str) -> bool:
    """Whether a label such as ``0-9`` or ``a`` stands for a symbol.

    Example:
        >>> reads("0-9", "5"), reads("a", "b"), reads("-", "-")
        (True, False, True)
    """
    if len(label) == 3 and label[1] == "-" and len(symbol) == 1:
        return label[0] <= symbol <= label[2]
    return label == symbol


def reading_picture(
    title: str,
    shown: DrawnTransducer,
    symbols: Sequence[str],
    *,
    names: Sequence[str] = (),
    loops: bool = False,
) -> Film:
    """A machine that reads symbols, one frame for each arc.

    Args:
        title: The title, such as the text that it reads.
        shown: The machine.
        symbols: Characters, or tokens.
        names: Words in the circles; default the numbers of the states.
        loops: Whether to draw it as a tree whose branches all lead back to the start.

    Raises:
        ExplorerError: The machine does not accept the symbols, or it takes more than `MOST` arcs.

    Example:
        >>> from widgets.lessons.lettered import acceptor
        >>> ab = acceptor(3, [(0, "a", 1), (1, "b", 2)], [2])
        >>> print(reading_picture("ab", ab, "ab").text)
        ab
        in 0; nothing read
        a leads to 1; read a
        b leads to 2; read ab; the text may end here
    """
    way = way_through(shown, symbols)
    if way is None or len(way.arcs) > MOST:
        raise ExplorerError(
            f"The machine has no path of at most {MOST} arcs through {''.join(symbols)!r}.",
            remedy="Give a text that it accepts, and a short one.",
        )
    figure = lettered_figure(shown, names, loops=loops)
    labels = {node.id: node.label for node in figure.nodes}
    layout = lay_out_figures({"stage": figure})["stage"]
    both = not is_acceptor(shown)
    parts = [text(12, 22, title, size=13, bold=True)]
    lines, y, read = [title], HEAD, ""
    done: list[str] = []
    for k, state in enumerate(way.states):
        edges: dict[str, Mark] = {}
        here = node_name(state, loops=loops)
        if k:
            source, label, written, _ = way.arcs[k - 1]
            if label:
                done.append(symbols[len(done)])
            read = ("" if all(len(one) == 1 for one in symbols) else " ").join(done)
            edges[f"{node_name(source, loops=loops)}-{here}"] = "now"
            arc = arc_words(label, written, both=both)
            words = f"{arc} leads to {labels[here]}; read {read or 'nothing'}"
            if not both and label:
                words = f"{done[-1]} leads to {labels[here]}; read {read}"
        else:
            words = f"in {labels[here]}; nothing read"
        if both:
            words += f", written {way.written[k] or 'nothing'}"
        if k == len(way.arcs):
            words += "; the text may end here"
        y += 18
        parts.append(text(12, y, words, size=11.5, fill=SOFT))
        nodes: dict[str, Mark] = {here: "now"}
        parts.append(
            f'<g transform="translate(10 {y + 6:.0f})">{machine(figure, layout, nodes, edges)}</g>'
        )
        y += layout.height + 8
        parts.append(line(12, y, max(layout.width, 320), y, LINE))
        lines.append(words)
    width = max(layout.width + 20, max(map(len, lines)) * 7.0 + 24)
    described, alt = "\n".join(lines), "; ".join(lines)
    svg = document(width, y + 8, alt, parts)
    return Film(svg, described, title, each=layout.height + 26, said=tuple(lines[1:]))


COLUMN: Final = 86.0
ROW: Final = 24.0
MOST_TOKENS: Final = 14
"""The most tokens of a picture."""


def stack_picture(
    title: str, whole: Pushdown, words: Sequence[str], ids: Sequence[int]
) -> Snapshot:
    """The stack after each token, from left to right.

    Args:
        title: The title, such as the text that is read.
        whole: An automaton in which each token has at most one arc.
        words: The text of each token.
        ids: The tokens that are read.

    Raises:
        ExplorerError: A token cannot be read, or there are more than `MOST_TOKENS`.

    Example:
        >>> from widgets.figures.machines.pushdown_figure import FIGURE_7
        >>> print(stack_picture("a, bb", FIGURE_7, ["a", "b", "bb", "aaab"], [3, 2]).text)
        a, bb
        at the start: state 0, the stack is empty
        after aaab: state 2, 2 on the stack
        after bb: state 2, the stack is empty, the text may end
    """
    places = [(whole.start, ())]
    for token in ids[:MOST_TOKENS]:
        places += whole.step(places[-1], token)[:1]
    if len(ids) > MOST_TOKENS or len(places) != len(ids) + 1:
        raise ExplorerError(
            f"The automaton cannot read these {len(ids)} tokens.",
            remedy=f"Give at most {MOST_TOKENS} tokens that can follow each other.",
        )
    deepest = max(len(stack) for _, stack in places)
    floor = 60 + ROW * max(deepest, 1)
    parts = [text(12, 22, title, size=13, bold=True)]
    lines = [title]
    for k, (state, stack) in enumerate(places):
        x = 16 + COLUMN * k
        name = words[ids[k - 1]] if k else "start"
        ends = state in whole.finals and not stack
        parts.append(text(x + 28, 44, name, anchor="middle", mono=True))
        for level, symbol in enumerate(reversed(stack)):
            y = floor - ROW * (level + 1)
            parts.append(box(x, y, 56, ROW - 3, fill=PAPER, stroke=SOFT, radius=3))
            parts.append(text(x + 28, y + 15, str(symbol), anchor="middle", mono=True))
        parts.append(
            box(
                x, floor + 4, 56, ROW, fill=OK_PAPER if ends else PAPER, stroke=OK if ends else SOFT
            )
        )
        parts.append(text(x + 28, floor + 20, f"state {state}", size=11, anchor="middle"))
        if ends:
            parts.append(text(x + 28, floor + 44, "may end", size=11, anchor="middle"))
        height = f"{len(stack)} on the stack" if stack else "the stack is empty"
        said = f"after {name}" if k else "at the start"
        lines.append(f"{said}: state {state}, {height}{', the text may end' * ends}")
    described, alt = "\n".join(lines), "; ".join(lines)
    width = max(32 + COLUMN * len(places), len(title) * 7.6 + 24)
    return Snapshot(document(width, floor + 56, alt, parts), described, alt)
