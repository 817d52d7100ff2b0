"""Token machines that are filtered by what the tokens before allow.

Reading order: `token_filter` (a filter as a value), `machine` (the one machine behind any filter),
`trimmed` (filters that can leave dead ends, and the search for an end), `rules` (filters that are
small machines over tokens), `table` (the table of a filtered machine, by exhaustion), and `apply`
(the stages of a constraint, in turn). What a tokenizer would write begins at `canonical`: `reading`
(all tokens, read in texts with the cuts marked), `of_tokenizer` (what its filters share, and
tokenizers that look ahead for their pieces), `neighbours` (tokenizers that merge; a normal form and
added tokens beside them) and `canonical_automaton` (all of it written out, for small
vocabularies).
"""
