"""Token machines whose masks depend on the tokens before, by a filter.

Reading order: `token_filter` (a filter as a value), `machine` (the one machine behind any filter),
`trimmed` (filters that can leave dead ends, and the search for an end), `rules` (filters that are
small machines over tokens), `table` (the table of a filtered machine, by exhaustion), and `apply`
(the stages of a constraint, in turn). Canonical tokenization begins at `canonical`: `reading`
(all tokens, read in texts with the cuts marked), `of_tokenizer` (the common base of its filters,
and tokenizers that look ahead for their pieces), `neighbours` (tokenizers that merge, with normal
forms and added tokens) and `canonical_automaton` (the whole automaton, for small vocabularies).
"""
