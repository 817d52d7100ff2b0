"""Pictures for the course: small functions from values to a static picture with its words.

Each gives a `Snapshot`: SVG with a title for people who cannot see it, and the same as text for a
terminal. Reading order: `comparing` (bars), `tabled` (words and numbers), `rows` (tokens in
boxes), `shown` (a machine in words), `drawn_stages` (the machine of a constraint, or of one of its
stages), `spelled` (all ways to write a text in tokens), `subterminals_drawn` (the scanner of a
grammar's terminals, and how tokens are cut at their borders).
"""

from widgets.figures.drawing.labels import token_names
from widgets.lessons.comparing import bar_picture
from widgets.lessons.drawn_stages import machine_picture, stage_picture
from widgets.lessons.rows import TokenRow, token_picture
from widgets.lessons.spelled import spelling_picture, spellings_of
from widgets.lessons.subterminals_drawn import scanner_picture, subterminal_picture
from widgets.lessons.tabled import table_picture

__all__ = [
    "TokenRow",
    "bar_picture",
    "machine_picture",
    "scanner_picture",
    "spelling_picture",
    "spellings_of",
    "stage_picture",
    "subterminal_picture",
    "table_picture",
    "token_names",
    "token_picture",
]
