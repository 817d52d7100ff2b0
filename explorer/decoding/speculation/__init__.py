"""A small model, or counts, propose tokens, and the model checks several of them in one pass.

Read in this order: `drafting` (the second model and how its proposals are taken), `taking` (from
two distributions and a proposal to a token), `counting` (proposals from counts), `proposing` (both
kinds of proposals at a place), `texts` (a text without a record), `acceptance` (how often proposals
are taken), `own_first` (the mask only where the model's own choice is not allowed).

A run with a record is `explorer.Session(..., draft=...)`, texts are
`explorer.generate(..., draft=...)`.
"""
