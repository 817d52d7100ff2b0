"""The tree that all sources lower to, and how it becomes a byte machine.

Read in this order: `charset` (sets of characters, and as machines over bytes), `changes` (changes
of a source that a person is offered), `nodes` (the tree, and what a source is), `walking`
(questions about any node), `origin` (the place that an arc came from), `layout` (a tree as a
program), `assertions` and `lookaround` (anchors, boundaries and lookarounds, the only part that is
not a textbook construction), `build` (a tree as its minimal machine, over bytes or over the ends of
tokens too).
"""
