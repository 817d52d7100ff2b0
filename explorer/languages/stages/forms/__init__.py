"""The normal forms of Unicode, as machines.

Reading order: `character_table` (a table over classes of characters, as a machine over bytes),
`normal_forms` (the texts that are in a form), then the normal forms of the texts of a constraint:
`replaced` (characters replaced by texts, as in decomposition) and `recomposed` (marks ordered and
characters composed again).
"""
