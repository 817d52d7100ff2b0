"""Byte-level machines, which know no front end: values, constructions, machines met as they run.

Reading order: `program` (states, arcs, moves, calls: what every source is lowered to), `machine`
(the others) with `byte_intervals`, `words` and `drawn`, `construction` (subset, minimisation,
products: the operations), `valid_utf8` (the meaning of "any text"), `control_letters` (control
tokens beside text), `tree` (the syntax of sources, and its program), `discovered` (machines that
find their states when they are asked), `rules` (rules that call each other, as a network) with
`stacks` (the machines that follow it), `textbook` (T_V, and the composition as OpenFST does it),
`interchange` (machines from elsewhere) with `token_marks`.
"""
