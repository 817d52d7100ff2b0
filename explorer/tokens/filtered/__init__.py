"""Token machines that are filtered by what the tokens before allow.

Reading order: `canonical` (what a tokenizer would write, token by token), `finding` (the search for
an end), `limits` (constraints for which a tokenizer's rules are not followed), `machine` (a token
machine with that filter, its dead ends trimmed), `table` and `spellings` (filters that are small
machines over tokens, so that a table stays a table), and `apply` (the stages of a constraint, in
turn).
"""
