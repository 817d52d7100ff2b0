"""The constructions on byte machines: determinize, minimize, combine.

Reading order: `subset` (an NFA becomes a DFA), `refinement` and `minimize` (what cannot finish is
taken out, equal states become one), `operations` (products and joins, and all of
them by name, each under a budget), `transduce` (small transducers, composed with a machine),
`token_sequences` (any transducer from tokens to bytes, composed with a machine).
"""
