"""Which part of a source a verdict is about.

Read in this order: `part` (what is named, and what is asked), `spans` (the part that expects or
excludes something), `limited` (the limit on tokens that decides), `stack` (the rules that are
open), `widening` (the smallest change that would let a token through).
"""
