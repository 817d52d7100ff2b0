"""JSON text as machines: numbers, strings, and the ways to write them.

Read in this order: `sketch` (machines put together from pieces), `numbers`, `exponents`, `ecma`
(patterns of JSON Schema), `formats`, `strings`, `counting` (bounds that are only marked in a
machine), `escapes` and `spelling` (escapes and white space, over the whole of a machine).
"""
