"""Byte machines that discover their states on demand.

Read in this order: `net` (a program without calls, indexed for running, with parts that are built
when a text reaches them), `rows` (the subset construction, one row at a time), `letters` (the
letters that a state reads in any order), `broad` (the words of a vocabulary that it reads),
`discovered` (the machine, common to all kinds, and the kind over a net), `whole_rows` (kinds that
compute whole rows in Python) with `paired` (pairs of states: intersection, difference), `endings`
(whether the stack of a grammar can still be finished beside another machine) and `token_counts`
(parts with a limit on their tokens), `limited_parts` (the graph of those parts), and `discover`
(from a tree to one of these machines).
"""
