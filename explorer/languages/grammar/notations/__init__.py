"""The notations of grammars, read into one form.

Read in this order: `reading` (the common part of the readers), `gbnf` (with `macros`, those of
xgrammar), `lark` (with `templates`, the `library` of terminals, and `inner`, the additions of
llguidance), `checks` (faults that can be seen in the rules alone).
"""
