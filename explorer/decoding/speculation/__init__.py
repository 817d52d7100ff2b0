"""Speculative decoding: a draft model proposes tokens, the model checks several at once.

Read in this order: `drafting` (the draft and its proposals), `counts` (a draft from counted
tokens), `texts` (a text without a record), `own_first` (masks only if the model's own choice is not
allowed).

A run with a record is `explorer.Session(..., draft=...)`, texts are
`explorer.generate(..., draft=...)`.
"""
