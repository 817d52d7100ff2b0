"""The push-down automata of a paper beside the engine's, and a stack as it grows and shrinks.

The paper's automaton of aⁿbⁿ pushes a symbol for every a. The engine's needs no symbol for the
outermost rule, which nothing waits for; so it has four states where the paper has two, and each of
its arcs stands for one of the paper's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from explorer.automata.rules.pushdown import EMPTY, Pushdown, PushdownArc
from explorer.errors import ExplorerError
from widgets.figures.drawing.palette import OK, OK_PAPER, PAPER, SOFT
from widgets.figures.drawing.svg import box, document, text
from widgets.figures.snapshot import Snapshot

COLUMN: Final = 86.0
ROW: Final = 24.0
MOST: Final = 14
"""The most tokens of a picture."""

FigureArc = tuple[int, int, int, int]
"""A state, what is read, how much higher the stack is afterwards, and the next state."""


def figure_arc(arc: PushdownArc) -> FigureArc:
    """An arc of Figure 6 or 7, which has one kind of symbol, as four numbers.

    Args:
        arc: The arc.

    Example:
        >>> figure_arc(PushdownArc(0, 3, (), (0, 0), 1))
        (0, 3, 2, 1)
    """
    popped = sum(symbol != EMPTY for symbol in arc.pops)
    return arc.source, arc.label, len(arc.pushes) - popped, arc.target


def arcs_in_figure(ours: Pushdown) -> dict[FigureArc, list[PushdownArc]]:
    """The engine's arcs of aⁿbⁿ, each under the arc of Figure 6 or 7 that it stands for.

    Args:
        ours: The engine's automaton of aⁿbⁿ, over bytes or over tokens.

    Example:
        >>> import explorer
        >>> from widgets.figures.machines.pushdown_figure import FIGURE_6, drawn_pushdown
        >>> letters = explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
        >>> nested = explorer.compile(explorer.grammar('root ::= "a" root "b" | ""'), letters)
        >>> found = arcs_in_figure(drawn_pushdown(nested.byte_machine))
        >>> set(found) == {figure_arc(arc) for arc in FIGURE_6.arcs}
        True
    """
    (after_a,) = {arc.source for arc in ours.arcs if arc.source != ours.start and arc.pushes}
    outermost = {ours.start} | {*ours.states} - {arc.source for arc in ours.arcs}
    found: dict[FigureArc, list[PushdownArc]] = {}
    for arc in ours.arcs:
        # The paper's stack is one higher while the outermost rule waits for its b.
        higher = int(arc.target not in outermost) - int(arc.source not in outermost)
        places = [0 if state in (ours.start, after_a) else 1 for state in (arc.source, arc.target)]
        _, label, change, _ = figure_arc(arc)
        found.setdefault((places[0], label, change + higher, places[1]), []).append(arc)
    return found


def stack_picture(
    title: str, whole: Pushdown, words: Sequence[str], ids: Sequence[int]
) -> Snapshot:
    """The stack after each token, from left to right.

    Args:
        title: What is read.
        whole: An automaton in which each token has one arc at most.
        words: The text of each token.
        ids: The tokens that are read.

    Raises:
        ExplorerError: A token cannot be read, or there are more than `MOST`.

    Example:
        >>> from widgets.figures.machines.pushdown_figure import FIGURE_7
        >>> print(stack_picture("a, bb", FIGURE_7, ["a", "b", "bb", "aaab"], [3, 2]).text)
        a, bb
        at the start: state 0, the stack is empty, the text may end
        after aaab: state 1, 2 on the stack
        after bb: state 1, the stack is empty, the text may end
    """
    places = [(whole.start, ())]
    for token in ids[:MOST]:
        places += whole.step(places[-1], token)[:1]
    if len(ids) > MOST or len(places) != len(ids) + 1:
        raise ExplorerError(
            f"The automaton cannot read these {len(ids)} tokens.",
            remedy=f"Give at most {MOST} tokens that can follow each other.",
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
