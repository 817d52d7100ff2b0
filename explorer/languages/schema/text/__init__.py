"""JSON text: numbers, strings, and the ways to write them.

Read in this order: `sketch` (automata put together from pieces), `numbers`, `exponents`, `ecma`
(patterns of JSON Schema), `formats`, `strings` (literals), `escapes` and `spelling` (more ways to
write a literal), `layers` (literals with a bounded length), `names` (the literals of all names but
some).
"""
