"""Exact token bytes: what every token id of a language model writes.

Reading order: `byte_alphabet` (GPT-2's characters for bytes), `decoder` (the bytes of one piece),
`added_tokens` and `preprocessing` (what an encoder does to a text before its model cuts it),
`reading` (what a reader finds), `limits` and `charsmap` (declarations that are refused before a
library sees them), the readers (`huggingface` with `model_facts` and `encoder`; `piece_table`,
`merge_files`, `word_piece_file`, `sentencepiece_file` with `numbering`, `rank_files`, `rwkv_file`),
`configs` and `files` (which file, and what stands beside it), `proof`, `assemble`, and
`vocabulary`, the public value.
"""

from explorer.vocabulary.proof import Proof, bank, prove
from explorer.vocabulary.vocabulary import FastTokenizer, Vocabulary

__all__ = ["FastTokenizer", "Proof", "Vocabulary", "bank", "prove"]
