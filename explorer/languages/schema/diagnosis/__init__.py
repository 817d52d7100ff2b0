"""Everything that tells a person about a schema: errors, places, sizes.

Read in this order: `locating` (the place of a text in its schema), `deciding` (which keywords
decide there), `conflict` (which exclude each other), `annotations` (what constrains nothing),
`relaxing` (what would allow more), `profiling` (sizes by subschema), `loops` (what ends text that
goes on without end).
"""
