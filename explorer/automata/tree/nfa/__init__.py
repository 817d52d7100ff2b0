"""A tree as an NFA, over bytes or other symbols.

Read in this order: `origin` (where an arc came from), `joined` (rows that were made in two ways),
`foreseen` (what a long sequence takes), `prefix_tree` (many words), `repeats` (nested repeats as
one), `counters` (repeats that are counted), `copies` (a body many times), `layout` (the tree).
"""
