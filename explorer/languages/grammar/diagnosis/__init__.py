"""Everything that tells a person about a grammar: errors, places, derivations.

Read in this order: `places` (where in the text of the grammar one is), `derivation` (which rules a
text has opened and closed), `conflicts`, `rewrites` and `deterministic` (the error for two stacks).
"""
