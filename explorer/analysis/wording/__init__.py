"""Verdicts in words.

Read in this order: `words` (names of tokens, places and characters), `message` (one line), `prose`
(sentences), `markup` (HTML).
"""
