"""The token machine as a table: how it is put together, and kept in a file.

Reading order: `assemble` (reach, finish, trim, name the classes), `textbook` (the same tables from
pynini's composition), `store` (a file).
"""
