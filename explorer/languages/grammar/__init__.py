"""Context-free grammars as a front end.

Read in this order: `notations` (GBNF, Lark), `bounded` (nesting to a depth), `diagnosis` (a text
that leads to two stacks), `source` (the kinds of sources), `functions` (what users call), `shipped`
(grammars to use).
The machines that follow the rules are in `explorer.automata.rules` and `explorer.automata.stacks`.
"""
