"""See constrained decoding: constraints as automata, tokenizers as transducers, masks as rows.

The pipeline, as data: a constraint becomes a character FSA, a tokenizer becomes a detokenizing
FST, their composition is a token DFA, and a row of that is a mask. See ``README.md`` for a tour.
"""

from explorer import errors
from explorer.automata.constraint import Constraint, choice, literal, regex
from explorer.automata.detokenizing import detokenizing_fst
from explorer.budget import Budget
from explorer.tokens.compile import compile
from explorer.tokens.states import DONE
from explorer.tokens.token_dfa import TokenDFA
from explorer.vocabulary import Vocabulary

__all__ = [
    "DONE",
    "Budget",
    "Constraint",
    "TokenDFA",
    "Vocabulary",
    "choice",
    "compile",
    "detokenizing_fst",
    "errors",
    "literal",
    "regex",
]
__version__ = "0.1.0"
