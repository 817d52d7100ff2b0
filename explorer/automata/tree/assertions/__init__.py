"""Anchors, boundaries and lookarounds of a pattern, removed.

Read in this order: `edges` (assertions that can be left out), `classes` (a small alphabet for the
pattern), `lookaround` (pointed words, and their difference).
"""
