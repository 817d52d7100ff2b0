"""The parts of a source that decide a verdict.

Read in this order: `spans` (the parts that expect or exclude something), `deciding` (the parts that
decide a verdict, including limits on tokens), `stack` (the open rules of a grammar), `widening`
(the smallest change that would let a token through, and the everyday causes, each with the change
that removes it).
"""
