"""One reader for each format of a vocabulary.

Reading order: `huggingface` (every ``tokenizer.json``), `lines` and `piece_table` (helpers for
plain files), `merge_files`, `word_piece_file`, `sentencepiece_file` with `numbering`, `rank_files`,
`rwkv_file`.
"""
