"""The textbook construction with pynini, a reference for the fast construction.

Reading order: `detokenizing` (the transducer T_V, and Algorithm 1 line by line), `composition`
(Algorithm 2, from end to end and stage by stage), `pushdown_composition` (Algorithm 3), `steps`
(determinization, minimization and the product of small machines, one step at a time).
"""
