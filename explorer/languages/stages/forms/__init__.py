"""The normal forms of Unicode, as machines.

Reading order: `character_table` (a table over classes of characters, as a machine over bytes),
`normal_forms` (the texts that are in a form).
"""
