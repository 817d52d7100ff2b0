"""The rules of a grammar as automata that call each other.

Read in this order: `pieces` (one rule), `laying` (rules in the place of their calls), `network`
(all of them, made small), `arrays` (what may come next), `moves` (whether that is one thing),
`uniting` (rules laid into their callers), `pushdown` (the push-down automaton as it is drawn).
"""
