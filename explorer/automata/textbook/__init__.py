"""The construction as the textbook has it, by pynini: what the fast one is compared with.

Reading order: `detokenizing` (the transducer T_V), `algorithm_one` (how it is built, line by line),
`composition` (Algorithm 2 as it is written, from end to end), `stages` (the machines in between,
one at a time, for who wants to see them), `pairs` (the composition pair by pair), `subsets` and
`blocks` (determinization and minimization of small machines, step by step), `letters` (a machine of
pynini as a value to be drawn).
"""
