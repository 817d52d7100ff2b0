"""Byte-level machines: patterns, their algebra, the detokenizing FST, and their interchange.

Reading order: `machine` (the two types) with `byte_intervals` and `words`, `construction` (subset,
minimisation, products: the operations), `valid_utf8` (the meaning of "any text"), `tree` (what all
sources lower to), `sources` (what a kind of source is, and those without a text of their own), then
one room per front end: `regex` with `terminals`, `schema`, `types`, `template`, `grammar`; and
`pipeline` (stages around a source), `discovered` (machines that find their states when they are
asked), `membership` (a text looked up in the parts of a combination), `constraint` (the value that
users hold), `textbook` (T_V, and the composition as OpenFST does it), `interchange` (machines from
elsewhere) with `token_marks`.
"""
