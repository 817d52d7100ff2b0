"""Token machines that are filtered by what the tokens before allow.

Reading order: `token_filter` (what a machine asks of a filter), `reading` (all tokens, read in
texts with the cuts marked), `canonical` (what a tokenizer that merges would write), `guard` and
`guarded` (the same beside a normal form and added tokens), `by_words` (one that looks ahead for its
pieces), `choose`, `finding` (the search for an end), `limits` (constraints
for which a tokenizer's rules are not followed), `machine` (a token machine with a filter, its dead
ends trimmed), `table` and `spellings` (filters that are small machines over tokens, so that a table
stays a table), `ruled` (those on a machine that is not one), and `apply` (the stages of a
constraint, in turn).
"""
