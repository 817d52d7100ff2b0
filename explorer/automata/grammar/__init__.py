"""Context-free grammars as a front end, and the machine with a stack that reads them.

Read in this order: `notations` (GBNF, EBNF, Lark), `rules` (each rule an automaton, all of them a
network), `stack_machines` (the byte machines that follow one stack, or every stack), `machine`
(which of the two), `bounded` (nesting to a depth), `diagnosis` (where one is in the rules, and
which text leads to two stacks), `source` (the kinds of sources), `objects` (rules as Python
objects), `functions` (what users call), `shipped` (grammars to use).
"""
