"""Everything that tells a person about a schema: errors, remarks, sizes.

Read in this order: `deciding` (which keywords decide at a place, or exclude each other),
`plain_json` (the rules of JSON itself), `reasons` (keyword, option or rule: what decides),
`annotations` (keywords that constrain nothing), `remedies` (changes that allow more, and the
keywords that end endless text), `profiling` (sizes by subschema).
"""
