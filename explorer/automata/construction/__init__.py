"""The constructions on byte machines: determinize, minimize, combine.

Reading order: `minimize` (dead states are removed and equal states merged), `rows` (the kernels of
the subset construction), `subset` (a program as a net, and all rows of it: from an NFA to a DFA),
`operations` (products and joins, each under a budget), `transduce` (small transducers, composed
with a machine), `token_sequences` (any transducer from tokens to bytes, composed with a machine).
"""
