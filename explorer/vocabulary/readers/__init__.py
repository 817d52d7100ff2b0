"""One reader for each format of a vocabulary.

Reading order: `huggingface` (every ``tokenizer.json``), `piece_table` (lines and tables of
plain files), `merge_files`, `word_piece_file`, `sentencepiece_file` with `numbering`, `rank_files`,
`rwkv_file`.
"""
