"""Which token sequences a tokenizer itself would write: its canonical sequences.

Reading order: `merges` (byte-pair encoding as a relation between neighbours), `patterns` (the
pattern that cuts a text into words, as a small program), `marked` (texts with the cuts marked, as
an automaton), `spaced` (those of splitters at white space), `added_search`
(where added tokens are found), `piece_trie`, `best_paths` and
`longest_pieces` with `piece_kernels` (models that look ahead: Unigram and WordPiece), `word_rules`
(what of such a tokenizer decides) and `rules` (the same for merges, and for all kinds).
"""
