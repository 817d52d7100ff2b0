"""Exact token bytes: what every token id of a language model writes.

Reading order: `reading` (what a reader finds), `tokenizer` (what a tokenizer does to a text),
`guards` (libraries, and what is checked before they read), `readers` (one per format),
`without_encoder`, `classes` (of transformers), `configs` and `files` (which file, and what stands
beside it), `proof`, `assemble`, `transducer` (T_V as a value), `vocabulary`, the public value, and
`canonical` (the one sequence of tokens that a tokenizer writes).
"""

from explorer.vocabulary.proof import Proof, bank, prove
from explorer.vocabulary.transducer import TokenTransducer
from explorer.vocabulary.vocabulary import FastTokenizer, Vocabulary

__all__ = ["FastTokenizer", "Proof", "TokenTransducer", "Vocabulary", "bank", "prove"]
