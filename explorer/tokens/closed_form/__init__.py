"""The token machine as a table: its assembly, and its file.

Reading order: `assemble` (reach, finish, trim, name the classes), `textbook` (the same tables from
pynini's composition), `store` (a file).
"""
