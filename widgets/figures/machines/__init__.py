"""The machines as figures: nodes and edges with words, and which of them are lit.

In reading order: `machine_figure` (the type of a figure), `character_fsa` (bytes seen by
characters), `detokenizing_figure` (with the choice of its tokens), `pushdown_figure`, `arcs` and
`token_dfa` (tokens on the arcs, of large machines a piece), `stages` (the construction); `drawn`
(figures and layouts, and the arcs of the present state), `lit` (the names that are lit),
`stepping` (the table for a page without a kernel).
"""
