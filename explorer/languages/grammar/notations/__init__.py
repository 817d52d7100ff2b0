"""The notations of grammars, read into one form.

Read in this order: `reading` (the common part of the readers), `gbnf` (with `macros`, those of
xgrammar), `lark` (with `templates`, the `library` of terminals, the files that `imports` reads,
`lazy` ones, `inner`, the additions of llguidance, and `indentation`, which `blanks` measures),
`checks` (faults that can be seen in the rules alone).
"""
