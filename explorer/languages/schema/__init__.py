"""JSON Schema as a machine, exactly or with a named reason.

Read in this order: `reading` (what the keywords of a schema say), `text` (JSON text as machines),
`values` (a schema as a set of values, and its texts), `options` (how values are written), `machine`
(a whole schema), `diagnosis` (which part speaks about a spot, which keywords exclude each other,
how large each part is), `source` (the kind of source), `free` (JSON without a schema),
`functions` (what users call, and the schema of OpenAI's ``response_format``).
"""
