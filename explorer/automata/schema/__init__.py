"""JSON Schema as a machine, exactly or with a named reason.

Read in this order: `sketch` (machines put together from pieces), `numbers`, `exponents`, `ecma`,
`formats` and `strings` (what scalars may be), `scalars` (what keywords leave of them), `values` (a
set of JSON values by type), `subschemas` (references), `keywords` (one subschema, read), `sharing`
(equal ones are one), `cases` (conjunctions without choices), `making` (what the parts ask of the
compiler), `places`, `deepening` (how deep values go), `arrays`, `objects` and `members` (what is
inside), `counting` (what is only marked in a machine), `escapes` and `spelling` (white space and
escapes), `certain` and `waiting` (values that are made when a text comes to them), `compiler` (all
of that, place by place), `recursion` (a schema that leads back to itself, on a stack), `machine` (a
whole schema), `locating` (the place of a text in its schema), `deciding` (which keywords decide
there), `conflict` (which exclude each other), `annotations` (what constrains nothing), `source`
(the kind of source), `free` (JSON without a schema), `profiling` (sizes by subschema).
"""
