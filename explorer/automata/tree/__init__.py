"""The tree that all sources lower to, and how it becomes a byte machine.

Read in this order: `charset` (sets of characters), `nodes` (the tree, its origins, and what a
source is), `walking` (the nodes below one), `letters`, `width`, `utf8` (a set over bytes), `nfa` (a
tree as an NFA), `assertions` (anchors, boundaries and lookarounds, the only part that is not a
textbook construction), `build` (a tree as its minimal machine), `over_tokens` (the same where
tokens count).
"""
