"""The token sequences that a tokenizer itself would write: its canonical sequences.

Reading order: `merges` (byte-pair encoding as a relation between neighbours), `patterns` (the
pattern of a splitter, as a small program), `matching` (a pattern and the treatment of its matches,
as a nondeterministic rule), `determinized` (the minimal deterministic table of such a rule),
`marked` (an automaton that accepts correctly cut texts), `cut_rules` (the cuts of a declared chain
of steps), `spaced` (the cuts of splitters that drop white space), `added_search` (the search for
added tokens), `piece_trie`, `best_paths` and `longest_pieces` with `piece_kernels` (models that
look ahead: Unigram, WordPiece), `word_rules` (all rules of such a tokenizer) and `rules`
(those of byte-pair encoding, and the choice among all kinds).
"""
