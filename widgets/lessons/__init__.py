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

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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
    dfa_letters,
    lettered_picture,
    matched,
    nfa_letters,
    subset_letters,
)
from widgets.lessons.rows import TokenRow, bar_picture, table_picture, token_picture
from widgets.lessons.story import (
    RECORD,
    RECORD_PROMPT,
    RECORD_SCHEMA,
    detokenizer_states,
    hero_picture,
    own_picture,
    record_constraint,
)

if TYPE_CHECKING:
    import explorer as explorer
    from explorer import Sampler as Sampler
    from explorer import course as course
    from explorer import terminals as terminals
    from explorer.analysis.places.stack import stack_reader as stack_reader
    from explorer.automata.construction.minimize import minimize as minimize
    from explorer.automata.construction.subset import determinize as determinize
    from explorer.automata.interchange.detokenizers import drawn_transducer as drawn_transducer
    from explorer.automata.textbook.composition import (
        composition_stages as composition_stages,
    )
    from explorer.automata.textbook.composition import (
        fst_letters as fst_letters,
    )
    from explorer.automata.textbook.detokenizing import (
        LINES as LINES,
    )
    from explorer.automata.textbook.detokenizing import (
        algorithm_one as algorithm_one,
    )
    from explorer.automata.textbook.steps import (
        pairs_of as pairs_of,
    )
    from explorer.automata.textbook.steps import (
        rounds_of as rounds_of,
    )
    from explorer.automata.textbook.steps import (
        subsets_of as subsets_of,
    )
    from explorer.automata.tree.layout import lay_out as lay_out
    from explorer.budget import Meter as Meter
    from explorer.course.transducers import written_by as written_by
    from explorer.decoding.probability import (
        conditional_probability as conditional_probability,
    )
    from explorer.decoding.probability import (
        masking_distortion as masking_distortion,
    )
    from explorer.decoding.probability import (
        sample_conditional as sample_conditional,
    )
    from explorer.decoding.speculation.proposing import Drafting as Drafting
    from explorer.decoding.stepping.healing_ways import compare_healing as compare_healing
    from explorer.errors import ExplorerError as ExplorerError
    from explorer.grammars import shipped_grammar as shipped_grammar
    from explorer.languages.regex import parse as parse
    from explorer.tokens.schemes.lookahead import bridges_of as bridges_of
    from explorer.tokens.schemes.lookahead import lookahead_machine as lookahead_machine
    from explorer.tokens.schemes.terminals import FLAT_OBJECT as FLAT_OBJECT
    from explorer.tokens.schemes.terminals import TerminalGrammar as TerminalGrammar
    from explorer.tokens.token_dfa import same_machine as same_machine
    from widgets import Explorer as Explorer
    from widgets.cursor import Cursor as Cursor
    from widgets.lessons.prediction import predict as predict
    from widgets.toy import ToyModel as ToyModel

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
    "FLAT_OBJECT",
    "LINES",
    "RECORD",
    "RECORD_PROMPT",
    "RECORD_SCHEMA",
    "Cursor",
    "Drafting",
    "Explorer",
    "ExplorerError",
    "Meter",
    "Sampler",
    "TerminalGrammar",
    "TokenRow",
    "ToyModel",
    "algorithm_one",
    "bar_picture",
    "bridges_of",
    "compare_healing",
    "composition_stages",
    "conditional_probability",
    "course",
    "determinize",
    "detokenizer_states",
    "dfa_letters",
    "drawn_transducer",
    "explorer",
    "fst_letters",
    "hero_picture",
    "lay_out",
    "lettered_picture",
    "lookahead_machine",
    "machine_picture",
    "masking_distortion",
    "matched",
    "minimize",
    "nfa_letters",
    "own_picture",
    "pairs_of",
    "parse",
    "predict",
    "pushdown_still",
    "reading_picture",
    "record_constraint",
    "rounds_of",
    "same_machine",
    "sample_conditional",
    "scanner_picture",
    "scheme_texts",
    "shipped_grammar",
    "spelling_picture",
    "spellings_of",
    "stack_picture",
    "stack_reader",
    "stage_picture",
    "subset_letters",
    "subsets_of",
    "subterminal_picture",
    "table_picture",
    "terminals",
    "token_names",
    "token_picture",
    "written_by",
]

_LATER = {
    "written_by": "explorer.course.transducers",
    "terminals": "explorer.terminals",
    "TerminalGrammar": "explorer.tokens.schemes.terminals",
    "lookahead_machine": "explorer.tokens.schemes.lookahead",
    "bridges_of": "explorer.tokens.schemes.lookahead",
    "FLAT_OBJECT": "explorer.tokens.schemes.terminals",
    "LINES": "explorer.automata.textbook.detokenizing",
    "Cursor": "widgets.cursor",
    "Drafting": "explorer.decoding.speculation.proposing",
    "Explorer": "widgets",
    "ExplorerError": "explorer.errors",
    "Meter": "explorer.budget",
    "Sampler": "explorer",
    "ToyModel": "widgets.toy",
    "algorithm_one": "explorer.automata.textbook.detokenizing",
    "compare_healing": "explorer.decoding.stepping.healing_ways",
    "composition_stages": "explorer.automata.textbook.composition",
    "conditional_probability": "explorer.decoding.probability",
    "course": "explorer.course",
    "determinize": "explorer.automata.construction.subset",
    "drawn_transducer": "explorer.automata.interchange.detokenizers",
    "explorer": "explorer",
    "fst_letters": "explorer.automata.textbook.composition",
    "lay_out": "explorer.automata.tree.layout",
    "masking_distortion": "explorer.decoding.probability",
    "minimize": "explorer.automata.construction.minimize",
    "pairs_of": "explorer.automata.textbook.steps",
    "parse": "explorer.languages.regex",
    "predict": "widgets.lessons.prediction",
    "rounds_of": "explorer.automata.textbook.steps",
    "same_machine": "explorer.tokens.token_dfa",
    "sample_conditional": "explorer.decoding.probability",
    "shipped_grammar": "explorer.grammars",
    "stack_reader": "explorer.analysis.places.stack",
    "subsets_of": "explorer.automata.textbook.steps",
}
"""The names from other modules that lessons use; they are imported on first use."""

_MODULES = ("course", "explorer", "terminals")


def __getattr__(name: str) -> object:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'widgets.lessons' has no attribute {name!r}")
    loaded = import_module(module)
    value: object = loaded if name in _MODULES else getattr(loaded, name)
    globals()[name] = value
    return value
