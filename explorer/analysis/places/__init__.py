"""Which part of a source a verdict is about.

Read in this order: `positions` (the position automaton of a source), `part` (what is named),
`question` (what is asked about one place of a text), `assertions` (those of a pattern, one by one),
`rules` (those of a grammar), `stack` (those that are open), `spans` (the part that expects or
excludes something), `limited` (the limit on tokens that decides), `widening` (the smallest change
that would let a token through).
"""
