"""Verdicts in words.

Read in this order: `words` (names of tokens, places and characters), `sentences` (one line, and
plain sentences).
"""
