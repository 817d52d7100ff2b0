"""JSON text: numbers, strings, and the ways to write them.

Read in this order: `sketch` (automata put together from pieces), `numbers`, `ecma` (patterns of
JSON Schema), `formats`, `strings` (literals, the ways to spell them, and their lengths).
"""
