"""Speculative decoding: a small model or counts propose tokens, the model checks several at once.

Read in this order: `taking` (the rule that accepts or replaces a proposal), `proposing` (options of
the second model, proposals from counts, and a common protocol for both), `texts` (a text without a
record), `acceptance` (measured rates of acceptance), `own_first` (masks only if the model's own
choice is not allowed).

A run with a record is `explorer.Session(..., draft=...)`, texts are
`explorer.generate(..., draft=...)`.
"""
