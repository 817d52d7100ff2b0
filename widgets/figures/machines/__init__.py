"""The machines as figures: nodes and edges with words, and what is lit in them.

In reading order: `machine_figure` (what a figure is), `character_view` and `character_fsa` (bytes
seen by characters), `detokenizing_figure`, `arcs` and `token_dfa` (tokens on the arcs), `stages`
(how it is made); `drawn`, `ahead` and `present` (what of it is drawn where we are); `walk` and
`lit` (what is lit).
"""
