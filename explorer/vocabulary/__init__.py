"""Exact token bytes: the bytes that every token id of a language model writes.

Reading order: `reading` (the result of a reader), `tokenizer` (a tokenizer's own steps), `guards`
(optional libraries, and checks before they read), `readers` (one per format), `without_encoder`,
`configs` and `files` (the configuration files, and the choice of a reader), `proof`, `assemble`,
`transducer` (T_V as a value), `vocabulary` (the public value), and `canonical` (the token sequences
that a tokenizer itself writes).
"""

from explorer.vocabulary.proof import Proof, bank, prove
from explorer.vocabulary.transducer import TokenTransducer
from explorer.vocabulary.vocabulary import FastTokenizer, Vocabulary

__all__ = ["FastTokenizer", "Proof", "TokenTransducer", "Vocabulary", "bank", "prove"]
