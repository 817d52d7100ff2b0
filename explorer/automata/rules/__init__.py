"""The rules of a grammar as automata that call each other.

Reading order: `pieces` (the rules as one program, and one program per rule), `network` (all rules,
simplified), `moves` (the moves of each state, and whether they are unique), `uniting` (rules
inlined into their callers), `pushdown` (the push-down automaton for drawings).
"""
