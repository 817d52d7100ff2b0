"""Pictures for the course: small functions from values to a static picture with its words.

Each gives a `Snapshot`: SVG with a title for people who cannot see it, and the same as text for a
terminal. Reading order: `comparing` (bars), `tabled` (words and numbers), `rows` (tokens in
boxes), `shown` (a machine in words), `drawn_stages` (the machine of a constraint, or of one of its
stages), `spelled` (all ways to write a text in tokens), `lettered` (small machines as textbooks
draw them), `matched` (whether two of those are the same), `film` (one of those reading), `koo` (the
figures of a paper), `stacked` (its push-down automata, and a stack), `subterminals_drawn` (the
scanner of a grammar's terminals, and how tokens are cut at their borders), `invasive` (the texts of
several schemes, as rows and as lines of an explorer).
"""

from widgets.figures.drawing.labels import token_names
from widgets.figures.machines.pushdown_figure import FIGURE_6, FIGURE_7
from widgets.lessons.comparing import bar_picture
from widgets.lessons.drawn_stages import machine_picture, stage_picture
from widgets.lessons.film import reading_picture
from widgets.lessons.invasive import invasiveness_picture, scheme_lines
from widgets.lessons.koo import FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_9
from widgets.lessons.lettered import dfa_letters, lettered_picture, nfa_letters, subset_letters
from widgets.lessons.matched import matched
from widgets.lessons.rows import TokenRow, token_picture
from widgets.lessons.spelled import spelling_picture, spellings_of
from widgets.lessons.stacked import arcs_in_figure, figure_arc, stack_picture
from widgets.lessons.subterminals_drawn import scanner_picture, subterminal_picture
from widgets.lessons.tabled import table_picture

__all__ = [
    "FIGURE_1",
    "FIGURE_2",
    "FIGURE_3",
    "FIGURE_4",
    "FIGURE_5",
    "FIGURE_6",
    "FIGURE_7",
    "FIGURE_9",
    "TokenRow",
    "arcs_in_figure",
    "bar_picture",
    "dfa_letters",
    "figure_arc",
    "invasiveness_picture",
    "lettered_picture",
    "machine_picture",
    "matched",
    "nfa_letters",
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
