"""Exact token bytes: what every token id of a language model writes.

Reading order: `byte_alphabet` (GPT-2's characters for bytes), `decoder` (the bytes of one piece),
`added_tokens` and `image` (the text that an encoding stands for), `reading` (what a reader finds),
the readers (`huggingface` with `model_facts` and `encoder`; `text_files`, `sentencepiece_file`,
`rank_files`), `configs` and `files` (which file, and what stands beside it), `proof`, `assemble`,
and `vocabulary`, the public value.
"""

from explorer.vocabulary.proof import Proof, bank, prove
from explorer.vocabulary.vocabulary import FastTokenizer, Vocabulary

__all__ = ["FastTokenizer", "Proof", "Vocabulary", "bank", "prove"]
