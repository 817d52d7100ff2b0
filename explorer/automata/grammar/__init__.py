"""Context-free grammars as a front end, and the machine with a stack that reads them.

Read in this order: `reading` (what notations share), `gbnf` (one notation), `checks` (faults of
rules), `source` (the kinds of sources), `pieces` (each rule an automaton), `network` (all of them,
made small), `stacks` (the byte machine that follows every stack), `functions` (what users call).
"""
