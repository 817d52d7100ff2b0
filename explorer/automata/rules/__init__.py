"""The rules of a grammar as automata that call each other.

Read in this order: `pieces` (the rules as a program, and one by one), `network` (all of them, made
small), `moves` (what may come next, and whether that is one thing), `uniting` (rules laid into
their callers), `pushdown` (the push-down automaton as it is drawn).
"""
