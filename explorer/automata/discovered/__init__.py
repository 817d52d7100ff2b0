"""Byte machines that discover their states on demand.

The subset construction that sets of configurations need is `explorer.automata.construction.rows`.

Read in this order: `discovered` (the machine, common to all kinds of configurations), `letters`
(the words of a vocabulary that a state reads, by its letters), `discover` (from a tree to a
machine; the late parts of a net, and the kind over a net), `whole_rows` (kinds that compute whole
rows in Python) with `paired` (pairs of states: intersection, difference, and whether the stack of a
grammar can still be finished beside another machine) and `token_counts` (parts with a limit on
their tokens, and their graph).
"""
