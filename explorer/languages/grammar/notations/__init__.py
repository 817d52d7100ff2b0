"""Grammars as people write them, read into one form.

Read in this order: `reading` (what notations share), `gbnf`, `ebnf`, `lark` (with `common`, its
library, and `inner`, what llguidance adds), `checks` (faults that can be seen in the rules alone).
"""
