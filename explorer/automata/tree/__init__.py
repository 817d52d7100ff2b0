"""The tree that all sources lower to, and how it becomes a byte machine.

Read in this order: `charset` (sets of characters), `nodes` (the tree, its origins, and what a
source is), `walking` (the nodes below one), `width`, `utf8` (a set over bytes), `repeats` (nested
repeats as one), `origin` (where an arc came from), `copies` (a body many times), `layout` (a tree
as an NFA), `edges` (assertions that can be left out), `classes` and `lookaround` (anchors,
boundaries and lookarounds, the only part that is not a textbook construction), `build` (a tree as
its minimal machine), `over_tokens` (the same where tokens count).
"""
