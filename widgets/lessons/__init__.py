"""Everything that a lesson needs, by one line: ``from widgets.lessons import *``.

These are pictures, small functions from values to a static picture with its words; questions that
hide their answer until the reader has guessed; and the names of the engine that lessons take apart.
A picture is a `Snapshot`: SVG with a title for people who cannot see it, and the same as text for
a terminal. Reading order: `rows` (bars, tables, tokens in boxes), `lettered` (small machines as
textbooks draw them, the figures of a paper, and whether two of them are the same), `film` (one of
those reading, push-down automata, and a stack), `drawn_stages` (the machine of a constraint or of
a stage, all ways to write a text in tokens, the scanner of a grammar's terminals), `invasive` (the
texts of several schemes, as rows and as lines of an explorer), `story` (the machines of the
course, one more in each lesson), `prediction` (a question that waits).
"""

# The names are for notebooks: `import *` takes all of them.
# ruff: noqa: F401
# pyright: reportUnusedImport=false

import explorer
from explorer import Sampler, course, terminals
from explorer.analysis.places.stack import stack_reader
from explorer.automata.construction.minimize import minimize
from explorer.automata.construction.subset import determinize
from explorer.automata.interchange.detokenizers import drawn_transducer
from explorer.automata.textbook.composition import (
    composition_stages,
    fst_letters,
)
from explorer.automata.textbook.detokenizing import LINES, algorithm_one
from explorer.automata.textbook.steps import (
    pairs_of,
    rounds_of,
    subsets_of,
)
from explorer.automata.tree.layout import lay_out
from explorer.budget import Meter
from explorer.course.transducers import written_by
from explorer.decoding.probability import masking_distortion, sample_conditional
from explorer.decoding.speculation.drafting import Drafting
from explorer.errors import ExplorerError
from explorer.grammars import shipped_grammar
from explorer.languages.regex import parse
from explorer.tokens.schemes.lookahead import (
    bridges_of,
    lookahead_machine,
)
from explorer.tokens.schemes.terminals import (
    FLAT_OBJECT,
    TerminalGrammar,
)
from widgets import Explorer
from widgets.cursor import Cursor
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
from widgets.lessons.invasive import scheme_texts
from widgets.lessons.lettered import (
    FIGURE_1,
    FIGURE_2,
    FIGURE_3,
    FIGURE_4,
    FIGURE_5,
    FIGURE_9,
    acceptor,
    dfa_letters,
    lettered_picture,
    matched,
    nfa_letters,
    subset_letters,
)
from widgets.lessons.prediction import predict
from widgets.lessons.rows import (
    TokenRow,
    bar_picture,
    table_picture,
    token_picture,
)
from widgets.lessons.story import (
    RECORD,
    RECORD_PROMPT,
    RECORD_SCHEMA,
    hero_picture,
    own_picture,
    record_constraint,
)
from widgets.toy import ToyModel
