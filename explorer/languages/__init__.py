"""The kinds of constraints: how each is written, and how it is lowered to the tree of `automata`.

Reading order: `sources` (what a kind of source is, and those without a text of their own), then one
room per front end: `regex` with `terminals`, `schema`, `types`, `template`, `grammar`, `phases`,
`tools`, `engines` (schemas as other engines read them); `stages` (what happens to a text or to its
tokens on the way); `written` (where in a source a text has come to); `membership` (a text looked up
in the parts of a combination) and `constraint` (the value that users hold).
"""
