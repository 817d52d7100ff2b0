"""The formats that a vocabulary comes in, one reader each.

Reading order: `huggingface` (every ``tokenizer.json``), `lines` and `piece_table` (what plain files
share), `merge_files`, `word_piece_file`, `sentencepiece_file` with `numbering`, `rank_files`,
`rwkv_file`.
"""
