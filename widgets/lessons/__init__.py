"""Pictures for the course: small functions from values to a static picture with its words.

Each gives a `Snapshot`: SVG with a title for people who cannot see it, and the same as text for a
terminal. Reading order: `rows` (bars, tables, tokens in boxes), `lettered` (small machines as
textbooks draw them, the figures of a paper, and whether two of them are the same), `film` (one of
those reading, push-down automata, and a stack), `drawn_stages` (the machine of a constraint or of a
stage, all ways to write a text in tokens, the scanner of a grammar's terminals), `invasive` (the
texts of several schemes, as rows and as lines of an explorer).
"""

from widgets.figures.drawing.labels import token_names
from widgets.figures.machines.pushdown_figure import (
    FIGURE_6,
    FIGURE_7,
    FIGURE_SYMBOLS,
    FIGURE_TOKENS,
    pushdown_still,
)
from widgets.lessons.drawn_stages import (
    machine_picture,
    scanner_picture,
    spelling_picture,
    spellings_of,
    stage_picture,
    subterminal_picture,
)
from widgets.lessons.film import reading_picture, stack_picture
from widgets.lessons.invasive import invasiveness_picture, scheme_lines
from widgets.lessons.lettered import (
    FIGURE_1,
    FIGURE_2,
    FIGURE_3,
    FIGURE_4,
    FIGURE_5,
    FIGURE_9,
    dfa_letters,
    lettered_picture,
    matched,
    nfa_letters,
    subset_letters,
)
from widgets.lessons.rows import TokenRow, bar_picture, table_picture, token_picture

__all__ = [
    "FIGURE_1",
    "FIGURE_2",
    "FIGURE_3",
    "FIGURE_4",
    "FIGURE_5",
    "FIGURE_6",
    "FIGURE_7",
    "FIGURE_9",
    "FIGURE_SYMBOLS",
    "FIGURE_TOKENS",
    "TokenRow",
    "bar_picture",
    "dfa_letters",
    "invasiveness_picture",
    "lettered_picture",
    "machine_picture",
    "matched",
    "nfa_letters",
    "pushdown_still",
    "reading_picture",
    "scanner_picture",
    "scheme_lines",
    "spelling_picture",
    "spellings_of",
    "stack_picture",
    "stage_picture",
    "subset_letters",
    "subterminal_picture",
    "table_picture",
    "token_names",
    "token_picture",
]
