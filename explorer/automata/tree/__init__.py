"""The syntax tree of all sources, and its compilation to a byte machine.

Reading order: `charset` (sets of characters, and their machines over bytes), `changes` (suggested
changes of a source), `parts` (named parts of a text), `nodes` (the nodes of the tree, functions on
any node, and the sources), `layout` (a tree as a program), `assertions` and `lookaround` (anchors,
boundaries and lookarounds, the only part that is not a textbook construction), `build` (the minimal
machine of a tree, over bytes or over bytes and the ends of tokens).
"""
