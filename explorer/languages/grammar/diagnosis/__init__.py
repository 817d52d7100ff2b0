"""The error for a grammar that leads to two stacks.

Read in this order: `conflicts` (a shortest such text), `rewrites` (what to write instead),
`deterministic` (the error, in words).
"""
