"""Byte machines that discover their states while they are asked.

Read in this order: `net` (a program without calls, ready to be run; its parts that are laid out
when a text comes to them), `rows` (the subset construction, one row at a time), `letters` (which
letters a state reads whatever came before), `broad` (which words of a vocabulary it reads),
`discovered` (the machine, which is the same for every kind, and the kind that these make),
`whole_rows` (kinds that work out whole rows in Python) with `paired` (two machines side by side:
intersection, difference) and `token_counts` (parts that so many tokens may write), `limited_parts`
(the graph of those parts), and `discover` (from a tree to one of these).
"""
