"""Parts that lessons share: the machines of the course in one picture, one more in each lesson; a
transducer that a reader has written, with its output; and the record that is used throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from explorer.arguments import wrong
from explorer.automata.drawn import DrawnTransducer
from explorer.course.transducers import ROOT, given_arcs, written_by
from explorer.languages.constraint import Constraint, regex
from explorer.languages.schema.source import json_schema
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.drawing.svg import LINE, OK, PANEL, SOFT, box, document, machine, text
from widgets.figures.machines.pushdown_figure import FIGURE_6, FIGURE_SYMBOLS, pushdown_figure
from widgets.figures.snapshot import Snapshot
from widgets.lessons.lettered import (
    FIGURE_4,
    FIGURE_5,
    dfa_letters,
    lettered_figure,
    lettered_picture,
)

PANELS: Final = (
    ("A vocabulary: f, oo, foo, for, food", "01"),
    ("Character FSA: (foo)+d", "02"),
    ("Detokenizing FST", "03"),
    ("Token DFA = FSA ∘ FST", "04"),
    ("Mask: f, foo and food are allowed, 0.65 of the probability", "05"),
    ("Reason: for is masked, r where the pattern wants o", "06"),
    ("A schema in place of the pattern: a JSON string of (foo)+d", "07"),
    ("A grammar in place of the pattern: S → ab | aSb, with a stack", "08"),
)
"""The parts of the picture, from top to bottom, and the lesson of each."""

STRING_SCHEMA: Final[dict[str, object]] = {"type": "string", "pattern": "^(foo)+d$"}
"""The schema of the picture: the pattern of the course, as a JSON string."""

BEGINNINGS: Final = ("r", "f", "fo", "foo", "o")
WIDE: Final = 620.0


def hero_picture(known: int) -> Snapshot:
    """The machines of the course that a reader knows already; the others are empty frames.

    Args:
        known: The number of known parts, counted from the top, 0 to 8.

    Raises:
        ExplorerError: It is not a number from 0 to 8.

    Example:
        >>> print(hero_picture(2).text)
        The machines of the course
        A vocabulary: f, oo, foo, for, food
        Character FSA: (foo)+d
        to come: Detokenizing FST (03); Token DFA = FSA ∘ FST (04); Mask: f, foo and food are \
allowed, 0.65 of the probability (05); Reason: for is masked, r where the pattern wants o (06); \
A schema in place of the pattern: a JSON string of (foo)+d (07); A grammar in place of the \
pattern: S → ab | aSb, with a stack (08)
    """
    if not 0 <= known <= len(PANELS):
        raise wrong("known", known, f"a number from 0 to {len(PANELS)}")
    figures = {
        "FSA": lettered_figure(dfa_letters(regex("(foo)+d").dfa)),
        "FST": lettered_figure(FIGURE_4, BEGINNINGS, loops=True),
        "DFA": lettered_figure(FIGURE_5),
        "schema": lettered_figure(dfa_letters(json_schema(STRING_SCHEMA).dfa)),
        "stack": pushdown_figure(FIGURE_6, symbols=FIGURE_SYMBOLS),
    }
    layouts = lay_out_figures(figures)
    drawn = [None, "FSA", "FST", "DFA", None, None, "schema", "stack"]
    parts = [text(12, 22, "The machines of the course", size=13, bold=True)]
    y, width = 34.0, WIDE
    for number, ((title, lesson), name) in enumerate(zip(PANELS, drawn, strict=True)):
        if number >= known:
            parts.append(box(10, y, WIDE - 20, 24, fill=PANEL, stroke=LINE))
            parts.append(text(20, y + 16, f"lesson {lesson}", size=11.5, fill=SOFT))
            y += 32
            continue
        newest = number == known - 1
        parts.append(text(12, y + 14, title, size=12, bold=newest, fill=OK if newest else SOFT))
        y += 22
        if name is not None:
            layout = layouts[name]
            drawing = machine(figures[name], layout, {})
            parts.append(f'<g transform="translate(10 {y:.0f})">{drawing}</g>')
            y += layout.height + 8
            width = max(width, layout.width + 20)
    come = "; ".join(f"{title} ({lesson})" for title, lesson in PANELS[known:])
    lines = ["The machines of the course", *(title for title, _ in PANELS[:known])]
    lines += [f"to come: {come}"] if come else []
    return Snapshot(document(width, y + 8, "; ".join(lines), parts), "\n".join(lines))


def own_picture(arcs: Sequence[tuple[str, str, str, str]], tokens: Sequence[str]) -> Snapshot:
    """A transducer that a reader has written, and its output for each token.

    Args:
        arcs: Rows (from, read, written, to); the root is ``"r"``, an empty text is ε.
        tokens: The tokens to read.

    Raises:
        ExplorerError: The arcs are not such rows.

    Example:
        >>> print(own_picture([("r", "", "f", "f")], ["f"]).text)
        f: no way back to the root: 2 states, 1 arc
        r -ε : f-> f
        start r; the text may end in r
    """
    rows = given_arcs(list(arcs))
    if rows is None:
        raise wrong("arcs", arcs, "a list of (from, read, written, to), four texts each")
    names = [ROOT, *dict.fromkeys(s for a, _, _, b in rows for s in (a, b) if s != ROOT)]
    drawn = DrawnTransducer(
        len(names),
        tuple((names.index(a), read, write, names.index(b)) for a, read, write, b in rows),
        frozenset([0]),
    )
    said: list[str] = []
    for token in tokens:
        written = written_by(rows, [token])
        if written is None:
            said.append(f"{token} writes without end")
        elif not written:
            said.append(f"{token}: no way back to the root")
        else:
            said.append(f"{token} writes {' or '.join(sorted(written))}")
    return lettered_picture("; ".join(said), drawn, names=names, loops=True)


RECORD_PROMPT: Final = "Write a record of a person.\n"

RECORD_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]+$"},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "city": {"type": "string", "pattern": "^[A-Z][a-z]+$"},
        "job": {"type": "string", "pattern": "^[a-z]+$"},
    },
    "required": ["name", "age", "city", "job"],
    "additionalProperties": False,
}
"""The schema of the record that is used throughout the course."""

RECORD: Final = '{"name": "Felix", "age": 71, "city": "Berlin", "job": "teacher"}'
"""The record that the embedded model `tiny` writes under this schema, with seed 1."""


def record_constraint() -> Constraint:
    """The schema of the record, laid out as `json.dumps` does.

    Example:
        >>> record_constraint().accepts(RECORD)
        True
    """
    return json_schema(RECORD_SCHEMA, whitespace="dumps")
