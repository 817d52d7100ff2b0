"""JSON Schema as a machine, exactly or with a named reason.

Read in this order: `reading` (what the keywords of a schema say), `text` (JSON text as machines),
`values` (a schema as a set of values, and its texts), `once` (items that are remembered), `options`
(how values are written), `machine` (a whole schema), `diagnosis` (which part speaks about a spot,
which keywords exclude each other, how large each part is), `source` (the kind of source, and
`json_schema`), `free` (JSON without a schema).
"""
