"""Byte-level machines, independent of any front end: values, constructions, discovered machines.

Reading order: `program` (states, arcs, moves, calls: the form to which every source is lowered),
`machine` (automata as values, and the protocol) with `words` and `drawn`,
`construction` (subset construction, minimisation, products), `valid_utf8` (the meaning of "any
text"), `control_letters` (control tokens beside text), `tree` (the syntax of sources, and its
program), `discovered` (machines that discover their states on demand), `rules` (mutually recursive
rules as a network) with `stacks` (the machines that run it), `textbook` (T_V, and its composition
as in OpenFST), `interchange` (machines of other libraries) with `token_marks`.
"""
