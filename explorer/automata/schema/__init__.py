"""JSON Schema as a machine, exactly or with a named reason.

Read in this order: `sketch` (machines put together from pieces), `numbers`, `ecma`, `formats` and
`strings` (what scalars may be), `values` (a set of JSON values by type), `subschemas` (references),
`cases` (conjunctions without choices), `compiler` (places, objects, arrays), `spelling` (white
space and escapes), `machine` (all of it together), `source` (the kind of source).
"""
