"""Everything that tells a person about a schema: errors, remarks, sizes.

Read in this order: `keywords` (a schema without some of its keywords), `variants` (the machines of
such schemas), `order` (the order of the members of one text), `deciding` (the keywords and options
that decide, each tested), `plain_json` (the rules of JSON itself), `reasons` (keyword, option or
rule as a label), `remedies` (sentences, and the changes that allow more), `conflicts` (keywords
that exclude each other), `annotations` (keywords that constrain nothing), `profiling` (sizes by
subschema), `large` (the part that makes a machine too large).
"""
