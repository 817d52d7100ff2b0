"""Context-free grammars as a front end, and the machine with a stack that reads them.

Read in this order: `reading` (what notations share), `gbnf`, `ebnf` and `lark` with
`lark_terminals` (the notations), `checks` (faults of rules), `pieces` (each rule an automaton),
`network` (all of them, made small), `uniting` (rules laid into their callers), `stacks` (the byte
machine that follows every stack), `moves` (what may come next, and whether that is one thing),
`single` with `single_rows` and `single_words` (the byte machine of one stack), `machine` (which of
the two), `places` (where in the text of the grammar one is), `derivation` (which rules a text has
opened and closed), `conflicts` and `deterministic` (the error for two stacks), `bounded` (nesting
to a depth), `source` (the kinds of sources), `functions` (what users call), `shipped` (grammars to
use).
"""
