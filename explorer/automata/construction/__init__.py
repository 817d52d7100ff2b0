"""The constructions on byte machines: determinize, minimize, combine.

Reading order: `subset` (from an NFA to a DFA), `refinement` and `minimize` (dead states are removed
and equal states merged), `operations` (products and joins, each under a budget), `transduce` (small
transducers, composed with a machine), `token_sequences` (any transducer from tokens to bytes,
composed with a machine).
"""
