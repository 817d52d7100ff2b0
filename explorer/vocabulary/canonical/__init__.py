"""The token sequences that a tokenizer itself would write: its canonical sequences.

Reading order: `merges` (byte-pair encoding as a relation between neighbours), `patterns` (a pattern
that cuts a text, as a small program), `matching` (what becomes of its matches), `determinized` (the
smallest table of a rule that guesses), `marked` (texts with the cuts marked, as an automaton),
`cut_rules` (those of a declared chain of steps), `spaced` (those of splitters that drop white
space), `added_search` (where added tokens are found), `piece_trie`, `best_paths` and
`longest_pieces` with `piece_kernels` (models that look ahead: Unigram, WordPiece, RWKV's),
`word_rules` (what of such a tokenizer decides) and `rules` (the same for merges, and for all
kinds).
"""
