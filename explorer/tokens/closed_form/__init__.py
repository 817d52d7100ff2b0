"""The token machine as a table: its composition and assembly, and its file.

Reading order: `assemble` (the functions of words; reach, finish, trim, name the classes),
`textbook` (the same tables from pynini's composition), `store` (a file).
"""
