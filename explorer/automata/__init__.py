"""Byte-level machines: patterns, their algebra, the detokenizing FST, and their interchange.

Reading order: `machine` (the two types), `subset`, `minimize`, `product` (the constructions),
`operations` (all of them by name), `regex` (patterns), `source` and `constraint` (the tree and
the value that users hold), `detokenizing` (T_V), then the bridges.
"""
