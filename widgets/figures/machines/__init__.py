"""The machines as figures: nodes and edges with words, and which of them are lit.

In reading order: `machine_figure` (the type of a figure), `character_view` and `character_fsa`
(bytes seen by characters), `shown_tokens` and `detokenizing_figure`, `pushdown_figure`, `arcs` and
`token_dfa` (tokens on the arcs), `stages` (the construction); `drawn`, `ahead` and `present` (the
part that is drawn at a position); `walk` and `lit` (the names that are lit).
"""
